//! A plan on a device: loads its kernels, and starts its launches on the matrices of one problem.

use std::collections::HashMap;

use anyhow::{Result, ensure};

use crate::code::assembled::{CAPABILITY, Kernels, MachineCode};
use crate::code::{Code, check_signature};
use crate::device::{Buffer, Device, FirstRun, KernelHandle, Matrices, Product};
use plan::occupancy::{self, Occupancy};
use plan::{Arg, Launch, Plan, Problem, Shape};

/// The kernel of a launch, and the memory that its arguments point into.
pub type Started = (KernelHandle, Vec<Buffer>);

/// A plan's kernels, and the memory that they work on.
pub struct Session {
    /// The plan that is run.
    pub plan: Plan,
    /// The kernel of each launch of the plan, and the memory that its arguments point into: A, B, C and the workspace.
    started: Vec<Started>,
    machine: Kernels,
    matrices: Matrices,
    workspace: Option<Buffer>,
    /// Whether A, B and C belong to the caller, and so are kept when this session closes.
    borrowed: bool,
    first_run: FirstRun,
}

impl Session {
    /// A session on memory for the matrices of a problem; copies nothing yet.
    pub fn new(device: &mut dyn Device, problem: &Problem, plan: Plan, code: &Code) -> Result<Self> {
        let matrices = Matrices::allocate(device, problem)?;
        Ok(Self { borrowed: false, ..Self::sharing(device, plan, code, &matrices)? })
    }

    /// A session on the matrices of another: the same data for several kernels.
    pub fn sharing(device: &mut dyn Device, plan: Plan, code: &Code, matrices: &Matrices) -> Result<Self> {
        let kernels = load(device, &plan, code)?;
        let workspace = match plan.workspace_elements {
            0 => None,
            elements => Some(device.alloc("workspace", elements * 4)?),
        };
        let arrays: Vec<Buffer> = matrices.buffers().into_iter().chain(workspace).collect();
        let started = plan.launches.iter().map(|launch| (kernels[&launch.entry], arrays.clone())).collect();
        Ok(Self { workspace, borrowed: true, ..Self::of_driver(plan, started, code, matrices, FirstRun::default()) })
    }

    /// What a host driver has launched, to be launched again. Everything belongs to the driver.
    pub fn of_driver(plan: Plan, started: Vec<Started>, code: &Code, matrices: &Matrices, first_run: FirstRun) -> Self {
        let workspace = started.iter().find_map(|(_, arrays)| arrays.get(3).copied());
        Self { plan, started, machine: code.machine.clone(), matrices: *matrices, workspace, borrowed: true, first_run }
    }

    /// The occupancy of the launch that multiplies. Registers come from the driver, or else from the assembler.
    pub fn occupancy(&self, device: &dyn Device) -> Option<Occupancy> {
        let (kernel, launch) = (self.main_kernel()?, self.plan.main()?);
        let resources = device.resources(kernel);
        let assembled = || self.machine.get(&launch.entry).map(|code| code.registers);
        let (threads, registers) = (launch.block.iter().product(), resources.registers.or_else(assembled));
        let shared = resources.static_shared_bytes + launch.shared_bytes;
        let counted = device.resident_blocks(kernel, launch);
        Some(occupancy::occupancy(threads, registers, shared, &device.info().sm, counted))
    }
}

impl Product for Session {
    fn matrices(&self) -> &Matrices {
        &self.matrices
    }

    fn shape(&self) -> Shape {
        Shape { tile: self.plan.tile, tile_k: self.plan.tile_k }
    }

    fn launches(&self) -> usize {
        self.plan.launches.len()
    }

    /// Starts all launches of the plan, in order.
    fn launch(&self, device: &mut dyn Device) -> Result<()> {
        for (launch, (kernel, arrays)) in self.plan.launches.iter().zip(&self.started) {
            device.launch(*kernel, launch, arrays)?;
        }
        Ok(())
    }

    fn others_per_fma(&self, capability: u32) -> Vec<f64> {
        let others = |launch: &Launch| self.machine.get(&launch.entry).map_or(0.0, MachineCode::others_per_fma);
        if capability == CAPABILITY { self.plan.launches.iter().map(others).collect() } else { Vec::new() }
    }

    fn first_run(&self) -> &FirstRun {
        &self.first_run
    }

    fn poison(&self, device: &mut dyn Device) -> Result<()> {
        self.matrices.poison(device)?;
        let byte = self.matrices.problem.dtype.poison_byte();
        self.workspace.map_or(Ok(()), |workspace| device.fill(workspace, byte))
    }

    fn main_kernel(&self) -> Option<KernelHandle> {
        let main = self.plan.main()?;
        let at = self.plan.launches.iter().position(|launch| launch == main)?;
        self.started.get(at).map(|(kernel, _)| *kernel)
    }

    fn close(&self, device: &mut dyn Device) -> Result<()> {
        if !self.borrowed {
            self.matrices.release(device)?;
        }
        self.workspace.map_or(Ok(()), |workspace| device.free(workspace))
    }
}

/// Loads the kernels of a plan, by their entries.
pub fn load(device: &mut dyn Device, plan: &Plan, code: &Code) -> Result<HashMap<String, KernelHandle>> {
    let mut kernels = HashMap::new();
    for launch in &plan.launches {
        check_launch(device, launch)?;
        if !kernels.contains_key(&launch.entry) {
            check_arguments(code, launch)?;
            kernels.insert(launch.entry.clone(), device.load(code, &launch.entry)?);
        }
    }
    Ok(kernels)
}

/// Compares the arguments of a launch with the parameters of its kernel.
pub fn check_arguments(code: &Code, launch: &Launch) -> Result<()> {
    let integers = launch.args.iter().filter(|arg| matches!(arg, Arg::Int(_))).count();
    check_signature(code, &launch.entry, launch.args.len() - integers, integers)
}

/// Refuses a launch that this device cannot make, and names the option to change.
pub fn check_launch(device: &dyn Device, launch: &Launch) -> Result<()> {
    let info = device.info();
    let threads: u64 = launch.block.map(u64::from).iter().product();
    let limit = info.max_threads_per_block;
    let [x, y, z] = launch.block;
    ensure!(threads > 0, "a block of {x}×{y}×{z} has no threads; choose --block from 1,1 on");
    ensure!(
        threads <= u64::from(limit),
        "a block of {x}×{y}×{z} has {threads} threads and this device allows {limit}; choose a smaller --block"
    );
    let (shared, most) = (launch.shared_bytes, info.max_shared_bytes);
    let words = "bytes of shared memory are more than a block of this device can have";
    ensure!(shared <= most, "{shared} {words} ({most}); choose less");
    Ok(())
}
