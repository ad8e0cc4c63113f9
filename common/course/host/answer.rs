//! C = A·B on a GPU, with cudarc and nothing of the course.
//!
//! `host multiply M N K` and `host slabs M N K` read A and B from `a.f32` and `b.f32` and write C to `c.f32`; `host time M N K` prints how
//! long the kernel takes. The kernel is in `kernel.cu`. All three are files of the folder in which the program runs.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Rows of a slab, at most.
const ROWS: usize = 32;
/// Launches that are timed together.
const LAUNCHES: u32 = 10;

/// Compiles the kernel for tiles of this edge.
fn compile(context: &Arc<CudaContext>, tile: usize) -> Result<CudaFunction> {
    let options = CompileOptions {
        name: Some("kernel.cu".into()),
        options: vec![format!("-DTILE={tile}"), "--generate-line-info".into()],
        ..CompileOptions::default()
    };
    let ptx = compile_ptx_with_opts(std::fs::read_to_string("kernel.cu")?, options)?;
    Ok(context.load_module(ptx)?.load_function("matmul")?)
}

/// The edge of a tile: small for a product whose blocks of 16×16 threads would be mostly empty.
fn tile_for(m: usize, n: usize) -> usize {
    if m.min(n) <= 64 { 8 } else { 16 }
}

/// Launches the kernel so that its blocks cover C.
fn launch(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    tile: usize,
    (a, b, c): (&CudaSlice<f32>, &CudaSlice<f32>, &mut CudaSlice<f32>),
    [m, n, k]: [usize; 3],
) -> Result<()> {
    let config = LaunchConfig {
        grid_dim: (n.div_ceil(tile) as u32, m.div_ceil(tile) as u32, 1),
        block_dim: (tile as u32, tile as u32, 1),
        shared_mem_bytes: 0,
    };
    let [rows, cols, inner] = [m as i32, n as i32, k as i32];
    let mut call = stream.launch_builder(kernel);
    call.arg(a).arg(b).arg(c).arg(&rows).arg(&cols).arg(&inner);
    // SAFETY: these are the kernel's parameters, and the matrices are as large as it takes them to be.
    unsafe { call.launch(config) }?;
    Ok(())
}

/// C = A·B.
fn multiply(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Result<Vec<f32>> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let tile = tile_for(m, n);
    let kernel = compile(&context, tile)?;
    let a = stream.clone_htod(a)?;
    let b = stream.clone_htod(b)?;
    let mut c = stream.alloc_zeros::<f32>(m * n)?;
    launch(&stream, &kernel, tile, (&a, &b, &mut c), [m, n, k])?;
    Ok(stream.clone_dtoh(&c)?)
}

/// The milliseconds that the kernel takes.
fn time(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Result<f32> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let tile = tile_for(m, n);
    let kernel = compile(&context, tile)?;
    let a = stream.clone_htod(a)?;
    let b = stream.clone_htod(b)?;
    let mut c = stream.alloc_zeros::<f32>(m * n)?;
    launch(&stream, &kernel, tile, (&a, &b, &mut c), [m, n, k])?;
    let begin = stream.record_event(Some(CU_EVENT_DEFAULT))?;
    for _ in 0..LAUNCHES {
        launch(&stream, &kernel, tile, (&a, &b, &mut c), [m, n, k])?;
    }
    let end = stream.record_event(Some(CU_EVENT_DEFAULT))?;
    Ok(begin.elapsed_ms(&end)? / LAUNCHES as f32)
}

/// C = A·B, with A and C in slabs that take turns in two streams: one is copied while the kernel works on the other.
fn in_slabs(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Result<Vec<f32>> {
    let context = CudaContext::new(0)?;
    let tile = tile_for(ROWS, n);
    let kernel = compile(&context, tile)?;
    let streams = [context.new_stream()?, context.new_stream()?];
    let gpu_b = streams[0].clone_htod(b)?;
    // Memory for all slabs first, because getting it may make the GPU wait.
    let mut slabs = vec![];
    for (number, a) in a.chunks(ROWS * k).enumerate() {
        let (stream, rows) = (&streams[number % 2], a.len() / k);
        // SAFETY: all of it is written before it is read.
        let [mut pinned_a, pinned_c] =
            unsafe { [context.alloc_pinned::<f32>(rows * k)?, context.alloc_pinned::<f32>(rows * n)?] };
        pinned_a.as_mut_slice()?.copy_from_slice(a);
        let [gpu_a, gpu_c] = unsafe { [stream.alloc::<f32>(rows * k)?, stream.alloc::<f32>(rows * n)?] };
        slabs.push((stream, rows, pinned_a, gpu_a, gpu_c, pinned_c));
    }
    for (stream, rows, pinned_a, gpu_a, gpu_c, pinned_c) in &mut slabs {
        stream.memcpy_htod(pinned_a, gpu_a)?;
        launch(stream, &kernel, tile, (gpu_a, &gpu_b, gpu_c), [*rows, n, k])?;
        stream.memcpy_dtoh(gpu_c, pinned_c)?;
    }
    let mut c = Vec::with_capacity(m * n);
    for (.., pinned_c) in &slabs {
        // This waits for the copy.
        c.extend_from_slice(pinned_c.as_slice()?);
    }
    Ok(c)
}

fn read(file: &str) -> Result<Vec<f32>> {
    let bytes = std::fs::read(file)?;
    Ok(bytes.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, m, n, k] = &words[..] else { return Err("call it as host multiply M N K".into()) };
    let (a, b, sizes) = (read("a.f32")?, read("b.f32")?, [m.parse()?, n.parse()?, k.parse()?]);
    let c = match what.as_str() {
        "multiply" => multiply(&a, &b, sizes)?,
        "slabs" => in_slabs(&a, &b, sizes)?,
        "time" => {
            println!("{} ms", time(&a, &b, sizes)?);
            return Ok(());
        }
        _ => return Err(format!("{what} is none of multiply, time and slabs").into()),
    };
    let bytes: Vec<u8> = c.iter().flat_map(|element| element.to_le_bytes()).collect();
    Ok(std::fs::write("c.f32", bytes)?)
}
