//! Committed texts that only programs read are packed, as `gzip` does it: `NAME.gz` in place of `NAME`. `zcat` shows one.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::files;

/// The packed form of a file: `NAME.gz`.
pub fn packed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

/// Where a text is committed: in the file itself, or in its packed form if only that is there.
pub fn place(path: &Path) -> PathBuf {
    let packed = packed(path);
    if !path.exists() && packed.is_file() { packed } else { path.to_owned() }
}

/// Reads a text that is packed if its file's name says so.
pub fn read(path: &Path) -> io::Result<String> {
    if path.extension().is_none_or(|end| end != "gz") {
        return files::text(path);
    }
    let mut text = String::new();
    // A small file may unpack to a text that fills the memory; what goes past the limit is left out.
    GzDecoder::new(&*files::bytes(path)?).take(files::LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes a text, packed if the file's name says so. The same text always gives the same bytes.
pub fn write(path: &Path, text: &str) -> Result<()> {
    if path.extension().is_none_or(|end| end != "gz") {
        return files::write(path, text);
    }
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    encoder.write_all(text.as_bytes())?;
    files::write(path, encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_is_or_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("kernel.ptx");
        let gz = folder.path().join("kernel.ptx.gz");
        assert_eq!(place(&plain), plain);
        let bytes = ["one", "one", "another"].map(|text| {
            write(&packed(&plain), text).unwrap();
            assert_eq!((place(&plain), read(&gz).unwrap().as_str()), (gz.clone(), text));
            std::fs::read(&gz).unwrap()
        });
        assert!(bytes[0] == bytes[1] && bytes[1] != bytes[2]);
        write(&plain, "plain").unwrap();
        assert_eq!((place(&plain), read(&plain).unwrap().as_str()), (plain.clone(), "plain"));
        std::fs::write(&gz, "not packed").unwrap();
        assert!(read(&gz).is_err());
    }
}
