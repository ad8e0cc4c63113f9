//! The rules, driven by hand: accesses, copies, barriers and fences in a chosen order, and the hazards that are then reported.

use super::{BODY, Request, arrival, begin, kernel, mask, memory, number, script, waiting_body};
use simt::Extents;
use simt::{
    Analysis, Arg, Arrival, BlockInfo, CopyAccess, CopyLanded, DevicePointer, Dim3, Hazard, Hazards, Kernel,
    LaunchConfig, Observer, Touched,
};

#[test]
fn rules() {
    script("by_hand/rules.txt", run);
}

/// What the shadows may take decides whether a launch is refused: about a hundred bytes for each word that is written, and more where
/// threads wait for each other, since more accesses to it are kept.
#[test]
fn the_memory_of_the_shadows_is_estimated() {
    let words = 1 << 20;
    let of_a_word = |body: &str| {
        let bytes = |written| {
            let touched = Touched { written_bytes: written, block_written_bytes: written, ..Touched::default() };
            let touched = Touched { all_bytes: written, block_bytes: written, ..touched };
            Hazards::bytes(&kernel(body), &LaunchConfig::new(1, 96), &touched)
        };
        assert!(bytes(0) > 3 * 4096, "each of three warps has pairs of lanes: {}", bytes(0));
        (bytes(4 * words) - bytes(0)) / words
    };
    let [plain, waiting] = [of_a_word(BODY), of_a_word(&waiting_body())];
    assert!((60..160).contains(&plain) && (250..600).contains(&waiting), "{plain} and {waiting} bytes");
}

/// A launch whose blocks are driven by hand.
struct Launch {
    kernel: Kernel,
    hazards: Hazards,
    a: DevicePointer,
    c: DevicePointer,
}

/// Runs a script, `[WORD ...] [NUMBER:] STEP; STEP; ... | NUMBER: STEP; ...`, which has a part for each block, in this order and in
/// the opposite one. [`Block::step`] explains the steps. A script `kernel ...` is a kernel for [`run_kernel`]. The first words are:
///
/// - `waits`: threads may wait for each other elsewhere than at barriers of the whole block, so blocks run in only one order.
/// - `output`: C is an output.
/// - `extents`: the array `s` is known to be `int s[4][8]`.
/// - `narrow`: the kernel accesses bytes. `dynamic`: it stores to a dynamic array. `lines`: it has line information.
fn run(script: &str) -> Vec<String> {
    if let Some(body) = script.strip_prefix("kernel ") {
        return run_kernel(body);
    }
    let words = ["waits", "output", "extents", "narrow", "dynamic", "lines"];
    let count = script.split(' ').take_while(|word| words.contains(word)).count();
    let mut rest = script.splitn(count + 1, ' ').collect::<Vec<_>>();
    let script = rest.pop().unwrap_or_default();
    let says = |word: &str| rest.contains(&word);
    let mut body = if says("waits") { waiting_body() } else { BODY.to_owned() };
    let mut replace = |from: &str, to: &str| body = body.replace(from, to);
    if says("narrow") {
        replace("ret;", "st.shared.u8 [%r5], %r1; st.global.u8 [%rd5], %r1; ld.global.u8 %r2, [%rd5]; ret;");
    }
    if says("dynamic") {
        replace("st.shared.f32 [s]", "st.shared.f32 [d]");
    }
    if says("lines") {
        replace("ld.shared.u32 %r2", ".loc 1 7 1\nld.shared.u32 %r2");
        replace("st.shared.f32", ".loc 1 9 1\nst.shared.f32");
        replace("cp.async.wait_all", ".loc 1 7 1\nld.shared.s32 %r2, [%r5]; cp.async.wait_all");
    }
    let parts = script.split('|').map(|part| part.split_once(':').unwrap_or(("0", part)));
    let report = |parts: &mut dyn Iterator<Item = (&str, &str)>| {
        let (kernel, (memory, a, c)) = (kernel(&body), memory());
        let mut hazards = if says("output") { Hazards::new().output(c) } else { Hazards::new() };
        if says("extents") {
            hazards = hazards.extents("s", Extents { element_bytes: 4, extents: vec![4, 8] });
        }
        begin(&mut hazards, &kernel, &memory);
        let launch = Launch { kernel, hazards, a, c };
        for (block, steps) in parts {
            let number = number_of(block);
            let info = BlockInfo { index: Dim3::new(number as u32, 0, 0), number, threads: 96 };
            let watch = launch.hazards.block(&info).remove(0);
            let mut block = Block { launch: &launch, watch, flights: Default::default() };
            steps.split(';').for_each(|step| block.step(step));
            block.watch.end();
        }
        let found: Vec<String> = launch.hazards.found().iter().map(line).collect();
        assert_eq!(launch.hazards.found().len(), found.len(), "a report stays when it has been read");
        found
    };
    let found = report(&mut parts.clone());
    if !says("waits") {
        assert_eq!(report(&mut parts.rev()), found, "the report of `{script}` depends on the order of the blocks");
    }
    found
}

