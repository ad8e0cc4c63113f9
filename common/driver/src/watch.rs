//! Finds faults of the program: what each call does is compared with what is known. Without `SIMT_CHECK` nothing is done here.

use crate::check::{Check, Does, Ignored, Known, Record};
use crate::entry::{Guard, tell_hits};
use crate::errors::{Answer, Code};
use crate::guard;
use crate::logged;
use crate::op::{Copy, Fill, Launch};
use crate::ranges::Ranges;
use crate::report::{self, Finding};
use crate::site::Call;
use crate::state::{Kind, State};
use crate::touched::Bytes;
use simt::{Error, FaultKind, Param};
use std::sync::Arc;

/// The name by which messages call an allocation.
pub fn name(_state: &State, number: u64) -> String {
    format!("allocation {number}")
}

fn tell(state: &mut State, kind: &'static str, title: String, help: &'static str, calls: Vec<(String, Call)>) {
    tell_as(state, &Finding { kind, title, help, warning: false, calls });
}

fn tell_as(state: &mut State, finding: &Finding) {
    let report = state.options.report.clone();
    if let Some(check) = &mut state.check {
        check.tell(finding, report.as_deref());
    }
}

/// What was done to an allocation, for the places of a finding.
fn history(known: &Known) -> Vec<(String, Call)> {
    let made = (format!("allocation {} of {} bytes is made", known.number, known.bytes), (*known.call).clone());
    let freed = known.freed.as_ref().map(|call| ("it is freed".to_owned(), (**call).clone()));
    std::iter::once(made).chain(freed).collect()
}

/// The present call, as the first place of a finding.
fn present(check: &Check, label: &str) -> (String, Call) {
    (label.to_owned(), (*check.here()).clone())
}

/// An allocation was made.
pub fn allocated(state: &mut State, base: u64) {
    let Some(block) = state.blocks.get(&base) else { return };
    let (number, bytes, is_host) = (block.number, block.bytes, block.is_host());
    let registered = matches!(block.kind, Kind::Registered);
    let Some(check) = &mut state.check else { return };
    // The host may write its own memory at any time, so nothing is known about that.
    let written = if is_host { Ranges::one(base, bytes) } else { Ranges::default() };
    let call = check.here();
    check.known.insert(base, Known { number, bytes, call, written, registered, ..Known::default() });
}

/// An allocation was made in the order of a stream: others must wait for it.
pub fn allocated_in(state: &mut State, base: u64, stream: u64) {
    let Some(check) = &mut state.check else { return };
    let _ = check.acts(stream);
    let _ = base;
}

/// A variable of a module was made. It has a value from the start.
pub fn placed(state: &mut State, base: u64) {
    allocated(state, base);
    let Some(check) = &mut state.check else { return };
    if let Some(known) = check.known.get_mut(&base) {
        known.written = Ranges::one(base, known.bytes);
    }
}

/// A variable of a module is gone.
pub fn forget(state: &mut State, base: u64) {
    if let Some(check) = &mut state.check {
        check.freed(base);
    }
}

/// The program frees what is not there.
pub fn bad_free(state: &mut State, address: u64) {
    let Some(check) = &state.check else { return };
    let here = present(check, "this frees it");
    let (kind, title, more) = match check.at(address) {
        Some((base, known)) if base == address && known.freed.is_some() => {
            let again = (format!("this frees allocation {} again", known.number), here.1);
            let calls = std::iter::once(again).chain(history(known)).collect();
            let title = format!("allocation {} is freed twice", known.number);
            return tell(state, "double free", title, "free it once", calls);
        }
        Some((base, known)) if base == address => {
            let title = format!("allocation {} is freed by a function for another kind of memory", known.number);
            ("wrong free", title, history(known))
        }
        Some((base, known)) if address - base < known.bytes => {
            let title = format!(
                "{address:#x} is freed, {} bytes after the begin of allocation {}",
                address - base,
                known.number
            );
            ("wrong free", title, history(known))
        }
        _ => ("wrong free", format!("{address:#x} is freed, where no allocation begins"), vec![]),
    };
    let calls = std::iter::once(here).chain(more).collect();
    tell(
        state,
        kind,
        title,
        "free the address that the allocation returned, with the function that belongs to it",
        calls,
    );
}

