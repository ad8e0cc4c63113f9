//! The rules, driven by hand: accesses, copies, barriers and fences in a chosen order, and what is then reported.

use super::{BlockHazards, Extents, Hazards};
use crate::analyses::testing::{BODY, Request, begin, kernel, memory, number, request};
use crate::observe::{Analysis, BlockInfo, CopyAccess, Observer};
use crate::{DevicePointer, Dim3, GlobalMemory, Hazard, Kernel};

const STORE: &str = "st.shared.u32";
const LOAD: &str = "ld.shared.u32";
const ATOM: &str = "atom.shared";
const GLOBAL_STORE: &str = "st.global.u32";
const GLOBAL_LOAD: &str = "ld.global.u32";
const GLOBAL_ATOM: &str = "atom.global";

/// A launch whose blocks are driven by hand.
struct Launch {
    kernel: Kernel,
    hazards: Hazards,
    _memory: GlobalMemory,
    a: DevicePointer,
    c: DevicePointer,
}

fn launch_of(body: &str, output: bool) -> Launch {
    let kernel = kernel(body);
    let (memory, a, c) = memory();
    let mut hazards = if output { Hazards::new().output(c) } else { Hazards::new() };
    begin(&mut hazards, &kernel, &memory);
    Launch { kernel, hazards, _memory: memory, a, c }
}

fn launch() -> Launch {
    launch_of(BODY, false)
}

impl Launch {
    /// A block from its start to its end.
    fn block(&self, number: u64, run: impl FnOnce(&mut Block<'_>)) {
        let info = BlockInfo { index: Dim3::new(number as u32, 0, 0), number, threads: 96 };
        let mut block = Block { launch: self, watch: self.hazards.block(&info).unwrap() };
        run(&mut block);
        self.hazards.end(Some(block.watch));
    }

    /// Everything found, a line each.
    fn report(&self) -> Vec<String> {
        self.hazards.report().iter().map(line).collect()
    }
}

/// `Race s + 0 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.u32; x2`, with block/thread.
fn line(hazard: &Hazard) -> String {
    let mut text = format!("{:?} {}:", hazard.kind, hazard.place);
    for party in &hazard.parties {
        let word = party.location.instruction.split(' ').next().unwrap_or_default().trim_end_matches(';').to_owned();
        text += &format!(" {}/{} {} {word};", party.block.x, party.thread.x, party.action);
    }
    format!("{text} x{}", hazard.count)
}

struct Block<'a> {
    launch: &'a Launch,
    watch: BlockHazards,
}

impl Block<'_> {
    fn access(&mut self, request: &Request) {
        self.watch.access(&request.access(&self.launch.kernel));
    }

    /// One thread accesses one place.
    fn one(&mut self, start: &'static str, thread: u32, address: u64) {
        self.access(&request(start).warp(thread / 32).lanes(1 << (thread % 32)).at(|_| address));
    }

    fn number(&self, start: &str) -> u32 {
        number(&self.launch.kernel, start)
    }

    fn barrier(&mut self, warps: u32) {
        let instruction = self.number("bar.sync 0");
        for warp in (0..3).filter(|warp| warps >> warp & 1 != 0) {
            self.watch.barrier_arrive(warp, instruction, 0, u32::MAX, true);
        }
        self.watch.barrier_release(0, warps);
    }

    /// Copies 8 bytes a lane from the start of A.
    fn copy(&mut self, warp: u32, lanes: u32, to: impl Fn(u64) -> u64) {
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

    fn commit(&mut self, warp: u32, lanes: u32) {
        self.watch.copy_commit(warp, 0, lanes);
    }

    fn wait(&mut self, warp: u32, lanes: u32, pending: Option<u32>) {
        self.watch.copy_wait(warp, 0, lanes, pending);
    }
}

