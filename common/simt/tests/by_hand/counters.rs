//! The counters, driven by hand. `tests/counters.rs` compares the cost of passes with a GPU's readings; the shapes here are simple
//! enough to count with a pencil.

use super::{BODY, Request, arrival, begin, kernel, mask, memory, number, script};
use simt::analyses::counters::Wavefronts;
use simt::{
    Analysis, Arrival, BlockInfo, CopyAccess, Counters, Counts, Dim3, Kernel, Observer, Space, WarpgroupStep, Work,
};

/// Returns the counters of a launch of one block, whose events `run` makes.
fn counted(run: impl FnOnce(&Kernel, &mut dyn Observer)) -> Counters {
    let (kernel, (memory, ..)) = (kernel(BODY), memory());
    let mut counters = Counters::new();
    begin(&mut counters, &kernel, &memory);
    let mut block = block(&counters);
    run(&kernel, &mut *block);
    block.end();
    counters
}

fn block(counters: &Counters) -> Box<dyn Observer> {
    counters.block(&BlockInfo { index: Dim3::new(0, 0, 0), number: 0, threads: 96 }).remove(0)
}

/// Returns the counts that are not zero, as text.
fn shown(counts: &Counts) -> String {
    let counts = counts.entries().into_iter().filter(|&(_, count)| count > 0);
    counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

#[test]
#[allow(clippy::float_cmp)] // Ratios of small integers are exact.
fn every_counter_is_summed_and_shown() {
    let mut counts = Counts::default();
    assert!(counts.entries().iter().all(|(_, count)| *count == 0));
    let mut one = counts;
    (one.flop, one.global_load_bytes, one.shared_load_wavefronts, one.shared_store_wavefronts) = (6, 4, 2, 3);
    counts += &one;
    counts += &one;
    assert_eq!(
        shown(&counts),
        "flop 12, global_load_bytes 8, shared_load_wavefronts 4, shared_store_wavefronts 6, shared_wavefronts 10"
    );
    assert_eq!(counts.flop_per_byte(), 1.5);
    assert_eq!(counts.flop_per_global_access(), 0.0, "nothing was loaded");
    counts.global_load_threads = 8;
    assert_eq!(counts.flop_per_global_access(), 1.5);
}

#[test]
fn blocks_are_added_up_and_a_new_launch_starts_at_zero() {
    let (kernel, (memory, ..)) = (kernel(BODY), memory());
    let entered = counted(|_, block| block.enter(0, 0, 0, 0, 0)).total().instructions;
    assert!(entered > 20);
    let mut counters = Counters::new();
    for _ in 0..2 {
        begin(&mut counters, &kernel, &memory);
        let (mut first, mut second) = (block(&counters), block(&counters));
        for (block, times) in [(&mut first, 2), (&mut second, 3)] {
            (0..times).for_each(|_| block.barrier_arrive(&arrival(0, 1)));
            block.enter(0, 0, 0, 0, 0);
        }
        first.end();
        second.end();
        let mut third = block(&counters);
        third.barrier_arrive(&arrival(0, 1));
        third.end();
        let total = counters.total();
        assert_eq!((total.barriers, total.instructions), (6, 2 * entered));
    }
}

#[test]
fn lines_have_what_their_instructions_have() {
    let body = BODY
        .replace("bar.sync 0;", ".loc 1 7 1\nbar.sync 0;")
        .replace("ld.global.v2.u32", ".loc 1 9 1\nld.global.v2.u32");
    let (kernel, (memory, ..)) = (kernel(&body), memory());
    let mut counters = Counters::new();
    assert!(counters.lines().is_empty());
    begin(&mut counters, &kernel, &memory);
    assert!(counters.lines().is_empty());
    let mut block = block(&counters);
    for start in ["bar.sync 0", "barrier.sync 0", "ld.global.v2.u32", "ld.shared.u32"] {
        block.barrier_arrive(&arrival(0, number(&kernel, start)));
    }
    block.end();
    let lines: Vec<_> = counters.lines().into_iter().map(|(line, counts)| (line, counts.barriers)).collect();
    assert_eq!(lines, [((0, 0), 1), ((1, 7), 2), ((1, 9), 1)]);
}

/// Parses a number for each lane: `FIRST+STRIDE`, or a list such as `4*0,16` (0 for four lanes, then 16), whose last number is that of
/// all further lanes.
fn numbers(text: &str) -> [u64; 32] {
    let number = |text: &str| text.parse::<u64>().unwrap();
    if let Some((first, stride)) = text.split_once('+') {
        return std::array::from_fn(|lane| number(first) + number(stride) * lane as u64);
    }
    let runs = text.split(',').map(|run| run.split_once('*').unwrap_or(("1", run)));
    let all: Vec<u64> = runs.flat_map(|(count, of)| vec![number(of); number(count) as usize]).collect();
    std::array::from_fn(|lane| all[lane.min(all.len() - 1)])
}

/// Runs a step of `requests.txt`: a copy (`START LANES BYTES FROM TO`, where BYTES are those that are read), another access (`START
/// LANES ADDRESSES`), or another event. Returns how many passes through shared memory [`Wavefronts`] lists for it.
fn step(kernel: &Kernel, block: &mut dyn Observer, step: &str) -> u64 {
    let number = |start: &str| number(kernel, start);
    match step.split_whitespace().collect::<Vec<_>>()[..] {
        // The kernel is one basic block.
        ["enter", lanes] => block.enter(0, 0, 0, 0, mask(lanes)),
        ["guarded", start, lanes] => block.guarded(0, number(start), mask(lanes)),
        ["branch", taken, not_taken] => block.branch(0, 0, mask(taken), mask(not_taken)),
        // Pieces of 16 bytes that a warpgroup's product reads for a warp, and how many of them are this warp's own.
        ["product", warp, pieces, own] => {
            let (pieces, own) = (pieces.parse().unwrap(), own.parse().unwrap());
            let step = WarpgroupStep::Multiply { pieces: &vec![0; pieces], own };
            block.warpgroup(warp.parse().unwrap(), number("bar.sync 0"), step);
            return if warp == "0" { pieces / 8 } else { own / 8 } as u64;
        }
        [word @ ("waits" | "arrives")] => {
            block.barrier_arrive(&Arrival { waits: word == "waits", ..arrival(0, number("bar.sync 0")) });
        }
        [start, lanes, read, from, to] => {
            let bypass = start == "cp.async.cg";
            let copy = CopyAccess {
                warp: 0,
                instruction: number(start),
                lanes: mask(lanes),
                bytes: if bypass { 16 } else { 8 },
                bypass,
                source_bytes: &numbers(read).map(|bytes| bytes as u32),
                from: &numbers(from),
                to: &numbers(to),
            };
            block.copy(&copy);
            return Wavefronts::of_copy(&copy).passes.len() as u64;
        }
        [start, lanes, addresses] => {
            let request = Request { start, warp: 0, lanes: mask(lanes), addresses: numbers(addresses), data: None };
            let access = request.access(kernel);
            block.access(&access);
            if access.space == Space::Shared {
                let passes = Wavefronts::of_access(kernel, &access).unwrap().passes;
                assert_eq!(passes.iter().fold(0, |served, pass| served | pass.lanes), access.lanes, "{step}");
                return passes.len() as u64;
            }
        }
        _ => panic!("`{step}` is not a step"),
    }
    0
}

#[test]
fn requests() {
    script("by_hand/requests.txt", |line| {
        let mut passes = 0;
        let counters = counted(|kernel, block| passes = line.split(';').map(|text| step(kernel, block, text)).sum());
        let counts = counters.total();
        assert_eq!(counts.shared_load_wavefronts + counts.shared_store_wavefronts, passes, "{line}");
        let works = counters.works().unwrap();
        let work = |(work, blocks): (Work, u64)| {
            format!("{blocks} x fma {}, issued {}, passes {}", work.fma, work.issued, work.passes)
        };
        [shown(&counts)].into_iter().chain(works.kinds().map(work)).collect()
    });
}