/// An allocation is freed: in the order of a stream, or after all streams of its context.
pub fn freed(state: &mut State, base: u64, stream: Option<u64>) -> Answer {
    if let Some(stream) = stream {
        let bytes = state.blocks.get(&base).map_or(0, |block| block.bytes);
        access(state, stream, base, Ranges::one(base, bytes), Does::Writes, "the free", None);
    }
    if let Some(check) = &mut state.check {
        check.freed(base);
    }
    Ok(())
}

/// A copy or fill that does not fit.
pub fn out_of_bounds(state: &mut State, address: u64, bytes: u64, side: &'static str) {
    let Some(check) = &state.check else { return };
    let what = format!("this {side} {bytes} bytes");
    let here = present(check, &what);
    let known = check.at(address).filter(|(base, known)| address - base < known.bytes.max(1) || known.freed.is_none());
    let calls =
        |known: Option<&Known>| std::iter::once(here.clone()).chain(known.into_iter().flat_map(history)).collect();
    match known {
        Some((_, known)) if known.freed.is_some() => {
            let (title, calls) =
                (format!("allocation {} is used after it was freed", known.number), calls(Some(known)));
            tell(state, "use after free", title, "free it after its last use", calls);
        }
        Some((base, known)) if address - base <= known.bytes => {
            let over = address - base + bytes - known.bytes;
            let title = format!(
                "a copy {side} {over} bytes beyond the end of allocation {}, which has {}",
                known.number, known.bytes
            );
            let calls = calls(Some(known));
            tell(state, "copy out of bounds", title, "copy no more than the allocation holds, or allocate more", calls);
        }
        _ => {
            if gave_nothing(state, address, &what) {
                return;
            }
            let title = format!("a copy {side} device memory at {address:#x}, where there is no allocation");
            tell(state, "copy out of bounds", title, "give the address of device memory", calls(None));
        }
    }
}

/// The first page of no device holds anything.
const NOWHERE: u64 = 4096;

/// Tells of an allocation that has failed, if a program that has not noticed uses a null pointer: `what` it does with it.
pub fn gave_nothing(state: &mut State, address: u64, what: &str) -> bool {
    let Some(check) = state.check.as_ref().filter(|_| address < NOWHERE) else { return false };
    let Some(failed) = check.ignored.iter().rfind(|ignored| ignored.outputs.is_empty()) else { return false };
    let title = format!("{} failed with {}, and the program goes on to use it", failed.what, failed.code.name());
    let calls = vec![("this answers an error".into(), (*failed.call).clone()), present(check, what)];
    tell(state, "ignored error", title, "look at what each call answers", calls);
    true
}

/// Notes an access to one allocation and tells if it has no order with an older one.
fn access(state: &mut State, stream: u64, base: u64, ranges: Ranges, does: Does, who: &str, call: Option<&Arc<Call>>) {
    if ranges.is_empty() || state.streams.get(stream).is_ok_and(|stream| stream.capture.is_some()) {
        return;
    }
    ordered_with_legacy(state, stream);
    let Some(check) = &mut state.check else { return };
    let call = call.cloned().unwrap_or_else(|| check.here());
    let (actor, clock) = check.acts(stream);
    let record = Record { ranges, does, actor, time: clock.of(actor), who: who.into(), call: call.clone() };
    if does != Does::Reads {
        check.ignored.retain(|ignored| !ignored.outputs.contains(&base));
    }
    let Some((old, byte)) = check.access(base, record, &clock) else { return };
    let Some(known) = check.known.get(&base) else { return };
    let title = format!(
        "{} {} what {} in another stream {}, and nothing orders them: byte {} of allocation {}",
        who,
        does.word(),
        old.who,
        old.does.word(),
        byte - base,
        known.number
    );
    let calls = vec![
        (format!("{who} {}", does.word()), (*call).clone()),
        (format!("{} {}", old.who, old.does.word()), (*old.call).clone()),
        (format!("allocation {} of {} bytes is made", known.number, known.bytes), (*known.call).clone()),
    ];
    let help = "record an event in the one stream and let the other wait for it, or synchronize";
    tell(state, "race between streams", title, help, calls);
}