/// The report of one block.
fn found(run: impl FnOnce(&mut Block<'_>)) -> Vec<String> {
    let launch = launch();
    launch.block(0, run);
    launch.report()
}

const CLEAN: [&str; 0] = [];

#[test]
fn threads_that_have_not_met_race() {
    let write_read = |between: fn(&mut Block<'_>)| {
        found(|block| {
            block.one(STORE, 1, 4);
            between(block);
            block.one(LOAD, 40, 4);
        })
    };
    let race = ["Race s + 4 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.u32; x1"];
    assert_eq!(write_read(|_| {}), race);
    assert_eq!(write_read(|block| block.barrier(0b111)), CLEAN);
    assert_eq!(write_read(|block| block.barrier(0b011)), CLEAN);
    assert_eq!(write_read(|block| block.barrier(0b101)), race);
    assert_eq!(write_read(|block| block.barrier(0b110)), race);
    assert_eq!(write_read(|block| block.watch.warp_sync(0, 0, u32::MAX)), race);
    // A warp that only arrives has met the others too.
    assert_eq!(
        write_read(|block| {
            let instruction = block.number("bar.sync 1");
            block.watch.barrier_arrive(0, instruction, 1, u32::MAX, false);
            block.watch.barrier_release(1, 0b10);
        }),
        CLEAN
    );
    // Everything up to a barrier is ordered, nothing after it.
    let late = found(|block| {
        block.barrier(0b111);
        block.one(STORE, 1, 4);
        block.one(LOAD, 40, 4);
        block.barrier(0b111);
        block.one(LOAD, 40, 4);
    });
    assert_eq!(late, race);
}

#[test]
fn lanes_of_a_warp_meet_at_its_own_barrier() {
    let within = |between: fn(&mut Block<'_>)| {
        found(|block| {
            block.one(STORE, 33, 8);
            between(block);
            block.one(STORE, 34, 8);
        })
    };
    let race = ["Race s + 8 bytes: 0/33 writes st.shared.u32; 0/34 writes st.shared.u32; x1"];
    assert_eq!(within(|_| {}), race);
    assert_eq!(within(|block| block.watch.warp_sync(1, 0, 0b110)), CLEAN);
    assert_eq!(within(|block| block.watch.warp_sync(1, 0, 0b010)), race);
    assert_eq!(within(|block| block.watch.warp_sync(0, 0, u32::MAX)), race);
    assert_eq!(within(|block| block.barrier(0b111)), CLEAN);
}

#[test]
fn a_write_races_with_either_of_two_readers() {
    let readers = |first: u32, second: u32, writer: u32| {
        found(|block| {
            block.one(STORE, first, 12);
            block.barrier(0b111);
            block.one(LOAD, first, 12);
            block.one(LOAD, second, 12);
            block.one(STORE, writer, 12);
        })
    };
    let race = |reader: u32, writer: u32| {
        vec![format!("Race s + 12 bytes: 0/{reader} reads ld.shared.u32; 0/{writer} writes st.shared.u32; x1")]
    };
    assert_eq!(readers(1, 2, 1), race(2, 1));
    assert_eq!(readers(1, 2, 2), race(1, 2));
    assert_eq!(readers(40, 70, 1), race(40, 1));
    assert_eq!(readers(5, 5, 5), CLEAN);
}

/// Loads of a whole warp, in which most readers of one place are not noted.
#[test]
fn loads_by_a_whole_warp() {
    let races = |load: &Request, thread: u32, address: u64| {
        found(|block| {
            block.access(&request("st.shared.v2"));
            block.access(&request(STORE).warp(1).at(|lane| 256 + 4 * lane));
            block.barrier(0b111);
            block.access(load);
            block.one(STORE, thread, address);
        })
    };
    let race = |reader: u32, thread: u32, place: u64| {
        vec![format!("Race s + {place} bytes: 0/{reader} reads ld.shared.u32; 0/{thread} writes st.shared.u32; x1")]
    };
    for lane in 0..32u32 {
        let place = 4 * u64::from(lane);
        assert_eq!(races(&request(LOAD), 40, place), race(lane, 40, place));
    }
    assert_eq!(races(&request(LOAD), 40, 128), CLEAN, "nobody reads past the last lane");
    // All lanes read one place: two of them are known.
    let all = request(LOAD).at(|_| 16);
    assert_eq!(races(&all, 40, 16), race(0, 40, 16));
    assert_eq!(races(&all, 0, 16), race(1, 0, 16));
    // Two lanes read one place.
    for (first, second) in [(5u64, 6u64), (8, 16), (2, 4), (3, 11), (17, 25)] {
        let pair = request(LOAD).at(|lane| if lane == first { 4 * second } else { 4 * lane });
        assert_eq!(races(&pair, first as u32, 4 * second), race(second as u32, first as u32, 4 * second));
        assert_eq!(races(&pair, second as u32, 4 * second), race(first as u32, second as u32, 4 * second));
    }
    // Lanes that take no part read nothing, and hide no other.
    let few = request(LOAD).lanes(1 << 2 | 1 << 20).at(|_| 16);
    assert_eq!(races(&few, 40, 16), race(2, 40, 16));
    assert_eq!(races(&few, 2, 16), race(20, 2, 16));
}

#[test]
fn a_whole_warp_reads_what_was_just_written() {
    let report = found(|block| {
        block.access(&request(STORE));
        block.barrier(0b111);
        block.one(STORE, 40, 16);
        block.access(&request(LOAD).at(|_| 16));
        block.access(&request(LOAD).at(|lane| 16 + lane % 2 * 4));
    });
    assert_eq!(report, ["Race s + 16 bytes: 0/40 writes st.shared.u32; 0/0 reads ld.shared.u32; x48"]);
}

#[test]
fn wide_accesses_touch_every_unit() {
    let report = found(|block| {
        block.access(&request("st.shared.v2").lanes(0b11));
        block.access(&request("ld.shared.v2").warp(1).lanes(0b11));
        block.one(LOAD, 70, 12);
        block.one(LOAD, 70, 16);
    });
    assert_eq!(
        report,
        [
            "Race s + 12 bytes: 0/1 writes st.shared.v2.u32; 0/70 reads ld.shared.u32; x1",
            "Race s + 0 bytes: 0/0 writes st.shared.v2.u32; 0/32 reads ld.shared.v2.u32; x4",
        ],
        "and the place past the second lane's counts as raced, not as unwritten"
    );
}

#[test]
fn what_nobody_wrote_must_not_be_read() {
    let report = found(|block| {
        block.access(&request("st.shared.v2").lanes(0b10));
        block.barrier(0b111);
        block.access(&request(LOAD).lanes(0b1_1110));
        block.access(&request("ld.shared.v2").lanes(0b10).at(|_| 504));
        block.one(ATOM, 3, 600);
        block.one(ATOM, 3, 600);
    });
    assert_eq!(
        report,
        [
            "UninitialisedShared s + 4 bytes: 0/1 reads ld.shared.u32; x2",
            "UninitialisedShared s + 504 bytes: 0/1 reads ld.shared.v2.u32; x2",
            "UninitialisedShared t + 88 bytes: 0/3 updates atomically atom.shared.add.u32; x1",
        ]
    );
    // Units far apart do not stand for one another.
    for address in [0u64, 4, 252, 256, 260, 508, 512, 1020] {
        let report = found(|block| {
            block.one(STORE, 0, address);
            for other in (0..1024).step_by(4) {
                block.one(LOAD, 0, other);
            }
        });
        let count: u64 = report.iter().map(|line| line.rsplit('x').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(count, 255, "{address}: {report:?}");
    }
}

#[test]
fn strong_accesses_and_atomics_may_meet() {
    let meet = |first: &'static str, second: &'static str| {
        found(|block| {
            block.one(STORE, 1, 0);
            block.barrier(0b111);
            block.one(first, 1, 0);
            block.one(second, 40, 0);
        })
    };
    assert_eq!(meet(ATOM, ATOM), CLEAN);
    assert_eq!(meet("st.volatile.shared", "ld.volatile.shared"), CLEAN);
    assert_eq!(meet("st.volatile.shared", ATOM), CLEAN);
    assert_eq!(meet(ATOM, LOAD).len(), 1);
    assert_eq!(meet(STORE, "ld.volatile.shared").len(), 1);
    assert_eq!(
        meet("ld.volatile.shared", STORE),
        ["Race s + 0 bytes: 0/1 reads ld.volatile.shared.u32; 0/40 writes st.shared.u32; x1"]
    );
    assert_eq!(
        meet(LOAD, ATOM),
        ["Race s + 0 bytes: 0/1 reads ld.shared.u32; 0/40 updates atomically atom.shared.add.u32; x1"]
    );
}

#[test]
fn the_same_value_from_one_store_does_no_harm() {
    let stores = |first: &Request, second: &Request| {
        found(|block| {
            block.access(first);
            block.access(second);
        })
    };
    let store = request(STORE).at(|_| 32).lanes(0b1100);
    let same = store.clone().values(|_| 7);
    let other = store.clone().values(|lane| lane);
    let nothing = store.clone().lanes(1 << 2).at(|_| 36);
    let race = ["Race s + 32 bytes: 0/2 writes st.shared.u32; 0/3 writes st.shared.u32; x1"];
    assert_eq!(stores(&same, &nothing), CLEAN);
    assert_eq!(stores(&other, &nothing), race);
    assert_eq!(stores(&store, &nothing), race);
    // Another warp's lane does, even with the same value and number.
    assert_eq!(stores(&same.clone().lanes(0b100), &same.clone().warp(1).lanes(0b1000)).len(), 1);
    // And so does a lane of another request.
    assert_eq!(stores(&same.clone().lanes(0b100), &same.clone().lanes(0b1000)), race);
}

#[test]
fn shared_arrays_end() {
    let report = |start: &'static str, addresses: [u64; 2]| {
        found(|block| {
            block.access(&request(STORE).lanes(u32::MAX).at(|lane| lane * 16));
            block.access(&request(STORE).lanes(u32::MAX).at(|lane| 512 + lane * 16));
            block.access(&request(STORE).lanes(0b11).at(|lane| 504 + lane * 4));
            block.barrier(0b111);
            block.access(&request(start).warp(1).lanes(0b101).at(|lane| addresses[usize::from(lane > 1)]));
        })
    };
    assert_eq!(report("st.shared.f32", [0, 508]), CLEAN);
    let wrong = |place: &str, thread: u32, does: &str| vec![format!("WrongArray {place} bytes: 0/{thread} {does}; x1")];
    assert_eq!(report("st.shared.f32", [0, 512]), wrong("t + 0", 34, "writes st.shared.f32"));
    assert_eq!(report("st.shared.f32", [1008, 16]), wrong("t + 496", 32, "writes st.shared.f32"));
    assert_eq!(report("ld.shared.f32", [512, 1008]), CLEAN);
    assert_eq!(report("ld.shared.f32", [508, 512]), wrong("s + 508", 32, "reads ld.shared.f32"));
}

#[test]
fn copies_are_waited_for() {
    let read_after = |prepare: fn(&mut Block<'_>)| {
        found(|block| {
            block.copy(1, 0b110, |lane| 8 * lane);
            prepare(block);
            block.one(LOAD, 33, 12);
        })
    };
    let flying = ["CopyNotWaited s + 12 bytes: 0/33 copies to it asynchronously cp.async.ca.shared.global; \
                   0/33 reads ld.shared.u32; x1"];
    assert_eq!(read_after(|_| {}), flying);
    assert_eq!(read_after(|block| block.wait(1, 0b110, None)), CLEAN);
    assert_eq!(read_after(|block| block.wait(1, 0b100, None)), flying);
    assert_eq!(read_after(|block| block.wait(0, 0b110, None)), flying);
    // Only closed groups are waited for.
    assert_eq!(read_after(|block| block.wait(1, 0b110, Some(0))), flying);
    assert_eq!(
        read_after(|block| {
            block.commit(1, 0b110);
            block.wait(1, 0b110, Some(0));
        }),
        CLEAN
    );
    assert_eq!(
        read_after(|block| {
            block.commit(1, 0b100);
            block.wait(1, 0b110, Some(0));
        }),
        flying
    );
    assert_eq!(
        read_after(|block| {
            block.commit(1, 0b110);
            block.wait(1, 0b110, Some(1));
        }),
        flying
    );
    assert_eq!(
        read_after(|block| {
            block.commit(1, 0b110);
            block.commit(1, 0b110);
            block.wait(1, 0b110, Some(1));
        }),
        CLEAN
    );
}

#[test]
fn other_threads_need_a_barrier_after_the_wait() {
    let read_by_another = |barrier: bool| {
        found(|block| {
            block.copy(0, 0b1, |_| 0);
            block.barrier(0b111);
            block.wait(0, 0b1, None);
            if barrier {
                block.barrier(0b111);
            }
            block.one(LOAD, 40, 4);
            block.one(LOAD, 40, 8);
        })
    };
    let unwritten = "UninitialisedShared s + 8 bytes: 0/40 reads ld.shared.u32; x1";
    assert_eq!(read_by_another(true), [unwritten]);
    // The copy lands when it is waited for, not when it starts.
    assert_eq!(
        read_by_another(false),
        ["Race s + 4 bytes: 0/0 copies to it asynchronously cp.async.ca.shared.global; \
          0/40 reads ld.shared.u32; x1"]
    );
}

#[test]
fn copies_are_not_overwritten() {
    let report = found(|block| {
        block.copy(0, 0b10, |_| 64);
        block.one(STORE, 1, 60);
        block.one(STORE, 1, 72);
        block.one(STORE, 1, 68);
        block.one(ATOM, 1, 60);
    });
    assert_eq!(
        report,
        ["CopyOverwritten s + 68 bytes: 0/1 copies to it asynchronously cp.async.ca.shared.global; \
          0/1 writes st.shared.u32; x1"]
    );
    // A second copy to the same place; waiting for the first does not make the second land.
    let report = found(|block| {
        block.copy(0, 0b1, |_| 64);
        block.commit(0, 0b1);
        block.copy(1, 0b1, |_| 64);
        block.wait(0, 0b1, None);
        block.one(LOAD, 32, 64);
    });
    let copies = "copies to it asynchronously cp.async.ca.shared.global;";
    assert_eq!(
        report,
        [
            format!("Race s + 64 bytes: 0/0 {copies} 0/32 reads ld.shared.u32; x1"),
            format!("Race s + 64 bytes: 0/0 {copies} 0/32 {copies} x4"),
            format!("CopyNotWaited s + 64 bytes: 0/32 {copies} 0/32 reads ld.shared.u32; x1"),
            format!("CopyOverwritten s + 64 bytes: 0/0 {copies} 0/32 {copies} x2"),
        ]
    );
}

#[test]
fn a_block_starts_without_the_copies_of_the_one_before() {
    let launch = launch();
    launch.block(0, |block| {
        block.copy(0, 1, |_| 0);
        block.commit(0, 1);
        block.commit(0, 1);
    });
    launch.block(1, |block| {
        block.one(STORE, 0, 0);
        block.copy(0, 1, |_| 8);
        block.commit(0, 1);
        // Closing groups is counted from the block's start.
        block.wait(0, 1, Some(1));
        block.one(STORE, 0, 8);
    });
    let report = launch.report();
    assert_eq!(report.len(), 1, "{report:?}");
    assert!(report[0].starts_with("CopyOverwritten s + 8 bytes: 1/0 copies"), "{report:?}");
}

#[test]
fn the_source_of_a_copy_is_read() {
    // Lanes 0 to 3 read 4, 8, 12 and 16 bytes, lane 4 nothing.
    let read = |write: u64| {
        found(|block| {
            let a = block.launch.a.0;
            let source: [u32; 32] = std::array::from_fn(|lane| [3, 8, 12, 16, 0][lane.min(4)]);
            let copy = CopyAccess {
                warp: 1,
                instruction: block.number("cp.async.cg"),
                lanes: 0b11111,
                bytes: 16,
                bypass: true,
                source_bytes: &source,
                from: &std::array::from_fn(|lane| a + 16 * lane as u64),
                to: &std::array::from_fn(|lane| 16 * lane as u64),
            };
            block.watch.copy(&copy);
            block.one(GLOBAL_STORE, 0, a + write);
        })
    };
    for lane in 0..5u64 {
        for word in 0..4 {
            let raced = word < [1, 2, 3, 4, 0][lane as usize];
            let expected = format!(
                "Race A[{}]: 0/{} reads cp.async.cg.shared.global; 0/0 writes st.global.u32; x1",
                4 * lane + word,
                32 + lane
            );
            let report = read(16 * lane + 4 * word);
            if raced {
                // A copy is named by what it does to shared memory, but here it reads.
                assert_eq!(report, [expected]);
            } else {
                assert_eq!(report, CLEAN, "lane {lane}, word {word}");
            }
        }
    }
}

#[test]
fn all_threads_meet_at_one_barrier() {
    let meet = |second: &'static str, ended: bool| {
        found(|block| {
            if ended {
                let exit = block.number("ret");
                block.watch.exit(1, exit, 0b1000);
                block.watch.exit(2, exit, 0b1);
            }
            let (first, second) = (block.number("bar.sync 0"), block.number(second));
            block.watch.barrier_arrive(1, first, 0, 0b100, true);
            block.watch.barrier_arrive(2, second, 0, 0b10, true);
            block.watch.barrier_release(0, 0b110);
            // What has been said of one opening is not said of the next.
            block.watch.barrier_arrive(0, second, 0, 1, true);
            block.watch.barrier_release(0, 0b1);
        })
    };
    assert_eq!(meet("bar.sync 0", false), CLEAN);
    let different = "DifferentBarriers barrier 0: 0/34 waits at the barrier bar.sync; \
                     0/65 waits at the barrier barrier.sync; x1";
    assert_eq!(meet("barrier.sync 0", false), [different]);
    assert_eq!(meet("bar.sync 1, 64", false), CLEAN, "barriers for a number of threads may differ");
    let ends = meet("bar.sync 0", true);
    assert_eq!(ends, ["ExitBeforeBarrier barrier 0: 0/0 waits at the barrier bar.sync; 0/35 has ended ret; x2"]);
    // Whoever only arrives may do so anywhere.
    let arrives = found(|block| {
        let (first, second) = (block.number("bar.sync 0"), block.number("barrier.sync 0"));
        block.watch.barrier_arrive(0, first, 0, 1, true);
        block.watch.barrier_arrive(1, second, 0, 1, false);
        block.watch.barrier_release(0, 0b1);
    });
    assert_eq!(arrives, CLEAN);
}

