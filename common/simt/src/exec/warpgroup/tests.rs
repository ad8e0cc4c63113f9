//! Compares with the places where an H200 found the elements (`tests/instructions/ask_tensor_cores.py`): every swizzle, both
//! orders, distances of every size, starts inside the pattern, and numbers of the first row.

use super::*;
use crate::exec::matrix::tests::{folder, packed};

#[test]
fn the_same_places_as_a_gpu() {
    let list = packed::text(&folder().join("layouts.txt")).unwrap();
    let mut count = 0;
    for text in list.lines() {
        let words: Vec<&str> = text.split('\t').collect();
        let [_, kind, transposed, lines, length, bits, hash] = words[..] else { panic!("{text}") };
        let [lines, length] = [lines, length].map(|word| word.parse::<u32>().unwrap());
        let bytes = if kind == "tf32" { 4 } else { 2 };
        let descriptor = Descriptor::read(bits.parse().unwrap()).unwrap();
        let mut found = 0xcbf2_9ce4_8422_2325_u64;
        for (line, k) in (0..lines).flat_map(|line| (0..length).map(move |k| (line, k))) {
            let position = if transposed == "1" {
                descriptor.across(line / 8, k) + line % 8 * bytes
            } else {
                descriptor.along(line, k * bytes / PIECE) + k * bytes % PIECE
            };
            for byte in ((position / bytes) as u16).to_le_bytes() {
                found = (found ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
        assert_eq!(found, hash.parse().unwrap(), "{text}: {descriptor:?}");
        count += 1;
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn fields() {
    let known = Descriptor::read(1 << 62 | 3 << 49 | 64 << 32 | 5 << 16 | 0x41).unwrap();
    assert_eq!(known, Descriptor { start: 0x410, leading: 80, stride: 1024, base: 3, pieces: 8 });
    for bit in [14, 15, 30, 31, 46, 47, 48, 52, 61] {
        assert_eq!(Descriptor::read(1 << bit), None, "{bit}");
    }
}