/// The legacy stream and the blocking streams of its context wait for each other.
fn ordered_with_legacy(state: &mut State, stream: u64) {
    let Ok(own) = state.streams.get(stream) else { return };
    let (context, blocking) = (own.context, own.is_blocking());
    let Ok(legacy) = state.contexts.get(context).map(|context| context.legacy) else { return };
    if !blocking {
        return;
    }
    let others = if stream == legacy {
        state.streams.which(|other| other.context == context && other.is_blocking())
    } else {
        vec![legacy]
    };
    let Some(check) = &mut state.check else { return };
    for other in others.into_iter().filter(|&other| other != stream) {
        let clock = check.of_stream(other);
        check.learns(stream, &clock);
    }
}

/// A copy is given to a stream.
pub fn copies(state: &mut State, stream: u64, copy: &Copy) -> Answer {
    if state.check.is_none() {
        return Ok(());
    }
    let rows: Vec<_> = copy.rows().collect();
    let from = Ranges::of(rows.iter().map(|&(_, from)| (from, from + copy.width)).collect());
    let to = Ranges::of(rows.iter().map(|&(to, _)| (to, to + copy.width)).collect());
    let (sources, targets) = (state.split(&from), state.split(&to));
    let back = state.block(copy.to.address).is_none_or(|(_, block)| block.is_host());
    for (base, part) in sources {
        if back {
            read_back(state, base, &part);
        }
        // What a copy passes on without its being written is as unknown as before.
        access(state, stream, base, part, Does::Reads, "a copy", None);
    }
    for (base, part) in targets {
        access(state, stream, base, part, Does::Writes, "a copy", None);
    }
    Ok(())
}

/// Results are copied back.
fn read_back(state: &mut State, base: u64, part: &Ranges) {
    let Some(check) = &state.check else { return };
    let Some(known) = check.known.get(&base) else { return };
    let ignored: Vec<Ignored> =
        check.ignored.iter().filter(|ignored| ignored.outputs.contains(&base)).cloned().collect();
    let missing = part.list().iter().find_map(|&(start, end)| known.written.missing(start, end));
    let here = present(check, "this copies it back");
    let calls: Vec<_> = std::iter::once(here.clone()).chain(history(known)).collect();
    let (number, of) = (known.number, known.bytes);
    for Ignored { code, call, what, .. } in &ignored {
        let title = format!("{what} failed with {}, and the program goes on to copy its result back", code.name());
        let calls = vec![("this answers an error".into(), (**call).clone()), here.clone()];
        tell(state, "ignored error", title, "look at what each call answers", calls);
    }
    if let Some(byte) = missing.filter(|_| ignored.is_empty()) {
        let title = format!(
            "byte {} of allocation {number} is copied back, and nothing has written it ({of} bytes)",
            byte - base
        );
        tell(
            state,
            "copied back before it was written",
            title,
            "let a kernel, a copy or a memset write it first",
            calls,
        );
    }
}

/// A fill is given to a stream.
pub fn fills(state: &mut State, stream: u64, fill: &Fill) -> Answer {
    if state.check.is_some() {
        let row = |row: u64| (fill.to + row * fill.pitch, fill.to + row * fill.pitch + fill.width * fill.bytes);
        let all = Ranges::of((0..fill.rows).map(row).collect());
        for (base, part) in state.split(&all) {
            access(state, stream, base, part, Does::Writes, "a memset", None);
        }
    }
    Ok(())
}

/// A launch was made ready: notes who made it.
pub fn launches(state: &mut State, launch: &mut Launch) {
    launch.call = state.check.as_ref().map(Check::here);
}