#[test]
fn a_block_starts_without_the_exits_and_arrivals_of_the_one_before() {
    let launch = launch();
    launch.block(0, |block| {
        let (exit, barrier) = (block.number("ret"), block.number("barrier.sync 0"));
        block.watch.exit(0, exit, 1);
        block.watch.barrier_arrive(0, barrier, 0, 1, true);
    });
    launch.block(1, |block| block.barrier(0b111));
    assert_eq!(launch.report(), CLEAN);
}

#[test]
fn a_block_starts_with_a_shadow_of_its_own() {
    let launch = launch();
    launch.block(0, |block| {
        block.one(STORE, 1, 0);
        block.barrier(0b111);
    });
    launch.block(1, |block| {
        block.one(STORE, 40, 0);
        block.one(LOAD, 40, 0);
        block.one(LOAD, 40, 4);
    });
    assert_eq!(launch.report(), ["UninitialisedShared s + 4 bytes: 1/40 reads ld.shared.u32; x1"]);
    let launch = self::launch();
    launch.block(0, |block| block.one(STORE, 1, 0));
    launch.block(1, |block| block.one(LOAD, 1, 0));
    assert_eq!(launch.report().len(), 1, "what one block wrote is not written in the next");
    launch_is_over(&launch);
}

/// A report hands out what it says.
fn launch_is_over(launch: &Launch) {
    assert_eq!(launch.report(), CLEAN);
}

