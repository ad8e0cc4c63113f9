//! Rules of global memory, between blocks, of outputs; and how findings are named and ordered.

use super::driver::{
    Block, CLEAN, GLOBAL_ATOM, GLOBAL_LOAD, GLOBAL_STORE, LOAD, Launch, STORE, found, launch, launch_of,
};
use crate::DevicePointer;
use crate::analyses::hazards::{Extents, Hazards};
use crate::analyses::testing::{BODY, Request, begin, kernel, memory, request};
use crate::observe::Observer;

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
    let pattern = |fence: bool, atomic: Option<&'static str>, early: bool| {
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
            if let Some(atomic) = atomic {
                block.one(atomic, 1, a + 128);
            }
            block.one(GLOBAL_LOAD, 1, a);
        });
        launch.report().len()
    };
    assert_eq!(pattern(true, Some(GLOBAL_ATOM), false), 0);
    assert_eq!(pattern(true, Some("ld.volatile.global"), false), 0);
    assert_eq!(pattern(false, Some(GLOBAL_ATOM), false), 1);
    assert_eq!(pattern(true, None, false), 1);
    assert_eq!(pattern(true, Some(GLOBAL_ATOM), true), 1);
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

/// Hazards of one kind are in the order of the arrays.
#[test]
fn hazards_come_in_order() {
    let report = found(|block| {
        let (a, c) = (block.launch.a.0, block.launch.c.0);
        block.one("ld.global.v2", 1, c);
        block.one(GLOBAL_STORE, 40, c);
        block.one("ld.volatile.global", 1, a);
        block.one(GLOBAL_STORE, 40, a);
    });
    let places: Vec<_> = report.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(places, ["Race A[0]", "Race C[0]"]);
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