/// A launch has run.
pub fn ran(state: &mut State, stream: u64, launch: &Launch, bytes: &Bytes, found: Vec<simt::Hazard>) {
    let who = format!("kernel {}", launch.kernel.name());
    for (base, _) in state.split(&bytes.read) {
        never_written(state, base, launch, bytes);
    }
    for (ranges, does) in [(&bytes.read, Does::Reads), (&bytes.written, Does::Writes), (&bytes.updated, Does::Updates)]
    {
        for (base, part) in state.split(ranges) {
            access(state, stream, base, part, does, &who, launch.call.as_ref());
        }
    }
    let block = launch.config.block;
    for hazard in findings::analysis::hazards(found, [block.x, block.y, block.z]) {
        of_kernel(state, launch, &hazard);
    }
}

/// Tells of a kernel that reads an allocation of which nobody has written anything, not even this launch. Where some of it is
/// written, the rest may be padding, which a kernel may read if it does not use it.
fn never_written(state: &mut State, base: u64, launch: &Launch, bytes: &Bytes) {
    let Some(known) = state.check.as_ref().and_then(|check| check.known.get(&base)) else { return };
    let own = |ranges: &Ranges| !ranges.within(base, base + known.bytes).is_empty();
    if !known.written.is_empty() || own(&bytes.written) || own(&bytes.updated) || known.freed.is_some() {
        return;
    }
    let name = launch.kernel.name();
    let title = format!("kernel {name} reads allocation {}, and nothing has written it", known.number);
    let call = launch.call.as_deref().cloned().unwrap_or_default();
    let calls = std::iter::once((format!("kernel {name} reads it"), call)).chain(history(known)).collect();
    tell(state, "read before it was written", title, "copy to it, or fill it, before the launch", calls);
}

fn of_kernel(state: &mut State, launch: &Launch, found: &findings::HazardReport) {
    let report = state.options.report.clone();
    if state.kernels.insert(format!("{} {}", launch.kernel.name(), found.text())) {
        report::kernel(report.as_deref(), launch.kernel.name(), found, launch.call.as_deref());
    }
}

/// A launch has failed. Its fault is told whether faults are looked for or not.
pub fn failed(state: &mut State, launch: &Launch, error: &Error) {
    let freed = launch.args.iter().zip(1..).find_map(|(arg, number)| {
        let simt::Arg::Bytes(bytes) = arg else { return None };
        let address = u64::from_le_bytes(bytes.as_slice().try_into().ok()?);
        let (base, known) = state.check.as_ref()?.at(address)?;
        (known.freed.is_some() && address - base < known.bytes).then(|| (number, known.clone()))
    });
    let outside = matches!(error, Error::Fault(fault) if matches!(fault.kind, FaultKind::OutOfBounds { .. }));
    if let Some((number, known)) = freed.filter(|_| outside) {
        let call = launch.call.as_deref().cloned().unwrap_or_default();
        let label = format!("argument {number} of kernel {} points to it", launch.kernel.name());
        let calls = std::iter::once((label, call)).chain(history(&known)).collect();
        let title =
            format!("allocation {} is used by kernel {} after it was freed", known.number, launch.kernel.name());
        tell(state, "use after free", title, "free it after its last use", calls);
    }
    let address = |arg: &simt::Arg| {
        let simt::Arg::Bytes(bytes) = arg else { return None };
        <[u8; 8]>::try_from(bytes.as_slice()).ok().map(u64::from_le_bytes)
    };
    let least = launch.args.iter().filter_map(address).min();
    if let Some(address) = least.filter(|_| outside) {
        gave_nothing(state, address, &format!("kernel {} is launched with it", launch.kernel.name()));
    }
    match error {
        Error::Fault(fault) => of_kernel(state, launch, &findings::analysis::fault(fault)),
        _ => eprintln!("simt: {}: {error}", launch.kernel.name()),
    }
}

/// A buffer of arguments has another size than the parameters.
pub fn wrong_buffer(state: &mut State, function: u64, bytes: u64, needed: u64) {
    let Some(check) = &state.check else { return };
    let name = state.functions.get(function).map_or("", |function| function.kernel.name());
    let title = format!("the parameters of kernel {name} take {needed} bytes, and the launch passes {bytes}");
    let calls = vec![present(check, "this launches it")];
    tell(state, "arguments that do not fit", title, "pass one argument of the right size for each parameter", calls);
}