#[test]
fn the_clock_may_run_out() {
    let report = found(|block| {
        let (a, barrier) = (block.launch.a.0, 0b111);
        block.one(STORE, 1, 0);
        block.one(GLOBAL_STORE, 1, a);
        for _ in 0..(1 << 14) + 5 {
            block.barrier(barrier);
        }
        block.one(LOAD, 40, 0);
        block.one(GLOBAL_LOAD, 40, a);
        block.one(STORE, 1, 4);
        block.one(LOAD, 40, 4);
    });
    assert_eq!(report, ["Race s + 4 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.u32; x1"]);
    // The moment at which it runs out is a barrier too, and other blocks are not forgotten.
    let launch = launch();
    launch.block(0, |block| {
        let a = block.launch.a.0;
        for _ in 0..(1 << 14) - 3 {
            block.barrier(0b111);
        }
        for _ in 0..4 {
            block.one(STORE, 1, 0);
            block.one(GLOBAL_STORE, 1, a);
            block.one(GLOBAL_LOAD, 2, a + 4);
            block.barrier(0b111);
            block.one(LOAD, 40, 0);
            block.one(GLOBAL_LOAD, 40, a);
            block.barrier(0b111);
        }
    });
    launch.block(1, |block| {
        let a = block.launch.a.0;
        block.one(GLOBAL_LOAD, 3, a);
        block.one(GLOBAL_STORE, 3, a + 4);
    });
    assert_eq!(
        launch.report(),
        ["Race A[1]: 1/3 writes st.global.u32; 0/2 reads ld.global.u32; x2"],
        "and A[0], which is the same pair of instructions"
    );
}

