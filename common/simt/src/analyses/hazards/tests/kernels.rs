//! What follows from the kernel: narrow accesses, dynamic arrays, lines of the source, extents, registers.

use super::driver::{CLEAN, GLOBAL_LOAD, GLOBAL_STORE, LOAD, Launch, STORE, launch_of, line};
use crate::analyses::hazards::{Extents, Hazards};
use crate::analyses::testing::{BODY, Request, begin, kernel, memory, request};
use crate::{Arg, DevicePointer, LaunchConfig};

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

/// What is found in two blocks of 48 threads that run a kernel; `%r1` is the thread, `%p1` holds in the first 40 of them.
fn of_launch(body: &str) -> Vec<String> {
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

/// A register that was not set is followed until it decides something; here `%r2` is set where `%p1` holds.
#[test]
fn what_was_never_set_decides_nothing() {
    let set = "@!%p1 bra SKIP; mov.u32 %r2, 5; SKIP:";
    let store = "st.global.u32 [%rd3], %r3;";
    let none = |body: &str| assert_eq!(of_launch(&format!("{set} {body}")), CLEAN, "{body}");
    let found = |body: &str, where_read: &str, count: u32| {
        let expected = format!("UnsetRegister register %r2: 0/40 reads {where_read}; x{count}");
        assert_eq!(of_launch(&format!("{set} {body}")), [expected], "{body}");
    };
    // Nobody needs what is computed, or only those do who have set it.
    none("selp.b32 %r3, %r1, %r2, %p1;");
    none("add.u32 %r3, %r2, 1; mul.lo.u32 %r4, %r3, %r3; setp.eq.u32 %p2, %r4, 3;");
    none(&format!("add.u32 %r3, %r2, 1; @%p1 {store}"));
    none(&format!("selp.b32 %r3, %r2, %r1, %p1; {store}"));
    none(&format!("mov.u32 %r3, %r2; @!%p1 mov.u32 %r3, 1; {store}"));
    none(&format!("setp.eq.u32 %p2, %r2, 5; and.pred %p3, %p1, %p2; @%p3 bra END; mov.u32 %r3, 1; {store} END:"));
    none(&format!(
        "not.pred %p4, %p1; setp.eq.u32 %p2, %r2, 5; or.pred %p3, %p2, %p4; @%p3 {}",
        "st.global.u32 [%rd3], 1;"
    ));
    none(&format!("setp.eq.and.u32 %p2, %r2, 5, %p1; @%p2 bra END; mov.u32 %r3, 1; {store} END:"));
    none(&format!("shfl.sync.idx.b32 %r3, %r2, 0, 31, 0xffff; @%p1 {store}").replace("0xffff;", "0xffffffff;"));
    // Branches, addresses, what is stored; each once.
    found("setp.eq.u32 %p2, %r2, 5; @%p2 bra END; END:", "@%p2", 8);
    found("setp.eq.u32 %p2, %r2, 5; @!%p2 ret;", "@!%p2", 8);
    found(
        "and.b32 %r3, %r2, 4; cvt.u64.u32 %rd4, %r3; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r4, [%rd5];",
        "ld.global.u32",
        8,
    );
    found(&format!("add.u32 %r3, %r2, 1; {store}"), "st.global.u32", 8);
    found(&format!("add.u32 %r3, %r2, 1; {store} {store} bar.sync 0; {store}"), "st.global.u32", 8);
    found(&format!("selp.b32 %r3, %r1, %r2, %p1; {store}"), "st.global.u32", 8);
    found(&format!("setp.eq.u32 %p2, %r2, 5; selp.b32 %r3, 1, 2, %p2; {store}"), "st.global.u32", 8);
    found(&format!("setp.eq.u32 %p2, %r2, 5; mov.u32 %r3, 1; @%p2 {store}"), "@%p2", 8);
    found(&format!("setp.eq.u32 %p2, %r2, 5; mov.u32 %r3, 1; @%p2 mov.u32 %r3, 2; {store}"), "st.global.u32", 8);
    found(
        &format!("setp.eq.u32 %p2, %r2, 5; mov.u32 %r3, 1; or.pred %p3, %p2, %p1; @%p3 bra END; {store} END:"),
        "@%p3",
        8,
    );
    found("setp.eq.u32 %p2, %r2, 5; vote.sync.ballot.b32 %r3, %p2, 0xffffffff; setp.gt.u32 %p1, %r1, 40; @%p1 bra END; END:
        setp.ne.u32 %p3, %r1, 40; @%p3 ret; st.global.u32 [%rd3], %r3;", "st.global.u32", 1);
}

/// A lane that has ended, or that a block does not have, gives no value.
#[test]
fn shuffles_read_lanes_that_are_there() {
    let shuffle = |mode: &str, by: u32| format!("shfl.sync.{mode}.b32 %r3, %r1, {by}, 31, 0xffffffff;");
    let store = "st.global.u32 [%rd3], %r3;";
    let found = |body: String| of_launch(&body);
    let report = |thread: u32, count: u32| {
        vec![format!(
            "EndedLane register %r3: 0/{thread} executes it shfl.sync.down.b32; 0/{thread} reads st.global.u32; x{count}"
        )]
    };
    assert_eq!(found(format!("{} {store}", shuffle("bfly", 1))), CLEAN);
    // The second warp has 16 lanes.
    assert_eq!(found(format!("{} {store}", shuffle("down", 8))), report(40, 8));
    assert_eq!(found(format!("{} @%p1 {store}", shuffle("down", 8))), CLEAN);
    assert_eq!(found(format!("setp.ge.u32 %p2, %r1, 30; @%p2 ret; {} {store}", shuffle("down", 2))), report(28, 2));
    assert_eq!(found(format!("setp.ge.u32 %p2, %r1, 30; @%p2 ret; {}", shuffle("down", 2))), CLEAN);
}
