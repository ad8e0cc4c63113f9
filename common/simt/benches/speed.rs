//! Measures simulated multiply-adds per second, which criterion prints as elements: unchecked, with counters, and with all checks.
//!
//! On 2 cores with AVX-512, the aim for the kernel with a tile per thread is 2.5 billion unchecked, 1.2 billion with counters and
//! 0.1 billion with checks. For the kernel with an element per thread it is a third of each.

#[path = "../tests/sections/packed.rs"]
mod packed;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use simt::{Analysis, Arg, Counters, GlobalMemory, Hazards, Kernel, LaunchConfig, Module};
use std::hint::black_box;
use std::path::Path;

const SIZE: usize = 512;

struct Case {
    kernel: Kernel,
    memory: GlobalMemory,
    arguments: Vec<Arg>,
    config: LaunchConfig,
}

impl Case {
    fn new(ptx: &str, tile: u32, block: (u32, u32)) -> Self {
        let kernel = Module::parse(ptx).and_then(|module| module.kernel("matmul")).expect("the kernel is well formed");
        let mut memory = GlobalMemory::new();
        let mut arguments = vec![];
        for name in ["A", "B", "C"] {
            let pointer = memory.alloc(name, 4 * (SIZE * SIZE) as u64, 4).expect("memory");
            memory.fill(pointer, 1.5f32).expect("an allocation");
            arguments.push(Arg::Pointer(pointer));
        }
        arguments.extend([Arg::I32(SIZE as i32), Arg::I32(SIZE as i32), Arg::I32(SIZE as i32)]);
        let blocks = SIZE as u32 / tile;
        Self { kernel, memory, arguments, config: LaunchConfig::new((blocks, blocks), block) }
    }

    fn run<A: Analysis>(&mut self, mut analysis: A) -> A {
        simt::launch(&self.kernel, &mut self.memory, &self.config, &self.arguments, &mut analysis)
            .expect("the kernel is right");
        analysis
    }
}

fn ptx(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/kernels");
    packed::text(&folder.join(format!("{name}.ptx"))).expect("it is committed")
}

fn speed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simt");
    group.throughput(Throughput::Elements((SIZE * SIZE * SIZE) as u64)).sample_size(10);
    let kernels = [("tile_per_thread", 64, (64, 1)), ("element_per_thread", 32, (32, 32))];
    for (name, tile, block) in kernels {
        let mut case = Case::new(&ptx(name), tile, block);
        group.bench_function(format!("{name}/unchecked"), |bencher| {
            bencher.iter(|| case.run(()));
        });
        group.bench_function(format!("{name}/counters"), |bencher| {
            bencher.iter(|| case.run(Counters::new()).total());
        });
        group.bench_function(format!("{name}/checks"), |bencher| {
            bencher.iter(|| case.run(Hazards::new()).found().len());
        });
    }
    group.finish();
    let text = &*ptx("tile_per_thread");
    criterion.bench_function("simt/parse and lower", |bencher| {
        bencher.iter(|| Module::parse(black_box(text)).and_then(|module| module.kernel("matmul")));
    });
}

criterion_group!(benches, speed);
criterion_main!(benches);
