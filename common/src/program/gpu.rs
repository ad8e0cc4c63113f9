//! The device as a host driver uses it: allocate, copy, launch.
//!
//! A call does what its name says on the device that the command line chooses, and remembers it: `time` launches again what was
//! launched, and `verify` says what was left out.

use std::cell::RefMut;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, Error, Result, ensure};

use crate::basics::{Operands, Side};
use crate::code::{Code, Source};
use crate::device::session::{Started, check_arguments, check_launch, load};
use crate::device::{Buffer, Device, KernelHandle, simulator};
use crate::measure::capacity;
use crate::program::asked::{Asked, Purpose};
use crate::program::matrix::Matrix;
use findings::{KernelFault, Observations};
use plan::{Launch, Plan, Problem};
use why::Finding;

/// Dynamic shared memory in bytes that a block may have if no more is allowed.
const SHARED_BYTES: u32 = 48 * 1024;

/// A GPU, or the simulator of one, open for one product.
pub struct Gpu<'a> {
    pub(super) asked: &'a Asked<'a>,
    pub(super) device: RefMut<'a, Box<dyn Device>>,
    pub(super) source: Source,
    /// The problem that the user wants solved.
    pub(super) problem: Problem,
    /// The step's plan, from [`Gpu::plan`] on.
    pub(super) planned: Option<Plan>,
    /// The plan for which the kernel was compiled, from [`Gpu::compile`] on.
    pub(super) plan: Option<Plan>,
    /// The code, from [`Gpu::compile`] on.
    pub(super) code: Option<Code>,
    memory: Vec<Memory>,
    /// A and B, once one of them was copied to the device.
    operands: Option<Rc<Operands>>,
    pub(super) launched: Vec<(Launch, Started)>,
    /// What was copied back last, and how many launches there had been.
    pub(super) copied_back: Option<(Buffer, usize)>,
    /// When the first launch began, until it is known to have ended.
    begin: Option<Instant>,
    /// What went wrong in a launch. As on a GPU, it shows when the result is wanted.
    pub(super) fault: Option<Error>,
    pub(super) observations: Observations,
    /// What is wrong with the kernel, if that was asked.
    pub(super) findings: Option<Vec<Finding>>,
}

/// An allocation.
struct Memory {
    buffer: Buffer,
    name: String,
    elements: u64,
    /// Which operand was copied there.
    holds: Option<Side>,
}

/// A kernel, compiled and loaded. It may have several entries.
pub struct Compiled {
    entries: HashMap<String, KernelHandle>,
    shared_bytes: u32,
}

impl<'a> Gpu<'a> {
    /// Opens the device that the command line chooses, and reads the source of the kernel.
    pub fn open(asked: &'a Asked<'a>) -> Result<Self> {
        let device = asked.device()?;
        let source = match &asked.purpose {
            Purpose::Trial(trial) => trial.source.clone(),
            _ => asked.options.source()?,
        };
        let problem = asked.problem(device.info().kind);
        Ok(Self {
            asked,
            device,
            source,
            problem,
            planned: None,
            plan: None,
            code: None,
            memory: Vec::new(),
            operands: None,
            launched: Vec::new(),
            copied_back: None,
            begin: None,
            fault: None,
            observations: Observations::default(),
            findings: None,
        })
    }

    /// The problem: M, N, K, the type of the elements, and the seed from which they are drawn.
    pub fn problem(&self) -> Problem {
        if let Purpose::Twin(twin) = self.asked.purpose { twin } else { self.problem }
    }

    /// The step's plan for the problem on this device, or that of the variant or of the learner's kernel. Fails if the problem
    /// exceeds a limit of the step, or does not fit the memory.
    pub fn plan(&mut self) -> Result<Plan> {
        let plan = self.asked.options.plan(&self.source, &self.problem, self.device.info())?;
        capacity::ensure_fits(&self.problem, Some(&plan), self.device.as_ref(), 0)?;
        self.planned = Some(plan.clone());
        Ok(plan)
    }

    /// Compiles the kernel with the constants of the plan, or takes its committed PTX, and loads it.
    pub fn compile(&mut self, plan: &Plan) -> Result<Compiled> {
        let info = self.device.info();
        let code = match &self.asked.purpose {
            Purpose::Trial(trial) if trial.plan.specialisation == plan.specialisation => trial.code.clone(),
            Purpose::Trial(_) => self.source.compiled(&plan.specialisation, info)?,
            _ => self.source.code(&plan.specialisation, info)?,
        };
        let analyses = simulator(self.device.as_mut()).map_or(0, |sim| sim.analyses_bytes(&self.problem, plan, &code));
        capacity::ensure_fits(&self.problem, Some(plan), self.device.as_ref(), analyses)?;
        let entries = load(self.device.as_mut(), plan, &code)?;
        (self.plan, self.code) = (Some(plan.clone()), Some(code));
        // The learner's own kernel has what --shared or its line `// launch:` asks for; a step asks by itself.
        let own = self.asked.options.args.kernel.as_ref().map(|_| self.device.info().max_shared_bytes);
        Ok(Compiled { entries, shared_bytes: own.unwrap_or(SHARED_BYTES) })
    }

