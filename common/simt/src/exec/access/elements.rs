//! The lanes of a request: their addresses, their data registers, and elements of 1 to 8 bytes in words of memory.

use crate::exec::registers::Registers;
use crate::lower::inst::{Inst, NONE, Shape};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Sets the lanes that do not take part to the address of one that does, so that checks and loads can treat all lanes
/// alike.
#[inline(always)]
pub(super) fn fill(addresses: &mut [u64; 32], lanes: u32) {
    if lanes != u32::MAX {
        let first = addresses[lanes.trailing_zeros() as usize & 31];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if lanes >> lane & 1 != 0 { *address } else { first };
        }
    }
}

/// Addresses of an instruction, lanes outside `lanes` filled.
#[inline(always)]
pub(super) fn addresses(r: Registers, register: u32, wide: bool, offset: i64, lanes: u32) -> [u64; 32] {
    let mut out = [0; 32];
    if wide {
        for (out, from) in out.iter_mut().zip(r.read::<u64>(register)) {
            *out = from.wrapping_add_signed(offset);
        }
    } else {
        for (out, from) in out.iter_mut().zip(r.read::<u32>(register)) {
            // Addresses of 32 bits wrap.
            *out = u64::from(from.wrapping_add(offset as u32));
        }
    }
    fill(&mut out, lanes);
    out
}

/// The data registers of a load or store.
#[inline(always)]
pub(super) fn data(inst: &Inst) -> [u32; 4] {
    [inst.d, inst.b, inst.c, inst.e]
}

/// The data registers of the elements, each with the bytes that lie before its element.
#[inline(always)]
pub(super) fn parts(inst: &Inst, shape: Shape) -> impl Iterator<Item = (u32, u32)> {
    data(inst).into_iter().zip((0..shape.count).map(move |part| part * shape.bytes))
}

#[inline(always)]
pub(super) fn get_lane(r: Registers, register: u32, wide: bool, lane: usize) -> u64 {
    if wide { r.lane(register, lane) } else { u64::from(r.lane::<u32>(register, lane)) }
}

#[inline(always)]
pub(super) fn set_lane(r: Registers, register: u32, wide: bool, lane: usize, value: u64) {
    if register == NONE {
        return;
    }
    if wide { r.set(register, lane, value) } else { r.set(register, lane, value as u32) }
}

/// Reads an element of 1 to 8 bytes from words.
#[inline(always)]
pub(super) fn read_element(word: impl Fn(usize) -> u32, address: usize, bytes: u32) -> u64 {
    match bytes {
        8 => u64::from(word(address / 4)) | u64::from(word(address / 4 + 1)) << 32,
        4 => u64::from(word(address / 4)),
        2 => u64::from(word(address / 4) >> (8 * (address & 2)) & 0xffff),
        _ => u64::from(word(address / 4) >> (8 * (address & 3)) & 0xff),
    }
}

/// Reads what a load of this shape puts in a register.
#[inline(always)]
pub(super) fn load_element(word: impl Fn(usize) -> u32, address: usize, shape: Shape) -> u64 {
    let value = read_element(word, address, shape.bytes);
    if shape.signed { sign_extend(value, shape.bytes) } else { value }
}

#[inline(always)]
pub(crate) fn sign_extend(value: u64, bytes: u32) -> u64 {
    let shift = 64 - 8 * bytes;
    ((value << shift) as i64 >> shift) as u64
}

/// The mask and position of an element narrower than a word.
#[inline]
fn narrow(address: usize, bytes: u32) -> (u32, u32) {
    let shift = 8 * (address as u32 & 3);
    let mask = if bytes == 2 { 0xffff } else { 0xff };
    (mask << shift, shift)
}

#[inline]
pub(super) fn write_words(words: &mut [u32], address: usize, bytes: u32, value: u64) {
    match bytes {
        8 => {
            words[address / 4] = value as u32;
            words[address / 4 + 1] = (value >> 32) as u32;
        }
        4 => words[address / 4] = value as u32,
        _ => {
            let (mask, shift) = narrow(address, bytes);
            let word = &mut words[address / 4];
            *word = *word & !mask | (value as u32) << shift & mask;
        }
    }
}

#[inline]
pub(super) fn write_atomic(words: &[AtomicU32], address: usize, bytes: u32, value: u64) {
    match bytes {
        8 => {
            words[address / 4].store(value as u32, Relaxed);
            words[address / 4 + 1].store((value >> 32) as u32, Relaxed);
        }
        4 => words[address / 4].store(value as u32, Relaxed),
        _ => {
            let (mask, shift) = narrow(address, bytes);
            let _ = words[address / 4]
                .fetch_update(Relaxed, Relaxed, |word| Some(word & !mask | (value as u32) << shift & mask));
        }
    }
}
