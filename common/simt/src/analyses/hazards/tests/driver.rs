//! A launch whose blocks are driven by hand, and its report in short lines.

use crate::analyses::hazards::{BlockHazards, Hazards};
use crate::analyses::testing::{BODY, Request, arrival, begin, kernel, mask, memory, number, request, waiting_body};
use crate::observe::{Analysis, Arrival, BlockInfo, CopyAccess, Observer};
use crate::{Arg, DevicePointer, Dim3, GlobalMemory, Hazard, Kernel, LaunchConfig};

pub(super) const STORE: &str = "st.shared.u32";
pub(super) const LOAD: &str = "ld.shared.u32";
const ATOM: &str = "atom.shared";
pub(super) const GLOBAL_STORE: &str = "st.global.u32";
pub(super) const GLOBAL_LOAD: &str = "ld.global.u32";

/// A launch whose blocks are driven by hand.
pub(super) struct Launch {
    pub kernel: Kernel,
    pub hazards: Hazards,
    pub _memory: GlobalMemory,
    pub a: DevicePointer,
    pub c: DevicePointer,
}

pub(super) fn launch_of(body: &str, output: bool) -> Launch {
    let kernel = kernel(body);
    let (memory, a, c) = memory();
    let mut hazards = if output { Hazards::new().output(c) } else { Hazards::new() };
    begin(&mut hazards, &kernel, &memory);
    Launch { kernel, hazards, _memory: memory, a, c }
}

impl Launch {
    /// A block from its start to its end.
    pub fn block(&self, number: u64, run: impl FnOnce(&mut Block<'_>)) {
        let info = BlockInfo { index: Dim3::new(number as u32, 0, 0), number, threads: 96 };
        let mut block = Block { launch: self, watch: self.hazards.block(&info).unwrap() };
        run(&mut block);
        self.hazards.end(Some(block.watch));
    }

    /// Everything found, a line each.
    pub fn found(&self) -> Vec<String> {
        self.hazards.found().iter().map(line).collect()
    }
}

/// Runs a script, `[waits] [output] [NUMBER:] STEP; STEP; ... | NUMBER: STEP; ...`, with a part for each block. With
/// `output`, C is an output. With `waits`, threads may wait for each other at other places than barriers of the whole block,
/// and the parts run in this order; else they also run in the opposite one. What a step is: see [`Block::step`].
/// `kernel ...` is a kernel, see [`run_kernel`].
pub(super) fn run(script: &str) -> Vec<String> {
    if let Some(body) = script.strip_prefix("kernel ") {
        return run_kernel(body);
    }
    let (waits, script) = script.strip_prefix("waits ").map_or((false, script), |rest| (true, rest));
    let (output, script) = script.strip_prefix("output ").map_or((false, script), |rest| (true, rest));
    let parts = script.split('|').map(|part| part.split_once(':').unwrap_or(("0", part)));
    let body = if waits { waiting_body() } else { BODY.to_owned() };
    let report = |parts: &mut dyn Iterator<Item = (&str, &str)>| {
        let launch = launch_of(&body, output);
        for (block, steps) in parts {
            launch.block(number_of(block), |block| steps.split(';').for_each(|step| block.step(step)));
        }
        let found = launch.found();
        assert!(output || launch.found().is_empty(), "a report is handed out once");
        found
    };
    let found = report(&mut parts.clone());
    if !waits {
        assert_eq!(report(&mut parts.rev()), found, "the report of `{script}` depends on the order of the blocks");
    }
    found
}

/// What is found in a block of 48 threads that runs a kernel: `%r1` is the thread, `%p1` holds in the first 40 of them. `SET` sets
/// `%r2` in these only; `STORE` stores `%r3`.
fn run_kernel(body: &str) -> Vec<String> {
    let body =
        body.replace("SET", "@!%p1 bra SKIP; mov.u32 %r2, 5; SKIP:").replace("STORE", "st.global.u32 [%rd3], %r3");
    let head = ".reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<9>; .shared .align 16 .b8 s[512];
        ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 40;
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;";
    let kernel = kernel(&format!("{head} {body} ret;"));
    let (mut memory, a, _) = memory();
    let mut hazards = Hazards::new();
    let arguments = [Arg::Pointer(a), Arg::U32(7)];
    crate::launch(&kernel, &mut memory, &LaunchConfig::new(1, 48), &arguments, &mut hazards).unwrap();
    hazards.found().iter().map(line).collect()
}

fn number_of<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.trim().parse().unwrap_or_else(|error| panic!("`{word}`: {error:?}"))
}

/// `Race s + 0 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.u32; x2`, with block/thread.
pub(super) fn line(hazard: &Hazard) -> String {
    let mut text = format!("{:?} {}:", hazard.kind, hazard.place);
    for party in &hazard.parties {
        let word = party.location.instruction.split(' ').next().unwrap_or_default().trim_end_matches(';').to_owned();
        text += &format!(" {}/{} {} {word};", party.block.x, party.thread.x, party.action);
    }
    format!("{text} x{}", hazard.count)
}

pub(super) struct Block<'a> {
    pub launch: &'a Launch,
    pub watch: BlockHazards,
}