#[test]
fn global_memory_within_a_block() {
    let report = |first: &'static str, second: &'static str, apart: u64| {
        found(|block| {
            let a = block.launch.a.0;
            block.one(first, 1, a + 60);
            block.one(second, 40, a + 60 + apart);
        })
    };
    assert_eq!(
        report(GLOBAL_STORE, GLOBAL_LOAD, 0),
        ["Race A[15]: 0/1 writes st.global.u32; 0/40 reads ld.global.u32; x1"]
    );
    assert_eq!(report(GLOBAL_STORE, GLOBAL_LOAD, 4), CLEAN);
    assert_eq!(report(GLOBAL_LOAD, GLOBAL_STORE, 0).len(), 1);
    assert_eq!(report(GLOBAL_LOAD, GLOBAL_LOAD, 0), CLEAN);
    assert_eq!(report(GLOBAL_ATOM, GLOBAL_ATOM, 0), CLEAN);
    assert_eq!(report(GLOBAL_ATOM, GLOBAL_LOAD, 0).len(), 1);
    // Across the border of a page, and back.
    let wide = found(|block| {
        let a = block.launch.a.0;
        block.access(&request("st.global.u32").lanes(0b1111).at(|lane| a + 56 + 4 * lane));
        block.access(&request("ld.global.v2").warp(1).lanes(0b101).at(|lane| a + 60 - 2 * lane));
    });
    assert_eq!(wide, ["Race A[14]: 0/0 writes st.global.u32; 0/34 reads ld.global.v2.u32; x4"]);
}