    /// Allows the kernel's blocks this much dynamic shared memory, in bytes. More than 48 KiB must be asked for.
    pub fn allow_shared_bytes(&self, kernel: &mut Compiled, bytes: u32) -> Result<()> {
        let (most, words) = (self.device.info().max_shared_bytes, "bytes of shared memory are more than a block of");
        ensure!(bytes <= most, "{bytes} {words} this device can have ({most}); choose less");
        kernel.shared_bytes = kernel.shared_bytes.max(bytes);
        Ok(())
    }

    /// Allocates memory for so many elements. It holds a pattern that no kernel leaves by accident. Messages about accesses call it
    /// by its name.
    pub fn allocate(&mut self, name: &str, elements: u64) -> Result<Buffer> {
        let buffer = self.device.alloc(name, elements * 4)?;
        let name = name.to_owned();
        self.memory.push(Memory { buffer, name, elements, holds: None });
        self.device.fill(buffer, self.problem.dtype.poison_byte())?;
        Ok(buffer)
    }

    /// Copies a matrix of the host to the device.
    pub fn copy_to_device(&mut self, matrix: &Matrix, to: Buffer) -> Result<()> {
        let (bytes, memory) = (matrix.bytes(), known(&mut self.memory, to)?);
        let (has, takes) = (memory.elements, bytes.len() as u64 / 4);
        let name = &memory.name;
        ensure!(
            takes <= has,
            "a matrix of {takes} elements is copied to {name}, which was allocated with {has}; allocate {takes}"
        );
        memory.holds = matrix.side();
        self.operands = matrix.operands().or(self.operands.take());
        self.device.write(to, 0, bytes)
    }

    /// Launches the kernel. The arguments of the launch point into these arrays: A, B, C and, if the plan has one, a workspace. On a
    /// GPU this returns before the kernel ends.
    pub fn launch(&mut self, kernel: &Compiled, launch: &Launch, arrays: &[Buffer]) -> Result<()> {
        check_launch(self.device.as_ref(), launch)?;
        self.code.iter().try_for_each(|code| check_arguments(code, launch))?;
        let (bytes, most) = (launch.shared_bytes, kernel.shared_bytes);
        ensure!(
            bytes <= most,
            "the launch asks for {bytes} bytes of shared memory, and more than {most} must be allowed first; call \
             allow_shared_bytes before launch"
        );
        let entry = launch.entry.as_str();
        let kernel = *kernel
            .entries
            .get(entry)
            .with_context(|| format!("no kernel {entry} was compiled; add it to the plan"))?;
        if self.launched.is_empty() {
            self.device.synchronize()?;
            self.begin = Some(Instant::now());
        }
        self.launched.push((launch.clone(), (kernel, arrays.to_vec())));
        if self.fault.is_none() {
            let launched = self.device.launch(kernel, launch, arrays);
            self.heed(launched)?;
        }
        Ok(())
    }

    /// Waits for the launches, and copies memory of the device to the host.
    pub fn copy_to_host(&mut self, from: Buffer) -> Result<Matrix> {
        let memory = known(&mut self.memory, from)?;
        let mut matrix = Matrix::poisoned(&self.problem, memory.elements)?;
        self.copied_back = Some((from, self.launched.len()));
        if self.fault.is_none() {
            let ended = self.device.synchronize();
            self.heed(ended)?;
        }
        if let Some(begin) = self.begin.take() {
            let first = &self.asked.first_run;
            first.set(first.get().or(Some(begin.elapsed().as_secs_f64() * 1e3)));
        }
        if self.fault.is_none() {
            let read = self.device.read(from, 0, bytemuck::cast_slice_mut(matrix.words_mut()));
            self.heed(read)?;
        }
        Ok(matrix)
    }

    /// Keeps a fault of the kernel for the verdict; any other error is returned.
    fn heed(&mut self, done: Result<()>) -> Result<()> {
        let Err(error) = done else { return Ok(()) };
        ensure_fault(error).map(|fault| self.fault = Some(fault))
    }

    /// A and B of the user's problem.
    pub(super) fn operands(&self) -> Result<Rc<Operands>> {
        let known = self.operands.clone().filter(|_| !matches!(self.asked.purpose, Purpose::Twin(_)));
        known.map_or_else(|| Ok(Rc::new(Operands::new(&self.problem)?)), Ok)
    }

    /// The memory to which an operand was copied.
    pub(super) fn holding(&self, side: Side) -> Option<Buffer> {
        self.memory.iter().find(|memory| memory.holds == Some(side)).map(|memory| memory.buffer)
    }

    /// The elements with which some memory was allocated.
    pub(super) fn elements(&self, buffer: Buffer) -> u64 {
        self.memory.iter().find(|memory| memory.buffer == buffer).map_or(0, |memory| memory.elements)
    }

    /// The name of some memory.
    pub(super) fn name(&self, buffer: Buffer) -> &str {
        self.memory.iter().find(|memory| memory.buffer == buffer).map_or("other memory", |memory| memory.name.as_str())
    }
}

fn ensure_fault(error: Error) -> Result<Error> {
    if KernelFault::behind(&error).is_some() { Ok(error) } else { Err(error) }
}

fn known(memory: &mut [Memory], buffer: Buffer) -> Result<&mut Memory> {
    memory
        .iter_mut()
        .find(|memory| memory.buffer == buffer)
        .context("this memory is not of this device; allocate it there")
}

impl Drop for Gpu<'_> {
    fn drop(&mut self) {
        for memory in &self.memory {
            // A device that fails here has failed before, which was said.
            let _ = self.device.free(memory.buffer);
        }
    }
}
