//! Calls of functions that the device's system provides: `printf` and `assert`.

use super::access::At;
use super::context::{Checked, Context, Outcome};
use super::print::format;
use super::warp::Warp;
use crate::lanes::each;
use crate::locked::lock;
use crate::observe::Access;
use ptx::error::{AccessKind, FaultKind};
use ptx::lower::inst::SystemCall;
use ptx::lower::{LOCAL_WINDOW, SHARED_WINDOW};
use ptx::place::Space;
use std::sync::atomic::Ordering::Relaxed;

/// The longest text that is read from memory. A format without an end is a mistake.
const LONGEST: u64 = 1 << 16;

/// Warp instructions that count for a lane's `printf`, besides one for each character.
const PRINT: u64 = 64;

/// Calls the function for each lane.
#[inline(never)]
pub(super) fn system(warp: &mut Warp, context: &mut Context, At { inst, lanes, .. }: At) -> Checked<()> {
    let system = &context.code.systems[inst.imm as usize];
    for lane in each(lanes) {
        let memory = Memory { warp, context, lane };
        let argument = |index: usize| {
            let byte = |at| memory.byte(LOCAL_WINDOW + u64::from(system.arguments[index]) + at as u64).unwrap_or(0);
            u64::from_le_bytes(std::array::from_fn(byte))
        };
        match system.call {
            SystemCall::Print => {
                // Printing takes long, so the deadline is checked for each lane.
                if context.launch.config.is_over() {
                    return Err(Box::new(Outcome::Limit(context.launch.kernel.location(inst.pc))));
                }
                let arguments = argument(1);
                let byte = |at: u64| memory.byte(arguments.wrapping_add(at));
                let printed = &context.launch.progress.printed;
                let full = lock(printed).full(context.info.number);
                let string = |address| if full { String::new() } else { memory.text(address) };
                let (text, count) = format(&memory.text(argument(0)), !full, byte, string);
                let characters = text.len() as u64;
                context.launch.progress.besides.fetch_add(PRINT + characters, Relaxed);
                if !full {
                    lock(printed).add(context.info.number, &text);
                }
                if let Some(result) = system.result {
                    let words = context.code.local_bytes as usize / 4;
                    let word = lane * words + result as usize / 4;
                    warp.local.at(4 * word)[word] = count;
                    let (by, what) = ((warp.number, inst.pc, 1 << lane), (AccessKind::Store, Space::Local));
                    context.tell(|observer| observer.access(&Access::new(by, what, 4, &[result.into(); 32])));
                }
            }
            SystemCall::Assert => {
                let text = |index| memory.text(argument(index)).replace(['\n', '\r'], " ");
                let line = argument(2) as u32;
                let kind = FaultKind::Assert { condition: text(0), file: text(1), line, function: text(3) };
                return Err(context.fault(kind, inst.pc, warp.number, Some(lane as u32)));
            }
        }
    }
    Ok(())
}

/// Memory as a thread sees it.
struct Memory<'a, 'b> {
    warp: &'a Warp,
    context: &'a Context<'b>,
    lane: usize,
}

impl Memory<'_, '_> {
    /// Returns the byte at a generic address, if there is one.
    fn byte(&self, address: u64) -> Option<u8> {
        let of = |word: u32| word.to_le_bytes()[address as usize % 4];
        let within = |start: u64, bytes: u32| {
            address.checked_sub(start).filter(|&offset| offset < u64::from(bytes)).map(|offset| offset as usize / 4)
        };
        if let Some(word) = within(SHARED_WINDOW, self.context.launch.shared_bytes) {
            return self.context.shared.get(word).copied().map(of);
        }
        let bytes = self.context.code.local_bytes;
        if let Some(word) = within(LOCAL_WINDOW, bytes) {
            return Some(of(self.warp.local.words[self.lane * bytes as usize / 4 + word]));
        }
        let allocation = self.context.launch.memory.holding(address, 1)?;
        let word = (address - allocation.base.0) as usize / 4;
        allocation.words.get(word).map(|word| of(word.load(Relaxed)))
    }

    /// Returns the text that begins at an address and ends with a zero.
    fn text(&self, address: u64) -> String {
        let bytes: Vec<u8> =
            (0..LONGEST).map_while(|at| self.byte(address.wrapping_add(at))).take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
