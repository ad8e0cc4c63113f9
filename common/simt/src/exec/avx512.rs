//! Loads of a run from shared memory with AVX-512: a register is two vectors of 16 lanes.

use super::access::{Arrangement, Pattern};
use super::registers::Registers;
use ptx::lower::inst::NONE;
use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm512_add_epi32, _mm512_castsi128_si512, _mm512_i32gather_epi32,
    _mm512_inserti32x4, _mm512_load_si512, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_store_si512,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

/// Loads consecutive words for each lane.
///
/// # Safety
/// The words that are wanted must lie inside `words`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
pub(crate) unsafe fn load(to: &[u32], base: &Pattern, offset: i32, words: &[u32], r: Registers) {
    match <&[u32; 4]>::try_from(to) {
        // SAFETY: the caller vouches for the words.
        Ok(to) if base.kind == Arrangement::Scattered && !to.contains(&NONE) => unsafe {
            quads(to, base, offset, words, r);
        },
        _ => {
            for (&to, part) in to.iter().zip(0..).filter(|(to, _)| **to != NONE) {
                // SAFETY: as above.
                unsafe { one(to, base, offset + part, words, r) };
            }
        }
    }
}

/// Loads one word for each lane.
///
/// # Safety
/// Every lane's word must lie inside `words`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
unsafe fn one(to: u32, base: &Pattern, offset: i32, words: &[u32], r: Registers) {
    let to = r.get::<u32>(to).cast::<u32>();
    let start = words.as_ptr();
    let first = base.index[0].wrapping_add_signed(offset) as usize;
    // SAFETY: the caller has checked the words; registers are 64-byte aligned.
    unsafe {
        let (low, high) = match base.kind {
            Arrangement::Broadcast => {
                let value = _mm512_set1_epi32(*start.add(first) as i32);
                (value, value)
            }
            Arrangement::Contiguous => {
                (_mm512_loadu_si512(start.add(first).cast()), _mm512_loadu_si512(start.add(first + 16).cast()))
            }
            Arrangement::Scattered => {
                let offset = _mm512_set1_epi32(offset);
                let index = |part| _mm512_add_epi32(_mm512_load_si512(base.index.as_ptr().add(part).cast()), offset);
                (
                    _mm512_i32gather_epi32::<4>(index(0), start.cast()),
                    _mm512_i32gather_epi32::<4>(index(16), start.cast()),
                )
            }
        };
        _mm512_store_si512(to.cast(), low);
        _mm512_store_si512(to.add(16).cast(), high);
    }
}

/// Loads four words for each lane, 16 lanes at a time: quads are loaded whole and transposed.
///
/// # Safety
/// Every lane's four words must lie inside `words`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
unsafe fn quads(to: &[u32; 4], base: &Pattern, offset: i32, words: &[u32], r: Registers) {
    let start = words.as_ptr();
    for half in [0, 16] {
        // SAFETY: the caller has checked the words.
        let quad = |lane: usize| -> __m128i {
            let at = base.index[half + lane].wrapping_add_signed(offset) as usize;
            unsafe { _mm_loadu_si128(start.add(at).cast()) }
        };
        // Column j holds lanes j, j + 4, j + 8, j + 12.
        let column = |j: usize| -> __m512i {
            let value = _mm512_castsi128_si512(quad(j));
            let value = _mm512_inserti32x4::<1>(value, quad(j + 4));
            let value = _mm512_inserti32x4::<2>(value, quad(j + 8));
            _mm512_inserti32x4::<3>(value, quad(j + 12))
        };
        let (c0, c1, c2, c3) = (column(0), column(1), column(2), column(3));
        let (low01, high01) = (_mm512_unpacklo_epi32(c0, c1), _mm512_unpackhi_epi32(c0, c1));
        let (low23, high23) = (_mm512_unpacklo_epi32(c2, c3), _mm512_unpackhi_epi32(c2, c3));
        let rows = [
            _mm512_unpacklo_epi64(low01, low23),
            _mm512_unpackhi_epi64(low01, low23),
            _mm512_unpacklo_epi64(high01, high23),
            _mm512_unpackhi_epi64(high01, high23),
        ];
        for (&to, row) in to.iter().zip(rows) {
            // SAFETY: registers are 32 words, 64-byte aligned.
            unsafe { _mm512_store_si512(r.get::<u32>(to).cast::<u32>().add(half).cast(), row) };
        }
    }
}
