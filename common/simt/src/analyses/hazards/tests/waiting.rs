//! Rules of what must be waited for: asynchronous copies, barriers, registers.

use super::driver::{ATOM, Block, CLEAN, GLOBAL_STORE, LOAD, STORE, found, launch, launch_of};
use crate::observe::CopyAccess;
use crate::observe::Observer;

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
fn copies_land_once_and_one_by_one() {
    // Two groups, of which the first lands first.
    let two = |last: Option<u32>| {
        found(|block| {
            block.copy(0, 0b1, |_| 0);
            block.commit(0, 0b1);
            block.copy(0, 0b1, |_| 8);
            block.commit(0, 0b1);
            block.wait(0, 0b1, Some(1));
            block.one(LOAD, 0, 0);
            block.wait(0, 0b1, last);
            block.one(LOAD, 0, 8);
        })
        .len()
    };
    assert_eq!((two(Some(0)), two(None), two(Some(1))), (0, 0, 1));
    // Lane by lane.
    let report = found(|block| {
        block.copy(1, 0b110, |lane| 8 * lane);
        block.wait(1, 0b100, None);
        block.wait(1, 0b010, None);
        block.one(LOAD, 33, 8);
        block.one(LOAD, 34, 16);
    });
    assert_eq!(report, CLEAN);
    // What has landed does not land again.
    let report = found(|block| {
        block.copy(1, 0b110, |lane| 8 * lane);
        block.wait(1, 0b110, None);
        block.barrier(0b111);
        block.one(LOAD, 3, 8);
        block.wait(1, 0b110, None);
    });
    assert_eq!(report, CLEAN);
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
fn registers_are_set_before_they_are_read() {
    let body = "
        .reg .b32 %r<9>; .reg .pred %p<3>;
        ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0;
        @%p1 bra SKIP; mov.u32 %r2, 1; mov.u32 %r3, 1; SKIP:
        add.u32 %r4, %r2, %r1; @%p1 add.u32 %r5, %r3, %r1; ret;";
    let launch = launch_of(body, false);
    // Lanes that set %r2 and %r3, that read %r2, and whose guard lets them read %r3.
    let run = |[set_2, set_3]: [u32; 2], read: u32, guarded: u32, warp: u32| {
        launch.block(3, |block| {
            let [first, second, add, guard, exit] =
                ["mov.u32 %r2", "mov.u32 %r3", "add.u32 %r4", "@%p1 add.u32", "ret"].map(|start| block.number(start));
            // Nothing is set before its instruction.
            block.watch.enter(warp, 0, 0, first, u32::MAX);
            block.watch.enter(warp, 0, first, second, set_2);
            block.watch.enter(warp, 0, second, add, set_3);
            block.watch.enter(warp, 0, add, exit, read);
            block.watch.guarded(warp, guard, guarded);
        });
        launch.report()
    };
    assert_eq!(run([0b111, 0b111], 0b111, 0b110, 0), CLEAN);
    assert_eq!(
        run([0b001, 0b100], 0b111, 0b110, 2),
        ["UnsetRegister register %r2: 3/65 reads add.u32; x2", "UnsetRegister register %r3: 3/65 reads @%p1; x1",]
    );
    assert_eq!(run([0b011, 0b111], 0b111, 0b010, 1), ["UnsetRegister register %r2: 3/34 reads add.u32; x1"]);
    assert_eq!(run([0b111, 0], 0b111, 0b010, 0), ["UnsetRegister register %r3: 3/1 reads @%p1; x1"]);
}
