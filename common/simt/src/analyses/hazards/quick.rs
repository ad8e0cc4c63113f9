//! A fast hash for small keys that no adversary chooses to collide: page numbers, registers, numbers of sets.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

#[derive(Debug, Default)]
pub(super) struct Quick(u64);

pub(super) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;
pub(super) type QuickSet<K> = HashSet<K, BuildHasherDefault<Quick>>;

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}
