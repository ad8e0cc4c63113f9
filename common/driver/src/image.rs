//! What a program hands over as a module: PTX as text, or a fat binary that has PTX in it. Machine code is refused.

use crate::errors::{Answer, INVALID_IMAGE, NO_BINARY_FOR_GPU};
use crate::raw::{In, ended, host};

/// First word of a fat binary, of the structure that names one, and of machine code.
const FAT: u32 = 0xba55_ed50;
const WRAPPER: u32 = 0x4662_43b1;
const ELF: u32 = 0x464c_457f;

/// The PTX of an image in memory.
pub fn ptx(image: u64) -> Answer<String> {
    let text = ended(image)?;
    // Each of these four bytes is there, because a shorter text ends with a zero.
    let first = text.first_chunk().map(|word| u32::from_le_bytes(*word));
    let bytes = match first {
        Some(FAT) => return fat(image),
        Some(WRAPPER) => return fat(In::<u64>::from(image + 8).get()?),
        Some(ELF) => {
            said();
            return Err(NO_BINARY_FOR_GPU);
        }
        _ => text,
    };
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The PTX of an image of which the size is known.
pub fn ptx_of(bytes: &[u8]) -> Answer<String> {
    match bytes.first_chunk().map(|word| u32::from_le_bytes(*word)) {
        Some(FAT | WRAPPER | ELF) => ptx(bytes.as_ptr() as u64),
        _ => Ok(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()),
    }
}

fn said() {
    eprintln!(
        "simt: a module has only machine code, which the simulated GPU does not run; build the program so that it keeps PTX"
    );
}

/// The newest PTX in a fat binary.
fn fat(start: u64) -> Answer<String> {
    let word = |at: u64| In::<u32>::from(start + at).get().unwrap_or(0);
    let half = |at: u64| u64::from(word(at) & 0xffff);
    let double = |at: u64| In::<u64>::from(start + at).get().unwrap_or(0);
    let (mut at, end) = (half(6), half(6) + double(8));
    let mut best: Option<(u32, String)> = None;
    while at + 64 <= end {
        let (kind, header, size) = (half(at), u64::from(word(at + 4)), double(at + 8));
        let (packed, capability, flags, plain) = (word(at + 16), word(at + 28), double(at + 40), double(at + 56));
        if header == 0 || at + header + size > end {
            break;
        }
        if kind == 1 {
            let bytes = host(start + at + header, if packed > 0 { packed as usize } else { size as usize });
            let bytes = match flags & 0xa000 {
                0 => bytes.to_vec(),
                0x2000 => lz4(bytes, plain as usize).ok_or(INVALID_IMAGE)?,
                _ => {
                    eprintln!(
                        "simt: a module's PTX is packed with zstd, which is not known here; build it with --compress-mode=none"
                    );
                    return Err(NO_BINARY_FOR_GPU);
                }
            };
            if best.as_ref().is_none_or(|(known, _)| *known < capability) {
                let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned();
                best = Some((capability, text));
            }
        }
        at += header + size;
    }
    best.map(|(_, text)| text).ok_or_else(|| {
        said();
        NO_BINARY_FOR_GPU
    })
}

/// Unpacks a block of LZ4: literals, and copies of what came before.
fn lz4(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(most.min(1 << 28));
    let mut bytes = packed.iter().copied();
    let length = |bytes: &mut dyn Iterator<Item = u8>, start: u8| {
        let mut length = usize::from(start);
        let mut more = if start == 15 { 255 } else { 0 };
        while more == 255 {
            more = bytes.next()?;
            length += usize::from(more);
        }
        Some(length)
    };
    while let Some(token) = bytes.next() {
        let literals = length(&mut bytes, token >> 4)?;
        out.extend(bytes.by_ref().take(literals));
        let Some(low) = bytes.next() else { break };
        let distance = usize::from(low) | usize::from(bytes.next()?) << 8;
        let count = length(&mut bytes, token & 15)? + 4;
        let start = out.len().checked_sub(distance).filter(|_| distance > 0 && out.len() + count <= most)?;
        for at in start..start + count {
            out.push(out[at]);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_text_is_unpacked() {
        // "abc", then eight bytes from three before, then "!".
        assert_eq!(lz4(b"\x34abc\x03\x00\x10!", 12).unwrap(), b"abcabcabcab!");
        assert_eq!(lz4(b"\x34abc\x09\x00\x10!", 12), None);
    }

    #[test]
    fn a_fat_binary_gives_its_newest_ptx_and_machine_code_is_refused() {
        let entry = |kind: u16, capability: u32, text: &[u8]| {
            let mut entry = vec![0; 64];
            entry[..2].copy_from_slice(&kind.to_le_bytes());
            entry[4] = 64;
            entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
            entry[28..32].copy_from_slice(&capability.to_le_bytes());
            [&entry, text].concat()
        };
        let fat = |entries: &[Vec<u8>]| {
            let body = entries.concat();
            let mut image = FAT.to_le_bytes().to_vec();
            image.extend([1, 0, 16, 0]);
            image.extend((body.len() as u64).to_le_bytes());
            image.extend(body);
            image
        };
        let both = fat(&[entry(2, 90, b"\x7fELF"), entry(1, 75, b".version 7"), entry(1, 80, b".version 8\0")]);
        assert_eq!(ptx_of(&both).unwrap(), ".version 8");
        assert_eq!(ptx_of(&fat(&[entry(2, 90, b"\x7fELF")])), Err(NO_BINARY_FOR_GPU));
        assert_eq!(ptx_of(b"\x7fELF\x02\0"), Err(NO_BINARY_FOR_GPU));
    }
}
