//! A plan on a device: memory, kernels and launches of one problem.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::code::{Code, check_signature};
use crate::cublas::{self, Cublas};
use crate::device::{Buffer, Device, Kernel, Value};
use crate::matrix::Operands;
use crate::plan::{Arg, Launch, Plan, Specialisation};
use crate::problem::{Dtype, Problem};

/// Byte that C is filled with before a launch: an `f32` of these is NaN.
const POISON_F32: u8 = 0xFF;
/// The same for `i32`: 2139062143, which no small product is.
const POISON_I32: u8 = 0x7F;

/// The 32-bit word that marks an element of C as never written.
pub fn poison(dtype: Dtype) -> u32 {
    u32::from_ne_bytes([poison_byte(dtype); 4])
}

fn poison_byte(dtype: Dtype) -> u8 {
    match dtype {
        Dtype::F32 => POISON_F32,
        Dtype::I32 => POISON_I32,
    }
}

/// A problem's memory on a device, and the kernels that compute it.
pub struct Session {
    problem: Problem,
    plan: Plan,
    kernels: HashMap<String, Kernel>,
    a: Buffer,
    b: Buffer,
    /// The product, M×N.
    pub c: Buffer,
    workspace: Option<Buffer>,
    /// A, B and C are another session's, and stay when this one closes.
    borrowed: bool,
    /// Computes in place of the plan's launches.
    cublas: Option<Cublas>,
    first_launch_ms: Cell<Option<f64>>,
}

impl Session {
    /// Loads the kernels, then allocates; copies nothing yet.
    pub fn new(device: &mut dyn Device, problem: &Problem, plan: Plan, code: &Code) -> Result<Self> {
        let kernels = load(device, &plan, code)?;
        let buffers = allocate(device, problem)?;
        Self::with(device, problem, plan, kernels, buffers, false)
    }

    /// A session on the matrices of another: the same data for several kernels.
    pub fn sharing(
        device: &mut dyn Device,
        problem: &Problem,
        plan: Plan,
        code: &Code,
        buffers: [Buffer; 3],
    ) -> Result<Self> {
        let kernels = load(device, &plan, code)?;
        Self::with(device, problem, plan, kernels, buffers, true)
    }

    /// cuBLAS on the matrices of a session (or of [`allocate`]). Fails where there is no cuBLAS or it has no such product.
    pub fn cublas(device: &mut dyn Device, problem: &Problem, buffers: [Buffer; 3]) -> Result<Self> {
        if let Some(reason) = cublas::refuses(problem) {
            anyhow::bail!("{reason}");
        }
        let cublas = device.cublas()?;
        // Nothing is known of the library's launches; the diagnosis sees one tile.
        let plan = Plan {
            specialisation: Specialisation::single(problem.dtype, &[]),
            tile: [problem.n as u32, problem.m as u32],
            tile_k: problem.k as u32,
            workspace_elements: 0,
            banded: false,
            launches: Vec::new(),
        };
        let session = Self::with(device, problem, plan, HashMap::new(), buffers, true)?;
        Ok(Self { cublas: Some(cublas), ..session })
    }

    fn with(
        device: &mut dyn Device,
        problem: &Problem,
        plan: Plan,
        kernels: HashMap<String, Kernel>,
        [a, b, c]: [Buffer; 3],
        borrowed: bool,
    ) -> Result<Self> {
        let workspace = match plan.workspace_elements {
            0 => None,
            elements => Some(device.alloc("workspace", elements * 4)?),
        };
        let first_launch_ms = Cell::new(None);
        Ok(Self { problem: *problem, plan, kernels, a, b, c, workspace, borrowed, cublas: None, first_launch_ms })
    }

    /// Milliseconds that the first product took on the host's clock, launch to end: the driver loads the kernel then.
    pub fn first_launch_ms(&self) -> Option<f64> {
        self.first_launch_ms.get()
    }

    /// The version of the cuBLAS that computes, where it does.
    pub fn cublas_version(&self) -> Option<&str> {
        self.cublas.as_ref().map(|cublas| cublas.version.as_str())
    }

    /// The plan that is run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The kernel of the first launch.
    pub fn main_kernel(&self) -> Option<Kernel> {
        self.plan.launches.first().and_then(|launch| self.kernels.get(&launch.entry)).copied()
    }

    /// The buffers of A, B and C.
    pub fn buffers(&self) -> [Buffer; 3] {
        [self.a, self.b, self.c]
    }

