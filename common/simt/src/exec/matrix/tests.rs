//! Compares the model with the sums of an H200 (`tests/instructions/ask_tensor_cores.py`). Models that differ in one thing must not
//! agree. `SIMT_TENSOR_CORES=FOLDER` reads another record, `-- --nocapture` shows how many elements agree with each model.

#[path = "../../../tests/sections/packed.rs"]
pub(in crate::exec) mod packed;

use super::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A recorded product: A, B, C, D, in row order.
struct Recorded {
    instruction: String,
    kinds: [Type; 2],
    length: usize,
    parts: [Vec<u64>; 4],
}

pub(in crate::exec) fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions/tensor_cores");
    std::env::var_os("SIMT_TENSOR_CORES").map_or(own, PathBuf::from)
}

fn recorded() -> Vec<Recorded> {
    let list = packed::text(&folder().join("sums.txt")).unwrap();
    let all = packed::bytes(&folder().join("sums.bin")).unwrap();
    let mut rest = &all[..];
    let mut products = vec![];
    for line in list.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let [name, rows, columns, length, kind, sum, _, times] = words[..] else { panic!("{line}") };
        let [rows, columns, length, times] = [rows, columns, length, times].map(|word| word.parse::<usize>().unwrap());
        let kinds = [kind, sum].map(|word| Type::named(word).unwrap());
        for _ in 0..times {
            let parts = [(rows * length, 0), (length * columns, 0), (rows * columns, 1), (rows * columns, 1)];
            let parts = parts.map(|(count, kind)| {
                let bytes = kinds[kind].bytes() as usize;
                let (own, others) = rest.split_at(count * bytes);
                rest = others;
                let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
                own.chunks(bytes).map(number).collect()
            });
            let instruction = format!("{name} {length} {kind} {sum}");
            products.push(Recorded { instruction, kinds, length, parts });
        }
    }
    assert!(rest.is_empty());
    products
}

/// Returns how many elements of D agree in every bit, and how many there are.
fn agree(core: TensorCore, recorded: &Recorded) -> [usize; 2] {
    let Recorded { kinds: [kind, sum], length, parts: [a, b, c, d], .. } = recorded;
    let (kinds, columns) = ([*sum, *kind, *kind, *sum], b.len() / length);
    let found = on_tensor_cores(core, &Product { a, b, c, kinds, length: *length, columns, saturates: false });
    [found.iter().zip(d).filter(|(found, said)| found == said).count(), d.len()]
}

#[test]
fn the_same_sums_as_a_gpu() {
    let recorded = recorded();
    let hopper = TensorCore::HOPPER;
    let models = [
        ("as Hopper", hopper),
        ("one place less", TensorCore { places: 1, ..hopper }),
        ("one place more", TensorCore { places: 3, ..hopper }),
        ("steps of 16 bytes", TensorCore { step: 16, ..hopper }),
        ("as Ampere", TensorCore::AMPERE),
    ];
    let mut text = String::new();
    for (name, core) in models {
        let mut instructions: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for product in &recorded {
            let counts = instructions.entry(&product.instruction).or_default();
            counts.iter_mut().zip(agree(core, product)).for_each(|(sum, count)| *sum += count);
        }
        let good = instructions.values().all(|[good, all]| good == all);
        text += &format!("{name}, agreeing and all: {instructions:?}\n");
        assert_eq!(good, core == hopper, "{text}");
    }
    println!("{text}");
}

/// An example from the literature: what is left of small numbers beside a large one.
#[test]
fn small_numbers_beside_a_large_one() {
    let one = |exponent: i32| u64::from((2.0_f32.powi(exponent)).to_bits());
    let of = |core: TensorCore, a: [u64; 4]| {
        let kinds = [Type::F32, Type::Tf32, Type::Tf32, Type::F32];
        let ones = [one(0); 4];
        let operands = Product { a: &a, b: &ones, c: &[0], kinds, length: 4, columns: 1, saturates: false };
        f32::from_bits(on_tensor_cores(core, &operands)[0] as u32)
    };
    let sum = |core, small: i32| f64::from(of(core, [one(0), one(small), one(small), one(small)])) - 1.0;
    let unit = 2.0_f64.powi(-23);
    // Three times a whole last place, a half, a quarter, an eighth of it.
    assert_eq!([-23, -24, -25, -26].map(|small| sum(TensorCore::HOPPER, small) / unit), [3.0, 1.0, 0.0, 0.0]);
    assert_eq!([-23, -24, -25, -26].map(|small| sum(TensorCore::AMPERE, small) / unit), [3.0, 1.0, 0.0, 0.0]);
    // A sum keeps no places below those of a `float`, so each half is cut off.
    assert_eq!([-23, -24].map(|small| sum(TensorCore::VOLTA, small) / unit), [3.0, 0.0]);
    let minus = |exponent: i32| one(exponent) | 1 << 31;
    let left = |core| of(core, [one(0), one(-25), one(-25), minus(0)]);
    assert_eq!([left(TensorCore::HOPPER), left(TensorCore::AMPERE)], [2.0_f32.powi(-24), 0.0]);
}
