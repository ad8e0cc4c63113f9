//! The kernels that a GPU runs: step 6's, a version of it that adds to C, and kernels that draw the operands and check C.

use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use common::basics::Side;
use common::basics::matrix::integer_range;
use common::code::{Code, Source, check_signature, file_of, folder_of};
use common::device::{Buffer, Device, KernelHandle};
use common::{Arg, DeviceInfo, Dtype, Fill, Kind, Launch, Plan, Problem, Specialisation};
use step06_prefetch::STEP;

use super::length;

/// A folder of this crate.
pub fn folder(name: &str) -> PathBuf {
    folder_of(&STEP).join("beyond").join(name)
}

const HELPING: [&str; 2] = ["operands.cu", "check.cu"];

/// Every source in `several` whose PTX is committed, with its specialisations.
pub fn sources() -> Result<Vec<(Source, Vec<Specialisation>)>> {
    let own = |name: &str| Ok((Source::read(&folder("several").join(name))?, vec![plain()]));
    HELPING.into_iter().map(own).collect()
}

/// The kernel that adds a panel's product to C: step 6's kernel, with an addition in place of each store to C.
///
/// `+=` would work, but a thread would wait for each element that it reads. An atomic addition whose result is unused is sent to
/// the L2 cache like a store. It also allows two panels to be added at the same time.
fn adding(step: &Code) -> Result<Code> {
    // From compute capability 10.0 on, NVRTC gives the stored elements the type b32.
    let add = |ptx: String, store: &str| ptx.replace(store, "red.global.add.f32");
    let ptx = ["st.global.f32", "st.global.b32"].into_iter().fold(step.ptx.clone(), add);
    ensure!(
        ptx != step.ptx && !ptx.contains("st.global"),
        "{} does not store C element by element; store it so, because a kernel that adds to C is made from these stores",
        step.origin
    );
    Ok(step.with_ptx(ptx))
}

/// A kernel without constants.
fn plain() -> Specialisation {
    Specialisation::single(Dtype::F32, &[])
}

/// Step 6's plan for the product of one panel, m×n×k.
fn plan(device: &dyn Device, [m, n, k]: [u64; 3]) -> Result<Plan> {
    (STEP.plan)(&Problem::uniform([m, n, k]), device.info())
}

/// The sources from which the kernels of all GPUs are loaded.
pub struct Sources {
    pub step: Source,
    operands: Source,
    check: Source,
    /// The kernels that were loaded so far, with their rank and specialisation.
    loaded: Vec<(usize, Specialisation, Kernels)>,
}

impl Sources {
    pub fn read() -> Result<Self> {
        let [operands, check] = HELPING.map(|name| Source::read(&folder("several").join(name)));
        let step = Source::read(&file_of(&STEP, None))?;
        Ok(Self { step, operands: operands?, check: check?, loaded: Vec::new() })
    }

    /// The kernels of a rank for products m×n of any depth, because the tiling depends on C alone.
    pub fn load(&mut self, device: &mut dyn Device, rank: usize, [m, n]: [u64; 2]) -> Result<Kernels> {
        let specialisation = plan(device, [m, n, 8])?.specialisation;
        if let Some(known) = self.loaded.iter().find(|known| known.0 == rank && known.1 == specialisation) {
            return Ok(known.2);
        }
        let info = device.info().clone();
        let mut step = self.step.code(&specialisation, &info)?;
        if step.cubin.is_some() {
            // NVRTC is so new that the driver cannot load its PTX. It can load the committed PTX, which the simulator runs.
            step = self.step.code(&specialisation, &DeviceInfo { kind: Kind::Sim, ..info.clone() })?;
        }
        let (operands, check) = (self.operands.code(&plain(), &info)?, self.check.code(&plain(), &info)?);
        let mut load = |code: &Code, entry: &str, pointers, integers| {
            check_signature(code, entry, pointers, integers)?;
            device.load(code, entry)
        };
        let kernels = Kernels {
            step: load(&step, "matmul", 3, 3)?,
            adding: load(&adding(&step)?, "matmul", 3, 3)?,
            draw: load(&operands, "draw", 1, 14)?,
            rows_times: load(&check, "rows_times", 4, 2)?,
            sampled_rows: load(&check, "sampled_rows", 4, 2)?,
        };
        self.loaded.push((rank, specialisation, kernels));
        Ok(kernels)
    }
}

/// A buffer, and the offset in bytes at which something begins in it.
pub type At = (Buffer, u64);

/// The kernels of one GPU for one tiling.
#[derive(Clone, Copy)]
pub struct Kernels {
    step: KernelHandle,
    adding: KernelHandle,
    draw: KernelHandle,
    pub rows_times: KernelHandle,
    pub sampled_rows: KernelHandle,
}