/// Runs a kernel in a block of 48 threads and returns what is found. `%r1` is the thread, and `%p1` is true in the first 40 threads.
/// `SET` sets `%r2` in these 40 only; `STORE` stores `%r3`.
fn run_kernel(body: &str) -> Vec<String> {
    let body =
        body.replace("SET", "@!%p1 bra SKIP; mov.u32 %r2, 5; SKIP:").replace("STORE", "st.global.u32 [%rd3], %r3");
    let kernel = kernel(&include_str!("launched.ptx").replace("BODY", &body));
    let (mut memory, a, _) = memory();
    let mut hazards = Hazards::new();
    let arguments = [Arg::Pointer(a), Arg::U32(7)];
    simt::launch(&kernel, &mut memory, &LaunchConfig::new(1, 48), &arguments, &mut hazards).unwrap();
    hazards.found().iter().map(line).collect()
}

fn number_of<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.trim().parse().unwrap_or_else(|error| panic!("`{word}`: {error:?}"))
}

/// Formats a hazard like `Race s + 0 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.u32; x2`. Threads are block/thread.
fn line(hazard: &Hazard) -> String {
    let mut text = format!("{:?} {}:", hazard.kind, hazard.place);
    for party in &hazard.parties {
        let word = party.location.instruction.split(' ').next().unwrap_or_default().trim_end_matches(';').to_owned();
        text += &format!(" {}/{} {} {word};", party.block.x, party.thread.x, party.action);
    }
    let whose = if hazard.is_within_warp(Dim3::new(96, 1, 1)) { ", in a warp" } else { "" };
    format!("{text} x{}{whose}", hazard.count)
}

struct Block<'a> {
    launch: &'a Launch,
    watch: Box<dyn Observer>,
    /// By warp.
    flights: [Flights; 3],
}

/// A warp's copies that have not landed.
#[derive(Default)]
struct Flights {
    all: Vec<Flight>,
    /// How many groups each lane has closed.
    closed: [u32; 32],
}

/// The copies of one instruction.
struct Flight {
    instruction: u32,
    lanes: u32,
    bytes: u32,
    to: [u32; 32],
    /// The group of each lane's copy.
    group: [u32; 32],
}