    /// Copies A and B to the device.
    pub fn upload(&self, device: &mut dyn Device, operands: &Operands) -> Result<()> {
        device.write(self.a, 0, operands.a_bytes())?;
        device.write(self.b, 0, operands.b_bytes())
    }

    /// Overwrites C, and the workspace, with a pattern that no kernel leaves by accident.
    pub fn poison(&self, device: &mut dyn Device) -> Result<()> {
        let byte = poison_byte(self.problem.dtype);
        device.fill(self.c, byte)?;
        self.workspace.map_or(Ok(()), |workspace| device.fill(workspace, byte))
    }

    /// Starts all launches of the product, in order.
    pub fn launch(&self, device: &mut dyn Device) -> Result<()> {
        if let Some(cublas) = &self.cublas {
            return device.launch_cublas(cublas, &self.problem, self.buffers());
        }
        for launch in &self.plan.launches {
            let args: Vec<Value> = launch.args.iter().map(|arg| self.value(*arg)).collect::<Result<_>>()?;
            device.launch(self.kernels[&launch.entry], launch, &args)?;
        }
        Ok(())
    }

    /// Poisons C, runs the product and waits for it.
    pub fn run(&self, device: &mut dyn Device) -> Result<()> {
        self.poison(device)?;
        if self.first_launch_ms.get().is_some() {
            self.launch(device)?;
            return device.synchronize();
        }
        device.synchronize()?;
        let begin = Instant::now();
        self.launch(device)?;
        device.synchronize()?;
        self.first_launch_ms.set(Some(begin.elapsed().as_secs_f64() * 1e3));
        Ok(())
    }

    /// Gives the device's memory back.
    pub fn close(self, device: &mut dyn Device) -> Result<()> {
        if !self.borrowed {
            release(device, self.buffers())?;
        }
        self.workspace.map_or(Ok(()), |workspace| device.free(workspace))
    }

    fn value(&self, arg: Arg) -> Result<Value> {
        Ok(match arg {
            Arg::A(offset) => Value::Pointer(self.a, offset * 4),
            Arg::B(offset) => Value::Pointer(self.b, offset * 4),
            Arg::C(offset) => Value::Pointer(self.c, offset * 4),
            Arg::Workspace(offset) => {
                let workspace = self.workspace;
                ensure!(workspace.is_some(), "the plan uses a workspace and asks for none; set its workspace_elements");
                Value::Pointer(workspace.unwrap_or(self.c), offset * 4)
            }
            Arg::Int(value) => Value::Int(value),
        })
    }
}

/// Memory for A, B and C of a problem.
pub fn allocate(device: &mut dyn Device, problem: &Problem) -> Result<[Buffer; 3]> {
    let a = device.alloc("A", problem.a_elements() * 4)?;
    let b = device.alloc("B", problem.b_elements() * 4)?;
    let c = device.alloc("C", problem.c_elements() * 4)?;
    Ok([a, b, c])
}

/// Gives the memory of A, B and C back.
pub fn release(device: &mut dyn Device, buffers: [Buffer; 3]) -> Result<()> {
    buffers.into_iter().try_for_each(|buffer| device.free(buffer))
}

fn load(device: &mut dyn Device, plan: &Plan, code: &Code) -> Result<HashMap<String, Kernel>> {
    let mut kernels = HashMap::new();
    for launch in &plan.launches {
        check_launch(device, launch)?;
        if !kernels.contains_key(&launch.entry) {
            let integers = launch.args.iter().filter(|arg| matches!(arg, Arg::Int(_))).count();
            check_signature(code, &launch.entry, launch.args.len() - integers, integers)?;
            kernels.insert(launch.entry.clone(), device.load(code, &launch.entry)?);
        }
    }
    Ok(kernels)
}

/// Refuses a launch that no device like this one can make, in words that name the flag to change.
fn check_launch(device: &dyn Device, launch: &Launch) -> Result<()> {
    let info = device.info();
    let threads: u64 = launch.block.iter().map(|&edge| u64::from(edge)).product();
    let limit = info.max_threads_per_block;
    let [x, y, z] = launch.block;
    ensure!(threads > 0, "a block of {x}×{y}×{z} has no threads; choose --block from 1,1 on");
    ensure!(
        threads <= u64::from(limit),
        "a block of {x}×{y}×{z} has {threads} threads and this device allows {limit}; choose a smaller --block"
    );
    ensure!(
        launch.shared_bytes <= info.max_shared_bytes,
        "{} bytes of shared memory are more than a block of this device can have ({}); choose less",
        launch.shared_bytes,
        info.max_shared_bytes
    );
    Ok(())
}
