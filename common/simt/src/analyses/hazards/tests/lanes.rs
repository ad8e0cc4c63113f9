//! Rules in which the lanes of one request differ: whole warps that read, and stores of the same value.

use super::driver::{CLEAN, GLOBAL_STORE, LOAD, STORE, found};
use crate::analyses::testing::{Request, request};
use crate::observe::{CopyAccess, Observer};

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

/// Units far apart do not stand for one another.
#[test]
fn every_unit_is_known_by_itself() {
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
fn the_same_value_from_one_store_does_no_harm() {
    let stores = |first: &Request, second: &Request| {
        found(|block| {
            block.access(first);
            block.access(second);
        })
    };
    let store = request(STORE).at(|_| 32).lanes(0b1100);
    let same = store.clone().values(|lane| if lane < 2 { 0 } else { 7 });
    let other = store.clone().values(|lane| lane as u32);
    let nothing = store.clone().lanes(1 << 2).at(|_| 36);
    let race = ["Race s + 32 bytes: 0/2 writes st.shared.u32; 0/3 writes st.shared.u32; x1"];
    assert_eq!(stores(&same, &nothing), CLEAN);
    assert_eq!(stores(&other, &nothing), race);
    assert_eq!(stores(&store, &nothing), race);
    // Another warp's lane does, even with the same value and number.
    assert_eq!(stores(&same.clone().lanes(0b100), &same.clone().warp(1).lanes(0b1000)).len(), 1);
    // And so does what another instruction wrote, or this one at another time.
    let apart = same.clone().at(|lane| if lane == 2 { 36 } else { 32 });
    assert_eq!(stores(&same.clone().lanes(0b100), &Request { start: "st.volatile.shared", ..apart.clone() }).len(), 1);
    let later = found(|block| {
        block.access(&same.clone().lanes(0b100));
        block.barrier(0b110);
        block.access(&apart);
    });
    assert_eq!(later, race);
    assert_eq!(stores(&Request { bytes: 8, ..same.clone() }, &nothing), CLEAN);
    // Every element of a vector is compared.
    let wide = |request: &Request| Request { bytes: 16, ..request.clone() };
    assert_eq!(stores(&wide(&same), &wide(&nothing.clone().at(|_| 64))), CLEAN);
    let mut last = wide(&same);
    last.data.as_mut().unwrap()[3][3] = 8;
    let in_the_last = ["Race s + 44 bytes: 0/2 writes st.shared.u32; 0/3 writes st.shared.u32; x1"];
    assert_eq!(stores(&last, &wide(&nothing.clone().at(|_| 64))), in_the_last);
    // And so does a lane of another request.
    assert_eq!(stores(&same.clone().lanes(0b100), &same.clone().lanes(0b1000)), race);
}

#[test]
fn the_same_value_in_global_memory_does_no_harm() {
    let store = |values: fn(u64) -> u32| {
        found(|block| {
            let a = block.launch.a.0;
            block.access(&request(GLOBAL_STORE).lanes(0b1100).at(|_| a).values(values));
        })
    };
    assert_eq!(store(|_| 7), CLEAN);
    assert_eq!(store(|lane| lane as u32), ["Race A[0]: 0/2 writes st.global.u32; 0/3 writes st.global.u32; x1"]);
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
