//! What follows from the kernel: narrow accesses, dynamic arrays, lines of the source, extents; and copies whose lanes differ.

use super::driver::{CLEAN, GLOBAL_LOAD, GLOBAL_STORE, LOAD, Launch, STORE, found, launch_of};
use crate::DevicePointer;
use crate::analyses::hazards::{Extents, Hazards};
use crate::analyses::testing::{BODY, Request, begin, kernel, memory, request};
use crate::observe::{CopyAccess, Observer};

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
        launch.found(),
        [
            "Race s + 5 bytes: 0/1 writes st.shared.u8; 0/41 writes st.shared.u8; x1",
            "Race A[15] + 3 bytes: 0/1 writes st.global.u32; 0/32 reads ld.global.u32; x1",
        ]
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
    assert_eq!(launch.found(), CLEAN);
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
        launch.found(),
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
        launch.found(),
        [
            "Race address 0x1000: 0/1 writes st.global.u32; 0/2 writes st.global.u32; x1",
            "UninitialisedShared s[3][5]: 0/1 reads ld.shared.u32; x1",
            "UninitialisedShared s[4][0]: 0/1 reads ld.shared.v2.u32; x2",
        ]
    );
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
