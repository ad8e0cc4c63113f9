//! The kernels of a GPU: step 6's, the same adding to C, and those that draw the operands and check the product.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use common::code::{Code, Source, check_signature, file_of, folder_of};
use common::device::session;
use common::device::{Buffer, Device, Kernel, Value};
use common::{DeviceInfo, Dtype, Fill, Kind, Launch, Plan, Problem, Specialisation};
use step06_prefetch::STEP;

/// A folder of this crate.
pub fn folder(name: &str) -> PathBuf {
    folder_of(&STEP).join("beyond").join(name)
}

/// Every source whose PTX is committed there, with its specialisations.
pub fn sources() -> Result<Vec<(Source, Vec<Specialisation>)>> {
    let own = |name: &str| Ok((Source::read(&folder("several").join(name))?, vec![plain()]));
    ["operands.cu", "check.cu"].into_iter().map(own).collect()
}

/// The kernel that adds a panel's product to those before it: step 6's, with an addition in place of each store to C.
///
/// `+=` would do, but a thread waits for each element that it reads. An atomic addition whose result nobody uses is sent to
/// the L2 cache as a store is. And it allows two panels to be added at the same time.
fn adding(step: &Code) -> Result<Code> {
    // NVRTC calls what it stores b32 for GPUs from compute capability 10.0 on.
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

/// The loaded kernels of one GPU.
#[derive(Clone)]
pub struct Kernels {
    /// Names of the files, for records: the step's kernel and its hash.
    pub source: (String, String),
    specialisation: Specialisation,
    step: Kernel,
    adding: Kernel,
    draw: Kernel,
    rows_times: Kernel,
    sampled_rows: Kernel,
}

/// A block of threads of the helping kernels.
const THREADS: u32 = 256;

/// Step 6's plan of the product of one panel, m×n×k.
pub fn plan(device: &dyn Device, m: u64, n: u64, k: u64) -> Result<Plan> {
    let problem = Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 0 };
    (STEP.plan)(&problem, device.info())
}

