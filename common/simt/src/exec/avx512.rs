//! Runs of shared loads and multiply-adds with AVX-512: a register is two vectors of 16 lanes.

use super::float::NAN;
use super::pattern::{Arrangement, Pattern, Summary};
use super::registers::Registers;
use crate::lower::inst::{BASES, Micro, NONE};
use std::arch::x86_64::{
    __m128i, __m512i, _CMP_UNORD_Q, _mm_loadu_si128, _mm512_add_epi32, _mm512_add_epi64, _mm512_castsi128_si512,
    _mm512_cmp_ps_mask, _mm512_cmpneq_epi64_mask, _mm512_fmadd_ps, _mm512_i32gather_epi32, _mm512_inserti32x4,
    _mm512_load_ps, _mm512_load_si512, _mm512_loadu_si512, _mm512_mask_mov_ps, _mm512_max_epu64, _mm512_min_epu64,
    _mm512_mullo_epi32, _mm512_or_si512, _mm512_reduce_max_epu64, _mm512_reduce_min_epu64, _mm512_reduce_or_epi64,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set1_ps, _mm512_setr_epi64, _mm512_store_ps, _mm512_store_si512,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

/// Executes a run on all lanes.
///
/// # Safety
/// Every load must lie inside `words`, as the caller has checked.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
pub(crate) unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], r: Registers) {
    let nan = _mm512_set1_ps(f32::from_bits(NAN));
    for step in steps {
        match *step {
            Micro::Fma(operands) => {
                let [d, a, b, c] = operands.map(|offset| r.get::<u32>(offset).cast::<f32>());
                for part in [0, 16] {
                    // SAFETY: a register is 32 floats, aligned to 64 bytes.
                    unsafe {
                        let value = _mm512_fmadd_ps(
                            _mm512_load_ps(a.add(part)),
                            _mm512_load_ps(b.add(part)),
                            _mm512_load_ps(c.add(part)),
                        );
                        let unordered = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
                        _mm512_store_ps(d.add(part), _mm512_mask_mov_ps(value, unordered, nan));
                    }
                }
            }
            Micro::Mad(operands) => {
                let [d, a, b, c] = operands.map(|offset| r.get::<u32>(offset).cast::<i32>());
                for part in [0, 16] {
                    // SAFETY: a register is 32 words, aligned to 64 bytes.
                    unsafe {
                        let load = |from: *mut i32| _mm512_load_si512(from.add(part).cast());
                        let value = _mm512_add_epi32(_mm512_mullo_epi32(load(a), load(b)), load(c));
                        _mm512_store_si512(d.add(part).cast(), value);
                    }
                }
            }
            // SAFETY: the caller has checked the loads.
            Micro::Load1 { to, base, offset } => unsafe { load(to, &bases[base as usize % BASES], offset, words, r) },
            Micro::LoadN { to, base, offset } => {
                let base = &bases[base as usize % BASES];
                if base.kind == Arrangement::Scattered && to.iter().all(|&to| to != NONE) {
                    // SAFETY: as above; a load of four words is inside with all of them.
                    unsafe { quads(to, base, offset, words, r) };
                    continue;
                }
                for (to, part) in to.into_iter().zip(0..) {
                    if to != NONE {
                        // SAFETY: as above.
                        unsafe { load(to, base, offset + part, words, r) };
                    }
                }
            }
        }
    }
}

/// Looks at the addresses of a request: four vectors of eight.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
pub(crate) fn summary(addresses: &[u64; 32]) -> Summary {
    // SAFETY: eight double words from each start are inside the array.
    let part = |at: usize| unsafe { _mm512_loadu_si512(addresses.as_ptr().add(at).cast()) };
    let (a, b, c, d) = (part(0), part(8), part(16), part(24));
    let low = _mm512_min_epu64(_mm512_min_epu64(a, b), _mm512_min_epu64(c, d));
    let high = _mm512_max_epu64(_mm512_max_epu64(a, b), _mm512_max_epu64(c, d));
    let bits = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    let (low, high) = (_mm512_reduce_min_epu64(low), _mm512_reduce_max_epu64(high));
    let first = _mm512_set1_epi64(addresses[0] as i64);
    let step = _mm512_setr_epi64(0, 4, 8, 12, 16, 20, 24, 28);
    let expected = |vector: i64| _mm512_add_epi64(first, _mm512_add_epi64(step, _mm512_set1_epi64(32 * vector)));
    let next = _mm512_cmpneq_epi64_mask(a, expected(0))
        | _mm512_cmpneq_epi64_mask(b, expected(1))
        | _mm512_cmpneq_epi64_mask(c, expected(2))
        | _mm512_cmpneq_epi64_mask(d, expected(3));
    Summary { low, high, bits: _mm512_reduce_or_epi64(bits) as u64, same: low == high, next: next == 0 }
}

/// One word a lane.
///
/// # Safety
/// Every lane's word must lie inside `words`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
unsafe fn load(to: u32, base: &Pattern, offset: i32, words: &[u32], r: Registers) {
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

/// Four words a lane: 16 lanes at a time, quads loaded whole and transposed.
///
/// # Safety
/// Every lane's four words must lie inside `words`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
unsafe fn quads(to: [u32; 4], base: &Pattern, offset: i32, words: &[u32], r: Registers) {
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
        for (to, row) in to.into_iter().zip(rows) {
            // SAFETY: registers are 32 words, 64-byte aligned.
            unsafe { _mm512_store_si512(r.get::<u32>(to).cast::<u32>().add(half).cast(), row) };
        }
    }
}
