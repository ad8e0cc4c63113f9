//! Runs a `matmul` kernel from a PTX file and compares with three loops on the host:
//! `matmul FILE MxNxK GRIDXxGRIDY BLOCKXxBLOCKY [dynamic shared bytes] [host threads] [counters|check|trace]`.

use simt::{Arg, Counters, Dim3, GlobalMemory, Hazards, LaunchConfig, Module, Trace};
use std::time::Instant;

fn sizes(text: &str) -> Vec<u32> {
    text.split('x').filter_map(|part| part.parse().ok()).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, shape, grid, block, ..] = &args[..] else {
        return Err("usage: matmul FILE MxNxK GRIDXxGRIDY BLOCKXxBLOCKY [shared bytes] [threads]".into());
    };
    let (shape, grid, block) = (sizes(shape), sizes(grid), sizes(block));
    let (m, n, k) = (shape[0] as usize, shape[1] as usize, shape[2] as usize);
    let kernel = Module::parse(&std::fs::read_to_string(file)?)?.kernel("matmul")?;
    let mut memory = GlobalMemory::new();
    let mut state = 1u32;
    let mut random = |count: usize| -> Vec<f32> {
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 28) as f32 - 8.0
            })
            .collect()
    };
    let (a, b) = (random(m * k), random(k * n));
    let pa = memory.alloc("A", 4 * (m * k) as u64, 4)?;
    let pb = memory.alloc("B", 4 * (k * n) as u64, 4)?;
    let pc = memory.alloc("C", 4 * (m * n) as u64, 4)?;
    memory.upload(pa, 0, &a)?;
    memory.upload(pb, 0, &b)?;
    memory.fill(pc, f32::NAN)?;
    let mut config = LaunchConfig::new((grid[0], grid[1]), (block[0], block[1]));
    config.dynamic_shared_bytes = args.get(4).map_or(Ok(0), |text| text.parse())?;
    config.threads = args.get(5).map_or(Ok(0), |text| text.parse())?;
    config.shared_opt_in = true;
    let int = |value: usize| Arg::I32(value as i32);
    let arguments = [Arg::Pointer(pa), Arg::Pointer(pb), Arg::Pointer(pc), int(m), int(n), int(k)];
    let start = Instant::now();
    let mode = args.get(6).map_or("", String::as_str);
    let mut counters = Counters::new();
    let mut hazards = Hazards::new().output(pc);
    let mut trace = Trace::new([(Dim3::new(0, 0, 0), Dim3::new(0, 0, 0))]);
    let report = match mode {
        "counters" => simt::launch(&kernel, &mut memory, &config, &arguments, &mut counters),
        "check" => simt::launch(&kernel, &mut memory, &config, &arguments, &mut hazards),
        "trace" => simt::launch(&kernel, &mut memory, &config, &arguments, &mut trace),
        _ => simt::launch(&kernel, &mut memory, &config, &arguments, &mut ()),
    }?;
    let seconds = start.elapsed().as_secs_f64();
    if mode == "counters" {
        counters.total().entries().iter().for_each(|(name, value)| println!("{name:28} {value}"));
    }
    hazards.report().iter().for_each(|hazard| println!("{hazard}"));
    for step in trace.threads().iter().flat_map(|thread| &thread.steps) {
        println!("{} {}[{}], {}", step.kind, step.array, step.index, step.location);
    }
    let mut c = vec![0f32; m * n];
    memory.download(pc, 0, &mut c)?;
    let mut wrong = 0;
    for row in 0..m {
        let mut sums = vec![0f32; n];
        for inner in 0..k {
            let factor = a[row * k + inner];
            for (sum, value) in sums.iter_mut().zip(&b[inner * n..(inner + 1) * n]) {
                *sum += factor * value;
            }
        }
        wrong += sums.iter().zip(&c[row * n..(row + 1) * n]).filter(|(x, y)| x.to_bits() != y.to_bits()).count();
    }
    println!(
        "{wrong} wrong; {} warp instructions in {seconds:.3} s; {:.0} million FMA/s",
        report.warp_instructions,
        (m * n * k) as f64 / seconds / 1e6
    );
    if wrong > 0 { Err("the product is wrong".into()) } else { Ok(()) }
}