/// Compares the places of arguments: two that overlap have not the sizes of their parameters.
pub fn arguments(state: &mut State, function: u64, params: &[Param], places: &[u64]) {
    let Some(check) = &state.check else { return };
    let mut at: Vec<(u64, usize)> = places.iter().copied().zip(0..).collect();
    at.sort_unstable();
    let pairs = at.windows(2).map(|pair| (pair[0], pair[1]));
    let clash = pairs.into_iter().find(|&((a, one), (b, _))| a != b && a + u64::from(params[one].bytes) > b);
    let Some(((a, one), (b, other))) = clash else { return };
    let name = state.functions.get(function).map_or("", |function| function.kernel.name());
    let title = format!(
        "parameter {} of kernel {name} has {} bytes, but argument {} begins {} bytes after it: the argument is smaller",
        one + 1,
        params[one].bytes,
        other + 1,
        b - a
    );
    let calls = vec![present(check, "this launches it")];
    tell(state, "arguments that do not fit", title, "pass each argument with the type of its parameter", calls);
}

/// A launch, copy or fill was refused: if the program goes on with what it should have written, it has ignored that.
pub fn refused(state: &mut State, what: &str, outputs: Vec<u64>, code: Code) {
    let outputs: Vec<u64> = outputs.into_iter().filter_map(|at| state.block(at)).map(|(base, _)| base).collect();
    let Some(check) = &mut state.check else { return };
    let call = check.here();
    check.ignored.push(Ignored { code, call, what: what.into(), outputs });
}

/// The host has waited for a stream.
pub fn synchronized(state: &mut State, stream: u64) {
    ordered_with_legacy(state, stream);
    let Some(check) = &mut state.check else { return };
    let clock = check.of_stream(stream);
    check.host_learns(&clock);
}

/// A stream waits for an event.
pub fn waits(state: &mut State, stream: u64, event: u64) {
    let Some(check) = &mut state.check else { return };
    if let Some(clock) = check.events.get(&event).cloned() {
        check.learns(stream, &clock);
    }
}

/// An event was recorded in a stream.
pub fn recorded(state: &mut State, stream: u64, event: u64) {
    ordered_with_legacy(state, stream);
    let Some(check) = &mut state.check else { return };
    let (_, clock) = check.acts(stream);
    check.events.insert(event, clock);
}

/// The host has waited for an event, or seen that it has happened.
pub fn event_seen(state: &mut State, event: u64) {
    let Some(check) = &mut state.check else { return };
    if let Some(clock) = check.events.get(&event).cloned() {
        check.host_learns(&clock);
    }
}

/// What was allocated in a context, or in any, and never freed.
pub fn leaks(state: &mut State, context: Option<u64>) {
    // Python ends its contexts when it ends itself, without freeing what is still in use.
    if crate::raw::has_symbol(c"Py_IsInitialized") {
        return;
    }
    let of = |block: &crate::state::Block| {
        context.is_none_or(|context| context == block.context) && !matches!(block.kind, Kind::Variable)
    };
    let left: Vec<u64> = state.blocks.iter().filter(|(_, block)| of(block)).map(|(&base, _)| base).collect();
    for base in left {
        let Some(known) = state.check.as_ref().and_then(|check| check.known.get(&base)) else { continue };
        let title = format!("allocation {} of {} bytes is never freed", known.number, known.bytes);
        let calls = vec![("this makes it".to_owned(), (*known.call).clone())];
        // At the end of a process the system frees everything, and some programs rely on it.
        let warning = context.is_none();
        tell_as(
            state,
            &Finding { kind: "never freed", title, help: "free it when it is not needed any more", warning, calls },
        );
    }
}

/// Looks for what was never freed when the program ends.
pub fn at_exit() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| crate::raw::at_exit(ends));
}

extern "C" fn ends() {
    let mut guard = Guard::lock();
    guard::open();
    tell_hits(&mut guard);
    logged::leaks(&guard, None);
    if guard.check.is_some() {
        leaks(&mut guard, None);
    }
}