impl Block<'_> {
    fn access(&mut self, request: &Request) {
        self.watch.access(&request.access(&self.launch.kernel));
    }

    /// Runs a step of a script: `COUNT*STEP`, or a word and its arguments. A place is a byte offset in shared memory, A (`a4`) or C
    /// (`c-4`), or a global address (`@4096`). An access is `WORD THREAD PLACE`, or `WORD WARP LANES PLACE STRIDE` with an optional
    /// value to store: `=NUMBER`, `=lane`, `=product` (lane times part of a vector), or `=high` (the lane, above a zero byte).
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
                self.copy("cp.async.ca", (number_of(warp), mask(lanes)), number_of(start), (8, [8; 32]));
            }
            // `bytes` lists how many bytes each of the first lanes reads.
            ["copies", warp, bytes] => {
                let mut source = [0; 32];
                let bytes = bytes.split(',').map(number_of::<u32>).zip(&mut source).map(|(bytes, of)| *of = bytes);
                let lanes = (1 << bytes.count()) - 1;
                self.copy("cp.async.cg", (number_of(warp), lanes), 0, (16, source));
            }
            ["commit", warp, lanes] => {
                let (lanes, closed) = (mask(lanes), &mut self.flights[number_of::<usize>(warp)].closed);
                closed.iter_mut().enumerate().for_each(|(lane, closed)| *closed += lanes >> lane & 1);
            }
            ["wait", warp, lanes, ref pending @ ..] => {
                let (warp, lanes) = (number_of(warp), mask(lanes));
                let pending = pending.first().map(|pending| number_of(pending));
                self.watch.copy_wait(warp, 0, lanes, pending);
                let Flights { all, closed } = &mut self.flights[warp as usize];
                all.retain_mut(|Flight { instruction, lanes: rest, bytes, to, group }| {
                    let old = |lane: &usize| pending.is_none_or(|pending: u32| group[*lane] + pending < closed[*lane]);
                    let lanes = *rest & lanes & (0..32).filter(old).fold(0, |lanes, lane| lanes | 1 << lane);
                    if lanes != 0 {
                        let (instruction, bytes) = (*instruction, *bytes);
                        self.watch.copy_landed(&CopyLanded { warp, instruction, at: 0, lanes, bytes, to });
                    }
                    *rest &= !lanes;
                    *rest != 0
                });
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
                let ((start, address), thread) = (self.place(word, place), number_of::<u32>(thread));
                let (warp, lanes, addresses) = (thread / 32, 1 << (thread % 32), [address; 32]);
                self.access(&Request { start: &start, warp, lanes, addresses, data: None });
            }
            [word, warp, lanes, place, stride, ref value @ ..] => {
                let ((start, address), stride) = (self.place(word, place), number_of::<i64>(stride));
                let addresses = std::array::from_fn(|lane| address.wrapping_add_signed(stride * lane as i64));
                let data = value.first().map(|value| {
                    let of = |lane: u32, part: u32| match &value[1..] {
                        "lane" => lane,
                        "product" => lane * part,
                        "high" => 256 * lane,
                        number => number_of(number),
                    };
                    std::array::from_fn(|lane| std::array::from_fn(|part| of(lane as u32, part as u32)))
                });
                let (warp, lanes) = (number_of(warp), mask(lanes));
                self.access(&Request { start: &start, warp, lanes, addresses, data });
            }
            _ => panic!("`{step}` is not a step"),
        }
    }

    /// Returns how an access's instruction begins, and the address.
    fn place(&self, word: &str, place: &str) -> (String, u64) {
        let (base, offset) = match place.split_at(1) {
            ("a", offset) => (Some(self.launch.a.0), offset),
            ("c", offset) => (Some(self.launch.c.0), offset),
            ("@", offset) => (Some(0), offset),
            _ => (None, place),
        };
        let space = if base.is_some() { "global" } else { "shared" };
        let known = include_str!("accesses.txt").lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        let start = known.unwrap_or_else(|| panic!("`{word} {place}` is not an access")).replace("SPACE", space);
        (start, base.unwrap_or(0).wrapping_add_signed(number_of(offset)))
    }

    fn number(&self, start: &str) -> u32 {
        number(&self.launch.kernel, start)
    }

    fn barrier(&mut self, warps: u32) {
        let instruction = self.number("bar.sync 0");
        for warp in (0..3).filter(|warp| warps >> warp & 1 != 0) {
            self.watch.barrier_arrive(&arrival(warp, instruction));
        }
        self.watch.barrier_release(0, warps);
    }

    /// Lets lanes copy from the start of A to shared memory from `to` on. `source` says how many bytes each lane reads.
    fn copy(&mut self, start: &str, (warp, lanes): (u32, u32), to: u64, (bytes, source): (u32, [u32; 32])) {
        let place = |first: u64| std::array::from_fn(|lane| first + u64::from(bytes) * lane as u64);
        let (instruction, from, to): (_, _, [u64; 32]) = (self.number(start), place(self.launch.a.0), place(to));
        let (bypass, source_bytes, from) = (bytes == 16, &source, &from);
        self.watch.copy(&CopyAccess { warp, instruction, lanes, bytes, bypass, source_bytes, from, to: &to });
        let Flights { all, closed } = &mut self.flights[warp as usize];
        all.push(Flight { instruction, lanes, bytes, to: to.map(|address| address as u32), group: *closed });
    }
}
