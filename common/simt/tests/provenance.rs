//! Provenance: in the course's kernels, each element of C is the sum of the right products, in order.

use simt::analyses::provenance::{Source, Value};
use simt::{Arg, DevicePointer, GlobalMemory, Kernel, LaunchConfig, Module, Provenance};

use super::sections;

/// Allocates an array with these words.
fn array(memory: &mut GlobalMemory, name: &str, words: &[u32]) -> DevicePointer {
    let pointer = memory.alloc(name, 4 * words.len() as u64, 4).unwrap();
    memory.upload(pointer, 0, words).unwrap();
    pointer
}

/// Multiplies M×K by K×N with a kernel of the course. Returns where C came from, the kernel, and C.
fn run(
    file: &str,
    (tile, block): ([u32; 2], [u32; 2]),
    [m, n, k]: [usize; 3],
    shared: u32,
) -> (Provenance, Kernel, Vec<u32>) {
    // `file` is a file of the workspace or the name of a program in `products.ptx`.
    let text = std::fs::read_to_string(sections::path("../../..").join(file)).unwrap_or_else(|_| {
        let programs = sections::read("products.ptx");
        programs.into_iter().find(|(name, _)| name == file).unwrap().1
    });
    let kernel = Module::parse(&text).unwrap().kernel("matmul").unwrap();
    let mut memory = GlobalMemory::new();
    let real = |i: u32| (i.wrapping_mul(2_654_435_761) as f32 / 4e9).to_bits();
    let value = |i: u32| if file.contains("i32") { i % 7919 } else { real(i) };
    let pointers = [("A", m * k), ("B", k * n), ("C", m * n)]
        .map(|(name, elements)| array(&mut memory, name, &(0..elements as u32).map(value).collect::<Vec<_>>()));
    let mut arguments: Vec<Arg> = pointers.map(Arg::Pointer).to_vec();
    arguments.extend([m, n, k].map(|size| Arg::I32(size as i32)));
    let mut config =
        LaunchConfig::new(((n as u32).div_ceil(tile[0]), (m as u32).div_ceil(tile[1])), (block[0], block[1]));
    (config.dynamic_shared_bytes, config.shared_opt_in) = (shared, true);
    let (provenance, ended) = Provenance::of(&kernel, &mut memory, &config, &arguments);
    ended.unwrap();
    let mut c = vec![0; m * n];
    memory.download(pointers[2], 0, &mut c).unwrap();
    (provenance, kernel, c)
}

fn element(value: &Value) -> Option<(usize, usize)> {
    if let Source::Element { array, index } = value.source { Some((array, index as usize)) } else { None }
}

#[test]
fn every_element_of_a_right_product_has_its_products_in_order() {
    let cases = [
        ("step02_gpu_naive/ptx/kernel-f32.sm75.ptx", ([32, 32], [32, 32])),
        ("step03_single_block/ptx/kernel-f32.sm75.ptx", ([32, 32], [32, 32])),
        ("step04_tiled/ptx/kernel-f32.sm75.ptx", ([32, 32], [32, 32])),
        ("step04_tiled/ptx/kernel-i32.sm75.ptx", ([32, 32], [32, 32])),
        ("step05_thread_tile/ptx/2_tile-f32.sm75.ptx", ([128, 64], [128, 1])),
        ("step05_thread_tile/ptx/kernel-f32-v4.sm75.ptx", ([128, 64], [128, 1])),
        ("step06_prefetch/ptx/1_two_buffers-f32-64x128v4.sm80.ptx", ([128, 64], [128, 1])),
        ("step06_prefetch/ptx/2_async_copies-f32-64x128v4.sm80.ptx", ([128, 64], [128, 1])),
        ("step06_prefetch/ptx/kernel-f32-64x128v1.sm80.ptx", ([128, 64], [128, 1])),
    ];
    for (file, shape) in cases {
        let [m, n, k] = if file.contains("step03") { [20, 30, 45] } else { [37, 64, 45] };
        let shared = if file.contains("step03") { 4 * (m * k + k * n) as u32 } else { 0 };
        let (provenance, kernel, c) = run(file, shape, [m, n, k], shared);
        let stores = provenance.stores();
        assert_eq!(stores.len(), m * n, "{file}");
        for store in stores {
            assert_eq!(store.array, 2);
            let (row, col) = (store.index as usize / n, store.index as usize % n);
            let formed = provenance.formed(&store);
            let mut pairs = vec![];
            let mut sum = formed.rest.first().map_or(0, |value| value.bits as u32);
            for term in &formed.terms {
                let [a, b] = term.factors.map(|factor| factor.bits as u32);
                sum = if file.contains("i32") {
                    a.wrapping_mul(b).wrapping_add(sum)
                } else {
                    f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(sum)).to_bits()
                };
                let mut pair = [&term.factors[0], &term.factors[1]].map(element);
                pair.sort_unstable();
                if let [Some(a), Some(b)] = pair {
                    pairs.push((a, b));
                    assert!(kernel.source_line(term.instruction).is_some());
                }
            }
            let expected: Vec<_> = (0..k).map(|p| ((0, row * k + p), (1, p * n + col))).collect();
            assert_eq!(pairs, expected, "{file}: C[{row}][{col}]");
            assert_eq!(sum, c[row * n + col], "{file}: C[{row}][{col}]");
            assert!(formed.rest.iter().all(|value| value.source == Source::Constant(0)), "{file}");
        }
    }
}

