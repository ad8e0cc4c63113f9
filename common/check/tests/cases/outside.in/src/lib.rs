//! Adds up numbers on a GPU.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};

const THREADS: u32 = 256;

/// The sum of these numbers.
pub fn sum(numbers: &[f32]) -> Result<f32, Box<dyn std::error::Error>> {
    let options = CompileOptions {
        name: Some("src/sum.cu".into()),
        options: vec!["--generate-line-info".into()],
        ..CompileOptions::default()
    };
    let ptx = compile_ptx_with_opts(include_str!("sum.cu"), options)?;
    let context = CudaContext::new(0)?;
    let kernel = context.load_module(ptx)?.load_function("sum")?;

    let stream = context.default_stream();
    let on_gpu = stream.clone_htod(numbers)?;
    let mut total = stream.alloc_zeros::<f32>(1)?;
    let count = numbers.len() as u32;
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&on_gpu).arg(&mut total).arg(&count);
    // SAFETY: these are the kernel's parameters, and both arrays are as long as it takes them to be.
    unsafe { launch.launch(config) }?;
    Ok(stream.clone_dtoh(&total)?[0])
}

#[test]
fn a_sum_is_right() {
    let numbers: Vec<f32> = (0..1000).map(|i| (i % 7) as f32).collect();
    assert_eq!(sum(&numbers).unwrap(), numbers.iter().sum::<f32>());
}