impl Kernels {
    /// The kernels for products m×n: those that are loaded, if they suit, else others in their place.
    pub fn of<'a>(loaded: &'a mut Option<Self>, device: &mut dyn Device, m: u64, n: u64) -> Result<&'a Self> {
        let specialisation = plan(device, m, n, 8)?.specialisation;
        let fresh = match loaded.take() {
            Some(kernels) if kernels.specialisation == specialisation => kernels,
            _ => Self::load(device, m, n)?,
        };
        Ok(loaded.insert(fresh))
    }

    /// Compiles or looks up the kernels for products m×n of any depth, and loads them.
    pub fn load(device: &mut dyn Device, m: u64, n: u64) -> Result<Self> {
        // The tiling follows from C alone.
        let specialisation = plan(device, m, n, 8)?.specialisation;
        let step = Source::read(&file_of(&STEP, None))?;
        let info = device.info().clone();
        let own = folder("several/ptx");
        let step_code = |info: &DeviceInfo| step.code(&specialisation, info, step.committed_folder().as_deref());
        let mut code = step_code(&info)?;
        if code.cubin.is_some() {
            // The driver does not know the PTX of such a new NVRTC. It knows what is committed, as the simulator runs it.
            code = step_code(&DeviceInfo { kind: Kind::Sim, ..info.clone() })?;
        }
        let helping = sources()?.into_iter().map(|(source, _)| source.code(&plain(), &info, Some(own.as_path())));
        let helping: Vec<Code> = helping.collect::<Result<_>>()?;
        let mut load = |code: &Code, entry: &str, pointers, integers| {
            check_signature(code, entry, pointers, integers)?;
            device.load(code, entry)
        };
        Ok(Self {
            source: (step.display.clone(), step.hash.clone()),
            specialisation: specialisation.clone(),
            step: load(&code, "matmul", 3, 3)?,
            adding: load(&adding(&code)?, "matmul", 3, 3)?,
            draw: load(&helping[0], "draw", 1, 14)?,
            rows_times: load(&helping[1], "rows_times", 4, 2)?,
            sampled_rows: load(&helping[1], "sampled_rows", 4, 2)?,
        })
    }

    /// Starts C = A·B, or C += A·B if `add`, for a panel; each matrix is a buffer and the byte where it begins.
    pub fn multiply(
        &self,
        device: &mut dyn Device,
        plan: &Plan,
        matrices: [(Buffer, u64); 3],
        add: bool,
    ) -> Result<()> {
        for launch in &plan.launches {
            let args = launch.args.iter().map(|&arg| session::value(arg, matrices, None));
            let args: Vec<Value> = args.collect::<Result<_>>()?;
            device.launch(if add { self.adding } else { self.step }, launch, &args)?;
        }
        Ok(())
    }

    /// Starts to draw a block of an operand: rows and columns from (`row`, `col`) on of a matrix of `width` columns.
    pub fn draw(&self, device: &mut dyn Device, to: (Buffer, u64), block: &Block, key: [u32; 8]) -> Result<()> {
        // A call of the generator gives 16 elements, and those at both ends may be used in part only.
        let calls = block.cols.div_ceil(16) + 1;
        let grid = [calls.div_ceil(u64::from(THREADS)) as u32, block.rows.min(65_535) as u32, 1];
        let sizes = [block.row, block.rows, block.col, block.cols, block.width].map(|size| Value::Int(size as i32));
        let mut args = vec![Value::Pointer(to.0, to.1)];
        args.extend(sizes);
        args.push(Value::Int(block.range));
        args.extend(key.map(|word| Value::Int(word as i32)));
        launch(device, self.draw, "draw", grid, &args)
    }

    /// Starts the products of each of `rows` rows of `cols` elements with `x`; see `check.cu`.
    pub fn rows_times(
        &self,
        device: &mut dyn Device,
        matrix: (Buffer, u64),
        [rows, cols]: [u64; 2],
        [x, sums, odd]: [(Buffer, u64); 3],
    ) -> Result<()> {
        let mut args: Vec<Value> = [matrix, x, sums, odd].map(|(buffer, at)| Value::Pointer(buffer, at)).into();
        args.extend([rows, cols].map(|size| Value::Int(size as i32)));
        launch(device, self.rows_times, "rows_times", [rows as u32, 1, 1], &args)
    }

    /// Starts to add the product of `samples` rows of depth k with k×n of B; see `check.cu`.
    pub fn sampled_rows(
        &self,
        device: &mut dyn Device,
        matrices: [(Buffer, u64); 4],
        [samples, n, k]: [u64; 3],
    ) -> Result<()> {
        let mut args: Vec<Value> = matrices.map(|(buffer, at)| Value::Pointer(buffer, at)).into();
        args.extend([n, k].map(|size| Value::Int(size as i32)));
        launch(device, self.sampled_rows, "sampled_rows", [n.div_ceil(THREADS.into()) as u32, samples as u32, 1], &args)
    }
}

/// A block of an operand that is to be drawn: its first row and column, and how many there are of each.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub row: u64,
    pub rows: u64,
    pub col: u64,
    pub cols: u64,
    /// Columns of the operand.
    pub width: u64,
    /// 0 for values in [-1, 1), else the largest integer.
    pub range: i32,
}

fn launch(device: &mut dyn Device, kernel: Kernel, entry: &str, grid: [u32; 3], args: &[Value]) -> Result<()> {
    let launch = Launch { entry: entry.into(), grid, block: [THREADS, 1, 1], shared_bytes: 0, args: Vec::new() };
    device.launch(kernel, &launch, args)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::basics::matrix::{Side, integer_range};
    use common::device::{SimDevice, SimOptions};

    #[test]
    fn the_kernel_that_adds_has_no_store() {
        let step = Source::read(&file_of(&STEP, None)).unwrap();
        for specialisation in (STEP.specialisations)(Dtype::F32) {
            let folder = step.committed_folder();
            let code = step.code(&specialisation, &DeviceInfo::simulated(0), folder.as_deref()).unwrap();
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
        let kernels = Kernels::load(&mut device, 32, 32).unwrap();
        for fill in [Fill::Uniform, Fill::Integers] {
            // K from which the integers are only 1 and -1, too; rows of more than one stream of the generator.
            for (width, k) in [(50_u64, 50_u64), (37, 1 << 25), (40_000, 70)] {
                let problem = Problem { m: 40, n: width, k, dtype: Dtype::F32, fill, seed: 9 };
                let (rows, cols) = (5, width.min(33));
                let range = if fill == Fill::Uniform { 0 } else { integer_range(k) };
                let block = Block { row: 3, rows, col: width - cols, cols, width, range };
                let buffer = device.alloc("B", rows * cols * 4).unwrap();
                kernels.draw(&mut device, (buffer, 0), &block, Side::B.key(&problem)).unwrap();
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
