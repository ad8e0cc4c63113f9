//! What follows from the kernel: narrow accesses, dynamic arrays, lines of the source, extents, registers.

use super::driver::{CLEAN, GLOBAL_LOAD, GLOBAL_STORE, LOAD, Launch, STORE, launch_of};
use crate::DevicePointer;
use crate::analyses::hazards::{Extents, Hazards};
use crate::analyses::testing::{BODY, Request, begin, kernel, memory, request};
use crate::observe::Observer;

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
        launch.found()
    };
    assert_eq!(run([0b111, 0b111], 0b111, 0b110, 0), CLEAN);
    assert_eq!(
        run([0b001, 0b100], 0b111, 0b110, 2),
        ["UnsetRegister register %r2: 3/65 reads add.u32; x2", "UnsetRegister register %r3: 3/65 reads @%p1; x1",]
    );
    assert_eq!(run([0b011, 0b111], 0b111, 0b010, 1), ["UnsetRegister register %r2: 3/34 reads add.u32; x1"]);
    assert_eq!(run([0b111, 0], 0b111, 0b010, 0), ["UnsetRegister register %r3: 3/1 reads @%p1; x1"]);
}