#[test]
fn the_same_value_in_global_memory_does_no_harm() {
    let store = |values: fn(u64) -> u64| {
        found(|block| {
            let a = block.launch.a.0;
            block.access(&request(GLOBAL_STORE).lanes(0b1100).at(|_| a).values(values));
        })
    };
    assert_eq!(store(|_| 7), CLEAN);
    assert_eq!(store(|lane| lane), ["Race A[0]: 0/2 writes st.global.u32; 0/3 writes st.global.u32; x1"]);
}

#[test]
fn blocks_are_never_ordered() {
    let between = |first: fn(&mut Block<'_>, u64), second: fn(&mut Block<'_>, u64)| {
        let run = |order: [u64; 2]| {
            let launch = launch();
            for number in order {
                launch.block(number, |block| {
                    let a = block.launch.a.0;
                    if number == 2 { first(block, a) } else { second(block, a) }
                });
            }
            launch.report()
        };
        let (forth, back) = (run([2, 5]), run([5, 2]));
        assert_eq!(forth, back, "the report depends on the order of the blocks");
        forth
    };
    assert_eq!(
        between(|block, a| block.one(GLOBAL_STORE, 1, a), |block, a| block.one(GLOBAL_STORE, 40, a)),
        ["Race A[0]: 2/1 writes st.global.u32; 5/40 writes st.global.u32; x1"]
    );
    assert_eq!(
        between(|block, a| block.one(GLOBAL_LOAD, 1, a + 68), |block, a| block.one(GLOBAL_STORE, 40, a + 68)),
        ["Race A[17]: 5/40 writes st.global.u32; 2/1 reads ld.global.u32; x1"]
    );
    assert_eq!(between(|block, a| block.one(GLOBAL_LOAD, 1, a), |block, a| block.one(GLOBAL_LOAD, 1, a)), CLEAN);
    assert_eq!(between(|block, a| block.one(GLOBAL_STORE, 1, a), |block, a| block.one(GLOBAL_LOAD, 1, a + 4)), CLEAN);
    assert_eq!(between(|block, a| block.one(GLOBAL_ATOM, 1, a), |block, a| block.one(GLOBAL_ATOM, 1, a)), CLEAN);
    assert_eq!(
        between(|block, a| block.one(GLOBAL_ATOM, 1, a), |block, a| block.one(GLOBAL_STORE, 1, a)),
        ["Race A[0]: 2/1 updates atomically atom.global.add.u32; 5/1 writes st.global.u32; x1"]
    );
    // A place is atomic only if all writes to it were, whichever came first.
    for order in [[GLOBAL_ATOM, GLOBAL_STORE], [GLOBAL_STORE, GLOBAL_ATOM]] {
        let launch = launch();
        for number in 0..2 {
            launch.block(number, |block| order.iter().for_each(|start| block.one(start, 1, block.launch.a.0)));
        }
        assert_eq!(launch.report().len(), 1, "{order:?}");
    }
    assert_eq!(
        between(|block, a| block.one(GLOBAL_ATOM, 1, a), |block, a| block.one("ld.volatile.global", 1, a)),
        CLEAN
    );
    assert_eq!(between(|block, a| block.one(GLOBAL_ATOM, 1, a), |block, a| block.one(GLOBAL_LOAD, 1, a)).len(), 1);
}