#[test]
fn tensor_cores_multiply_what_their_fragments_hold() {
    for (file, tile) in [("mma_ldmatrix", [8, 16]), ("wmma_tf32", [16, 16])] {
        let size = 64;
        let (provenance, ..) = run(file, (tile, [32, 1]), [size; 3], 0);
        let mut count = 0;
        for store in provenance.stores().into_iter().filter(|store| store.array == 2) {
            let (row, col) = (store.index as usize / size, store.index as usize % size);
            let terms = provenance.formed(&store).terms;
            let mut pairs: Vec<_> = terms.iter().map(|term| term.factors.each_ref().map(element)).collect();
            pairs.sort_unstable();
            let expected: Vec<_> = (0..size).map(|p| [Some((0, row * size + p)), Some((1, p * size + col))]).collect();
            assert_eq!(pairs, expected, "{file}: C[{row}][{col}]");
            assert!(terms.iter().all(|term| term.matrix), "{file}");
            count += 1;
        }
        assert_eq!(count, size * size, "{file}");
    }
}

#[test]
fn a_sum_that_is_scaled_or_added_to_keeps_its_products() {
    // %f7 is the sum; the formula leaves what is stored in %f9. Nobody follows %f6.
    let formed = |formula: &str| {
        let text = include_str!("provenance.ptx").replace("FORMULA", formula);
        let kernel = Module::parse(&text).unwrap().kernel("one").unwrap();
        let mut memory = GlobalMemory::new();
        let numbers = [1.5f32, 2.5].map(f32::to_bits);
        let mut arguments = ["A", "B", "C"].map(|name| Arg::Pointer(array(&mut memory, name, &numbers))).to_vec();
        arguments.extend([Arg::U32(3.0f32.to_bits()), Arg::Bytes((-2.0f64).to_le_bytes().into())]);
        let (provenance, ended) = Provenance::of(&kernel, &mut memory, &LaunchConfig::new((1, 1), (32, 1)), &arguments);
        ended.unwrap();
        let formed = provenance.formed(&provenance.stores()[0]);
        let mut pairs: Vec<_> = formed.terms.iter().map(|term| term.factors.each_ref().map(element)).collect();
        let others = pairs.split_off(2);
        assert_eq!(pairs, [0, 1].map(|k| [Some((0, k)), Some((1, k))]), "{formula}");
        assert!(others.iter().all(|other| *other == [Some((2, 0)), None]), "{formula}: {others:?}");
        let rest: Vec<_> = formed.rest.iter().map(|value| (value.source, value.scale)).collect();
        (formed.terms[0].scale.to_string(), rest)
    };
    let old = Source::Element { array: 2, index: 0 };
    assert_eq!(formed("mul.f32 %f9, %f5, %f7;"), ("3".into(), vec![]));
    assert_eq!(formed("mul.f32 %f8, %f8, %f5; fma.rn.f32 %f9, %f7, %f5, %f8;"), ("3".into(), vec![]));
    let wide = "cvt.f64.f32 %fd2, %f7; mul.f64 %fd2, %fd2, %fd1; cvt.rn.f32.f64 %f9, %fd2;";
    assert_eq!(formed(wide), ("-2".into(), vec![]));
    assert_eq!(formed("mul.f32 %f9, %f6, %f7;"), ("NaN".into(), vec![]));
    let unknown = (Source::Unknown, 1.0);
    assert_eq!(formed("mul.f32 %f9, %f6, %f8; fma.rn.f32 %f9, %f5, %f7, %f9;"), ("3".into(), vec![unknown]));
    assert_eq!(formed("fma.rn.f32 %f9, %f6, %f7, %f8;"), ("NaN".into(), vec![(old, 1.0)]));
    assert_eq!(formed("sub.f32 %f9, %f7, %f6;"), ("1".into(), vec![unknown]));
}