impl Block<'_> {
    pub fn access(&mut self, request: &Request) {
        self.watch.access(&request.access(&self.launch.kernel));
    }

    /// One thread accesses one place.
    pub fn one(&mut self, start: &'static str, thread: u32, address: u64) {
        self.access(&request(start).warp(thread / 32).lanes(1 << (thread % 32)).at(|_| address));
    }

    /// A step of a script: `COUNT*STEP`, or a word and what it needs. Places are bytes of shared memory, or (`a4`, `c-4`) of A
    /// or C; an access is `WORD THREAD PLACE`, or `WORD WARP LANES PLACE STRIDE`, perhaps with what is stored: `=NUMBER`, or `=lane`.
    fn step(&mut self, step: &str) {
        if let Some((count, step)) = step.split_once('*') {
            return (0..number_of(count)).for_each(|_| self.step(step));
        }
        match step.split_whitespace().collect::<Vec<_>>()[..] {
            ["bar", warps] => self.barrier(mask(warps)),
            ["sync", warp, lanes] => self.watch.warp_sync(number_of(warp), 0, mask(lanes), mask(lanes), false),
            ["sync", warp, lanes, named] => self.watch.warp_sync(number_of(warp), 0, mask(lanes), mask(named), false),
            ["shuffle", warp, lanes] => self.watch.warp_sync(number_of(warp), 0, mask(lanes), mask(lanes), true),
            [fence @ ("membar.gl" | "membar.cta"), thread] => {
                let (thread, instruction) = (number_of::<u32>(thread), self.number(fence));
                self.watch.fence(thread / 32, instruction, 1 << (thread % 32));
            }
            ["copy", warp, lanes, start] => {
                let start: u64 = number_of(start);
                self.copy(number_of(warp), mask(lanes), |lane| start + 8 * lane);
            }
            ["commit", warp, lanes] => self.watch.copy_commit(number_of(warp), 0, mask(lanes)),
            ["wait", warp, lanes] => self.watch.copy_wait(number_of(warp), 0, mask(lanes), None),
            ["wait", warp, lanes, pending] => {
                self.watch.copy_wait(number_of(warp), 0, mask(lanes), Some(number_of(pending)));
            }
            [word @ ("meets" | "passes"), warp, lanes, id, barrier] => {
                let kinds = [
                    ("bar0", "bar.sync 0", 0),
                    ("bar64", "bar.sync 1, 64", 64),
                    ("bar96", "bar.sync 1, 96", 96),
                    ("barrier0", "barrier.sync 0", 0),
                    ("red0", "bar.red", 0),
                ];
                let &(_, start, threads) = kinds.iter().find(|kind| kind.0 == barrier).unwrap();
                self.watch.barrier_arrive(&Arrival {
                    warp: number_of(warp),
                    instruction: self.number(start),
                    lanes: mask(lanes),
                    id: number_of(id),
                    threads,
                    waits: word == "meets",
                    reduces: barrier == "red0",
                });
            }
            ["opens", id, warps] => self.watch.barrier_release(number_of(id), mask(warps)),
            ["ends", warp, lanes] => self.watch.exit(number_of(warp), self.number("ret"), mask(lanes)),
            [word, thread, place] => {
                let (start, address) = self.place(word, place);
                self.one(start, number_of(thread), address);
            }
            [word, warp, lanes, place, stride, ref value @ ..] => {
                let ((start, address), stride) = (self.place(word, place), number_of::<i64>(stride));
                let at = |lane: u64| address.wrapping_add_signed(stride * lane as i64);
                let request = request(start).warp(number_of(warp)).lanes(mask(lanes)).at(at);
                self.access(&match value.first().map(|value| &value[1..]) {
                    None => request,
                    Some("lane") => request.values(|lane| lane as u32),
                    Some(number) => request.values(|_| number_of(number)),
                });
            }
            _ => panic!("`{step}` is not a step"),
        }
    }

    /// The start of an access's instruction, and its address.
    fn place(&self, word: &str, place: &str) -> (&'static str, u64) {
        let (base, offset) = match place.split_at(1) {
            ("a", offset) => (self.launch.a.0, offset),
            ("c", offset) => (self.launch.c.0, offset),
            _ => (0, place),
        };
        let start = match (word, base > 0) {
            ("st", false) => STORE,
            ("ld", false) => LOAD,
            ("at", false) => ATOM,
            ("vst", false) => "st.volatile.shared",
            ("vld", false) => "ld.volatile.shared",
            ("st2", false) => "st.shared.v2",
            ("ld2", false) => "ld.shared.v2",
            ("stf", false) => "st.shared.f32",
            ("ldf", false) => "ld.shared.f32",
            ("st", true) => GLOBAL_STORE,
            ("ld", true) => GLOBAL_LOAD,
            ("at", true) => "atom.global",
            ("vld", true) => "ld.volatile.global",
            ("vst", true) => "st.volatile.global",
            ("atb", true) => "atom.global.cta",
            ("ld2", true) => "ld.global.v2",
            _ => panic!("`{word} {place}` is not an access"),
        };
        (start, base.wrapping_add_signed(number_of(offset)))
    }

    pub fn number(&self, start: &str) -> u32 {
        number(&self.launch.kernel, start)
    }

    pub fn barrier(&mut self, warps: u32) {
        let instruction = self.number("bar.sync 0");
        for warp in (0..3).filter(|warp| warps >> warp & 1 != 0) {
            self.watch.barrier_arrive(&arrival(warp, instruction));
        }
        self.watch.barrier_release(0, warps);
    }

    /// Copies 8 bytes a lane from the start of A.
    pub fn copy(&mut self, warp: u32, lanes: u32, to: impl Fn(u64) -> u64) {
        let a = self.launch.a.0;
        let copy = CopyAccess {
            warp,
            instruction: self.number("cp.async.ca"),
            lanes,
            bytes: 8,
            bypass: false,
            source_bytes: &[8; 32],
            from: &std::array::from_fn(|lane| a + 8 * lane as u64),
            to: &std::array::from_fn(|lane| to(lane as u64)),
        };
        self.watch.copy(&copy);
    }
}

/// The report of one block.
pub(super) fn found(run: impl FnOnce(&mut Block<'_>)) -> Vec<String> {
    let launch = launch_of(BODY, false);
    launch.block(0, run);
    launch.found()
}

pub(super) const CLEAN: [&str; 0] = [];