#[test]
fn write_fence_atomic_and_atomic_read_are_ordered() {
    let pattern = |fence: bool, atomic: bool, early: bool| {
        let launch = launch();
        launch.block(0, |block| {
            let a = block.launch.a.0;
            block.one(GLOBAL_STORE, 1, a);
            if fence {
                block.watch.fence(0, 0, 0b10);
            }
            block.one(GLOBAL_ATOM, 1, a + 128);
        });
        launch.block(1, |block| {
            let a = block.launch.a.0;
            if early {
                block.one(GLOBAL_LOAD, 1, a);
            }
            if atomic {
                block.one(GLOBAL_ATOM, 1, a + 128);
            }
            block.one(GLOBAL_LOAD, 1, a);
        });
        launch.report().len()
    };
    assert_eq!(pattern(true, true, false), 0);
    assert_eq!(pattern(false, true, false), 1);
    assert_eq!(pattern(true, false, false), 1);
    assert_eq!(pattern(true, true, true), 1);
    // What one block did is not credited to the next.
    let launch = launch();
    launch.block(0, |block| {
        block.watch.fence(0, 0, 1);
        block.one(GLOBAL_ATOM, 1, block.launch.a.0 + 128);
    });
    launch.block(1, |block| block.one(GLOBAL_STORE, 1, block.launch.a.0));
    launch.block(2, |block| block.one(GLOBAL_LOAD, 1, block.launch.a.0));
    assert_eq!(launch.report().len(), 1);
}

#[test]
fn outputs_are_written_once_and_not_read() {
    let report = |run: fn(&mut Block<'_>, u64)| {
        let launch = launch_of(BODY, true);
        launch.block(0, |block| run(block, block.launch.c.0));
        launch.report()
    };
    let all = |block: &mut Block<'_>, c: u64| {
        block.access(&request(GLOBAL_STORE).lanes(0x3ff).at(move |lane| c + 4 * lane));
    };
    assert_eq!(report(all), CLEAN);
    assert_eq!(report(|_, _| {}), ["NeverWritten C[0], C[1], C[2], ... (10 of 10 elements): x10"]);
    assert_eq!(
        report(|block, c| block.access(&request(GLOBAL_STORE).lanes(0x3f9).at(move |lane| c + 4 * lane))),
        ["NeverWritten C[1], C[2] (2 of 10 elements): x2"]
    );
    assert_eq!(
        report(|block, c| {
            block.access(&request(GLOBAL_STORE).lanes(0x1ff).at(move |lane| c + 4 * lane));
            for _ in 0..5 {
                block.one(GLOBAL_STORE, 3, c + 12);
            }
        }),
        ["WrittenTwice C[3] (1 of 10 elements): x1", "NeverWritten C[9] (1 of 10 elements): x1",]
    );
    // A sum is written by atomic operations as often as it takes.
    assert_eq!(
        report(|block, c| {
            block.access(&request(GLOBAL_STORE).lanes(0x3ff).at(move |lane| c + 4 * lane));
            block.one(GLOBAL_ATOM, 9, c + 36);
        }),
        CLEAN
    );
    assert_eq!(
        report(|block, c| {
            block.one(GLOBAL_LOAD, 1, c + 4);
            block.one(GLOBAL_LOAD, 1, c - 4);
            block.one(GLOBAL_LOAD, 1, c + 40);
            block.access(&request(GLOBAL_STORE).lanes(0x3fd).at(move |lane| c + 4 * lane));
            block.one(GLOBAL_STORE, 1, c + 4);
            block.one(GLOBAL_LOAD, 1, c + 4);
        }),
        ["UninitialisedGlobal C[1]: 0/1 reads ld.global.u32; x1"]
    );
    // Two blocks that write one element have written it twice.
    let launch = launch_of(BODY, true);
    for number in 0..2 {
        launch.block(number, |block| {
            let c = block.launch.c.0;
            block.access(&request(GLOBAL_STORE).lanes(0x3ff).at(move |lane| c + 4 * lane));
        });
    }
    assert_eq!(launch.report().last().unwrap(), "WrittenTwice C[0], C[1], C[2], ... (10 of 10 elements): x10");
    assert_eq!(launch_of(BODY, false).report(), CLEAN, "without an output there is nothing to cover");
}

