//! The loads of runs from shared memory: checked and shown all at once.

use super::request::addresses;
use crate::exec::context::Context;
use crate::exec::pattern::{Arrangement, Pattern, Summary};
use crate::exec::registers::Registers;
use crate::lower::inst::{BASES, Run};
use crate::observe::SharedLoads;

/// Checks all loads of a run at once; none when one of them would be a fault (or might be, for a wide address), which
/// the instructions one by one will find.
#[inline(always)]
pub(crate) fn bases(context: &Context, run: &Run, r: Registers) -> Option<[Pattern; BASES]> {
    let mut patterns = [Pattern { index: [0; 32], kind: Arrangement::Scattered }; BASES];
    for (base, pattern) in run.bases.iter().zip(&mut patterns) {
        let addresses = addresses(r, base.register, base.wide, 0, u32::MAX);
        let Summary { low, high, bits, same, next } = Summary::of(&addresses);
        // Positions beyond 4 GiB are outside without further sums.
        let inside = high < 1 << 32
            && low as i64 + i64::from(base.low) >= 0
            && high as i64 + i64::from(base.high) <= i64::from(context.launch.shared_bytes);
        if !inside || bits & u64::from(base.align - 1) != 0 {
            return None;
        }
        pattern.kind = match (same, next) {
            (true, _) => Arrangement::Broadcast,
            (_, true) => Arrangement::Contiguous,
            _ => Arrangement::Scattered,
        };
        for (index, address) in pattern.index.iter_mut().zip(&addresses) {
            *index = *address as u32 / 4;
        }
    }
    Some(patterns)
}

/// Shows an observer the loads of a run.
#[inline(never)]
pub(crate) fn show_run(context: &mut Context, run: &Run, bases: &[Pattern; BASES], warp: u32) {
    let bases = bases.each_ref().map(|base| &base.index);
    let loads = SharedLoads { warp, loads: &run.loads, bases: &bases[..run.bases.len()] };
    context.tell(|observer| observer.shared_loads(&loads));
}
