//! C = A·B on a GPU, with cudarc and nothing of the course.
//!
//! `host multiply M N K` and `host slabs M N K` read A and B from `a.f32` and `b.f32` and write C to `c.f32`; `host time M N K` prints how
//! long the kernel takes. The kernel is in `kernel.cu`. All three are files of the folder in which the program runs.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Compiles the kernel. Its tiles have 16×16 elements, and its blocks as many threads.
fn compile(context: &Arc<CudaContext>) -> Result<CudaFunction> {
    let options = CompileOptions {
        name: Some("kernel.cu".into()),
        options: vec!["--generate-line-info".into()],
        ..CompileOptions::default()
    };
    let ptx = compile_ptx_with_opts(std::fs::read_to_string("kernel.cu")?, options)?;
    Ok(context.load_module(ptx)?.load_function("matmul")?)
}

/// C = A·B.
fn multiply(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Result<Vec<f32>> {
    // Task 1. Open the first GPU and take its default stream; compile the kernel; copy A and B; allocate C; launch; copy C back.
    let _ = (a, b, m, n, k);
    Err("multiply is not written yet".into())
}

/// The milliseconds that the kernel takes.
fn time(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Result<f32> {
    // Task 3.
    let _ = (a, b, m, n, k);
    Err("time is not written yet".into())
}

/// C = A·B, with A and C in slabs that take turns in two streams: one is copied while the kernel works on the other.
fn in_slabs(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Result<Vec<f32>> {
    // Task 4.
    let _ = (a, b, m, n, k);
    Err("in_slabs is not written yet".into())
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