#[test]
fn narrow_accesses_have_shadows_of_bytes() {
    let body = format!("{} st.shared.u8 [%r5], %r1; ret;", BODY.trim_end().trim_end_matches("ret;"));
    let launch = launch_of(&body, true);
    launch.block(0, |block| {
        let byte = |thread: u32, address: u64| Request {
            bytes: 1,
            ..request("st.shared.u8").warp(thread / 32).lanes(1 << (thread % 32)).at(move |_| address)
        };
        block.access(&byte(1, 5));
        block.access(&byte(40, 6));
        block.access(&byte(41, 5));
        let (a, c) = (block.launch.a.0, block.launch.c.0);
        block.access(&Request { bytes: 1, ..request(GLOBAL_STORE).lanes(0b11).at(move |lane| a + 62 + lane) });
        block.access(&Request { bytes: 1, ..request(GLOBAL_LOAD).warp(1).lanes(0b11).at(move |lane| a + 63 + lane) });
        block.access(&request(GLOBAL_STORE).lanes(0x3ff).at(move |lane| c + 4 * lane));
    });
    assert_eq!(
        launch.report(),
        [
            "Race s + 5 bytes: 0/1 writes st.shared.u8; 0/41 writes st.shared.u8; x1",
            "Race A[15] + 3 bytes: 0/1 writes st.global.u32; 0/32 reads ld.global.u32; x1",
        ]
    );
}

#[test]
fn registers_are_set_before_they_are_read() {
    let body = "
        .reg .b32 %r<9>; .reg .pred %p<3>;
        ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0;
        @%p1 bra SKIP; mov.u32 %r2, 1; mov.u32 %r3, 1; SKIP:
        add.u32 %r4, %r2, %r1; @%p1 add.u32 %r5, %r3, %r1; ret;";
    let launch = launch_of(body, false);
    let run = |set: u32, read: u32, guarded: u32, warp: u32| {
        launch.block(3, |block| {
            let [first, add, guard, exit] =
                ["mov.u32 %r2", "add.u32 %r4", "@%p1 add.u32", "ret"].map(|start| block.number(start));
            block.watch.enter(warp, 0, first, add, set);
            block.watch.enter(warp, 0, add, exit, read);
            block.watch.guarded(warp, guard, guarded);
        });
        launch.report()
    };
    assert_eq!(run(0b111, 0b111, 0b110, 0), CLEAN);
    assert_eq!(
        run(0b001, 0b111, 0b110, 2),
        ["UnsetRegister register %r2: 3/65 reads add.u32; x2", "UnsetRegister register %r3: 3/65 reads @%p1; x2",]
    );
    assert_eq!(run(0b011, 0b111, 0b010, 1), ["UnsetRegister register %r2: 3/34 reads add.u32; x1"]);
}

#[test]
fn one_line_for_what_one_line_did() {
    let body = BODY
        .replace("ld.shared.u32 %r2", ".loc 1 7 1\nld.shared.u32 %r2")
        .replace("st.shared.f32", ".loc 1 9 1\nst.shared.f32");
    let body = body.replace("cp.async.wait_all", ".loc 1 7 1\nld.shared.s32 %r2, [%r5]; cp.async.wait_all");
    let file = format!("{body}\n");
    let launch = launch_of(&file, false);
    launch.block(0, |block| {
        block.one(STORE, 1, 0);
        block.one(LOAD, 40, 0);
        block.one("ld.shared.s32", 41, 0);
        block.one(STORE, 1, 512);
        block.one("ld.shared.v2", 40, 512);
    });
    assert_eq!(
        launch.report(),
        [
            "Race s + 0 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.u32; x2",
            "Race t + 0 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.v2.u32; x1",
        ]
    );
}

#[test]
fn elements_have_indices_where_extents_are_known() {
    let kernel = kernel(BODY);
    let (memory, ..) = memory();
    let extents = Extents { element_bytes: 4, extents: vec![4, 8] };
    let mut hazards = Hazards::new().extents("s", extents);
    begin(&mut hazards, &kernel, &memory);
    let launch = Launch { kernel, hazards, _memory: memory, a: DevicePointer(0), c: DevicePointer(0) };
    launch.block(0, |block| {
        block.one(LOAD, 1, 4 * (8 * 3 + 5));
        block.one("ld.shared.v2", 1, 4 * 8 * 4);
        block.one(GLOBAL_STORE, 1, 0x1000);
        block.one(GLOBAL_STORE, 2, 0x1000);
    });
    assert_eq!(
        launch.report(),
        [
            "Race address 0x1000: 0/1 writes st.global.u32; 0/2 writes st.global.u32; x1",
            "UninitialisedShared s[3][5]: 0/1 reads ld.shared.u32; x1",
            "UninitialisedShared s[4][0]: 0/1 reads ld.shared.v2.u32; x2",
        ]
    );
}