/// Threads per block of the helping kernels.
pub const THREADS: u32 = 256;

impl Kernels {
    /// Starts C = A·B, or C += A·B if `add`, for a panel.
    pub fn multiply(self, device: &mut dyn Device, size: [u64; 3], matrices: [Buffer; 3], add: bool) -> Result<()> {
        for launch in &plan(device, size)?.launches {
            let kernel = if add { self.adding } else { self.step };
            device.launch(kernel, launch, &matrices)?;
        }
        Ok(())
    }

    /// Starts to draw these rows and columns of A or B, with the same elements as in every program of the course.
    pub fn draw(
        self,
        device: &mut dyn Device,
        to: Buffer,
        side: Side,
        problem: &Problem,
        [rows, cols]: &[Range<u64>; 2],
    ) -> Result<()> {
        let width = if side == Side::A { problem.k } else { problem.n };
        // Values in [-1, 1), or integers up to the range.
        let range = if problem.fill == Fill::Uniform { 0 } else { integer_range(problem.k) as u64 };
        // A call of the generator gives 16 elements; the first and the last call may be used only in part.
        let calls = length(cols).div_ceil(16) + 1;
        let grid = [calls.div_ceil(u64::from(THREADS)), length(rows).min(65_535)];
        let block = [rows.start, length(rows), cols.start, length(cols), width, range];
        let integers: Vec<u64> = block.into_iter().chain(side.key(problem).map(u64::from)).collect();
        launch(device, self.draw, grid, &[(to, 0)], &integers)
    }
}

/// Starts a helping kernel, whose pointers come before its integers.
pub fn launch(
    device: &mut dyn Device,
    kernel: KernelHandle,
    grid: [u64; 2],
    pointers: &[At],
    integers: &[u64],
) -> Result<()> {
    let [x, y] = grid.map(|side| side as u32);
    let entry = String::new();
    // The first pointer is A to the launch, the second B, and so on. All begin at whole elements.
    let begins = [Arg::A, Arg::B, Arg::C, Arg::Workspace].into_iter().zip(pointers).map(|(arg, (_, at))| arg(at / 4));
    let args = begins.chain(integers.iter().map(|&integer| Arg::Int(integer as u32 as i32))).collect();
    let launch = Launch { entry, grid: [x, y, 1], block: [THREADS, 1, 1], shared_bytes: 0, args };
    let arrays: Vec<Buffer> = pointers.iter().map(|(buffer, _)| *buffer).collect();
    device.launch(kernel, &launch, &arrays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::device::{SimDevice, SimOptions};

    #[test]
    fn the_kernel_that_adds_has_no_store() {
        let step = Source::read(&file_of(&STEP, None)).unwrap();
        for specialisation in (STEP.specialisations)(Dtype::F32) {
            let code = step.code(&specialisation, &DeviceInfo::simulated(0)).unwrap();
            let additions = adding(&code).unwrap().ptx.matches("red.global.add.f32").count();
            assert!(additions > 0 && additions == code.ptx.matches("st.global").count(), "{specialisation:?}");
        }
        for others in ["st.global.v4.f32", "ret;"] {
            let error = adding(&Code::of_ptx(others.into(), "mine.ptx".into())).unwrap_err().to_string();
            assert!(error.starts_with("mine.ptx does not store C element by element; "), "{error}");
        }
    }

    #[test]
    fn blocks_drawn_on_the_device_are_those_of_the_host() {
        let mut device = SimDevice::new(SimOptions::default());
        let kernels = Sources::read().unwrap().load(&mut device, 0, [32, 32]).unwrap();
        for fill in [Fill::Uniform, Fill::Integers] {
            // The second K is so large that all integers are 1 or -1; the last rows need several streams of the generator.
            for (width, k) in [(50_u64, 50_u64), (37, 1 << 25), (40_000, 70)] {
                let problem = Problem { m: 40, n: width, k, dtype: Dtype::F32, fill, seed: 9 };
                let (rows, cols) = (5, width.min(33));
                let buffer = device.alloc("B", rows * cols * 4).unwrap();
                let block = [3..3 + rows, width - cols..width];
                kernels.draw(&mut device, buffer, Side::B, &problem, &block).unwrap();
                let mut bytes = vec![0; (rows * cols * 4) as usize];
                device.read(buffer, 0, &mut bytes).unwrap();
                let expected: Vec<f32> = (3..3 + rows)
                    .flat_map(|row| Side::B.part(&problem, row * width + width - cols, cols as usize))
                    .collect();
                assert_eq!(bytemuck::cast_slice::<u8, f32>(&bytes), expected, "{fill}, {width} columns");
            }
        }
    }
}
