//! Rules of shared memory and of the order of accesses in a block.

use super::driver::{ATOM, Block, CLEAN, GLOBAL_LOAD, GLOBAL_STORE, LOAD, Launch, STORE, found, launch, launch_of};
use crate::analyses::testing::{BODY, Request, request};
use crate::observe::Observer;

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
    assert_eq!(
        found(|block| {
            block.one(STORE, 40, 4);
            let instruction = block.number("bar.sync 1");
            block.watch.barrier_arrive(1, instruction, 1, u32::MAX, false);
            block.watch.barrier_release(1, 0b1);
            block.one(LOAD, 1, 4);
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
    let same = store.clone().values(|lane| if lane < 2 { 0 } else { 7 });
    let other = store.clone().values(|lane| lane);
    let nothing = store.clone().lanes(1 << 2).at(|_| 36);
    let race = ["Race s + 32 bytes: 0/2 writes st.shared.u32; 0/3 writes st.shared.u32; x1"];
    assert_eq!(stores(&same, &nothing), CLEAN);
    assert_eq!(stores(&other, &nothing), race);
    assert_eq!(stores(&store, &nothing), race);
    // Another warp's lane does, even with the same value and number.
    assert_eq!(stores(&same.clone().lanes(0b100), &same.clone().warp(1).lanes(0b1000)).len(), 1);
    // And so does what another instruction wrote, or this one at another time, and what is too wide to compare.
    let apart = same.clone().at(|lane| if lane == 2 { 36 } else { 32 });
    assert_eq!(stores(&same.clone().lanes(0b100), &Request { start: "st.volatile.shared", ..apart.clone() }).len(), 1);
    let later = found(|block| {
        block.access(&same.clone().lanes(0b100));
        block.barrier(0b110);
        block.access(&apart);
    });
    assert_eq!(later, race);
    assert_eq!(stores(&Request { bytes: 8, ..same.clone() }, &nothing), CLEAN);
    assert_eq!(stores(&Request { bytes: 16, ..same.clone() }, &nothing.clone().at(|_| 64)).len(), 1);
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

/// How long a dynamic array is, only the launch knows.
#[test]
fn dynamic_arrays_have_no_end() {
    let body = BODY.replace("st.shared.f32 [s], %f1;", "st.shared.f32 [d], %f1;");
    let launch = launch_of(&body, false);
    launch.block(0, |block| {
        block.one("st.shared.f32", 1, 1020);
        block.one("st.shared.f32", 1, 0);
    });
    assert_eq!(launch.report(), CLEAN);
}
