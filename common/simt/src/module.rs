//! A parsed PTX file, and what a caller can find out about its kernels.

use crate::config::LaunchConfig;
use crate::memory::{DevicePointer, GlobalMemory};
use crate::variables::place;
use ptx::ast::{Function, Position, Type, Variable};
use ptx::error::{Error, Location};
use ptx::lower::inst::Op;
use ptx::lower::{Code, Register, SharedArray, WarpgroupProduct, lower};
use ptx::parsed::Parsed;
use ptx::parser;
use ptx::place::Space;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

type Lowered = OnceLock<Result<Arc<Code>, Error>>;

/// A parsed PTX file.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) inner: Arc<Parsed>,
    /// The code of each function, by the function's number, once it has been asked for.
    lowered: Arc<[Lowered]>,
}

impl Module {
    /// Reads PTX.
    ///
    /// # Errors
    /// [`Error::Parse`] when the text is not PTX, [`Error::Unsupported`] for directives the simulator does not know.
    /// [`Module::kernel`] checks the instructions.
    pub fn parse(source: &str) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let program = parser::parse(source)?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let lowered = program.functions.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { inner: Arc::new(Parsed::new(id, source, program)?), lowered })
    }

    /// Number and name of each source file that the line information refers to.
    pub fn source_files(&self) -> impl Iterator<Item = (u32, &str)> {
        self.inner.program.files.iter().map(|(number, name)| (*number, name.as_str()))
    }

    /// Names of the kernels.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|function| function.name.as_str())
    }

    /// Allocates and initialises all `__device__` and `__constant__` variables, as a driver does when it loads the module; a launch
    /// only does so for those that its kernel uses. Returns name, address and size in bytes of each.
    ///
    /// # Errors
    /// [`Error::Usage`] when the host has no memory left, or an initial value names what has no address.
    pub fn place(&self, memory: &mut GlobalMemory) -> Result<Vec<(String, DevicePointer, u64)>, Error> {
        let all = &self.inner.program.variables;
        let placed = |of: &Variable| matches!(of.space, Space::Global | Space::Constant) && !of.external;
        let wanted: Vec<u32> = (0u32..).zip(all).filter(|(_, of)| placed(of)).map(|(number, _)| number).collect();
        let addresses = place(&self.inner, wanted.clone(), memory)?;
        let found = |number: u32| {
            let variable = &all[number as usize];
            (variable.name.clone(), DevicePointer(addresses[number as usize]), variable.bytes)
        };
        Ok(wanted.into_iter().map(found).collect())
    }

    /// Frees the module's variables.
    pub fn free(&self, memory: &mut GlobalMemory) {
        memory.forget(self.inner.id);
    }

    fn entries(&self) -> impl Iterator<Item = &Function> {
        self.inner.program.functions.iter().filter(|function| function.entry && function.defined)
    }

    /// Prepares a kernel to run.
    ///
    /// # Errors
    /// [`Error::Usage`] when there is no such kernel, [`Error::Unsupported`] when it uses an instruction the simulator
    /// does not know, [`Error::Parse`] when an instruction is not well formed.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let Some(index) = self.inner.program.functions.iter().position(|f| f.entry && f.defined && f.name == name)
        else {
            let names: Vec<_> = self.kernel_names().collect();
            let known = if names.is_empty() { "none".into() } else { names.join(", ") };
            return Err(Error::usage(format!("no kernel called {name} in the PTX; it has: {known}")));
        };
        Ok(Kernel {
            function: index,
            params: params(&self.inner.program.functions[index]),
            module: self.clone(),
            code: self.lowered[index].get_or_init(|| lower(&self.inner, index).map(Arc::new)).clone()?,
        })
    }

    /// The parameters of a kernel, without preparing it to run; `None` if there is no kernel of this name.
    pub fn params(&self, name: &str) -> Option<Vec<Param>> {
        self.entries().find(|function| function.name == name).map(params)
    }
}

fn params(function: &Function) -> Vec<Param> {
    let mut offset = 0;
    let param = |variable: &Variable| {
        let bytes = variable.bytes as u32;
        offset = u32::next_multiple_of(offset, variable.align.max(1));
        let param = Param { name: variable.name.clone(), kind: variable.kind, bytes, offset };
        offset += bytes;
        param
    };
    function.variables[..function.params.len()].iter().map(param).collect()
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// Its name in the PTX; NVRTC writes `matmul_param_0` and so on.
    pub name: String,
    /// Its type; the type of an element if it is an array.
    pub kind: Type,
    /// Size in bytes.
    pub bytes: u32,
    /// Position in the parameter area, in bytes.
    pub offset: u32,
}

/// A kernel that is ready to be launched, any number of times.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its number in the program.
    function: usize,
    params: Vec<Param>,
    pub(crate) module: Module,
    pub(crate) code: Arc<Code>,
}

/// Memory that unfinished blocks may take for each host thread, roughly, in bytes.
const WAITING_BYTES: usize = 256 << 20;
/// The smallest and the largest number of unfinished blocks for each host thread.
const WAITING: (usize, usize) = (4, 1024);

impl Kernel {
    fn function(&self) -> &Function {
        &self.module.inner.program.functions[self.function]
    }

    /// The kernel's name in the PTX.
    pub fn name(&self) -> &str {
        &self.function().name
    }

    /// The kernel's parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Whether the kernel names `__constant__` variables.
    pub(crate) fn reads_constants(&self) -> bool {
        let variables = &self.module.inner.program.variables;
        self.code.variables.iter().any(|&number| variables[number as usize].space == ptx::place::Space::Constant)
    }

    /// Static shared memory of a block, in bytes.
    pub fn static_shared_bytes(&self) -> u32 {
        self.code.static_shared_bytes
    }

    /// Shared memory of a block in a launch, static and dynamic, in bytes.
    pub(crate) fn shared_bytes(&self, config: &LaunchConfig) -> u32 {
        self.own_shared_bytes(config).saturating_add(self.code.reserved_bytes())
    }

    /// The part that belongs to the kernel. What the system reserves lies behind it.
    pub(crate) fn own_shared_bytes(&self, config: &LaunchConfig) -> u32 {
        let own = if config.dynamic_shared_bytes > 0 {
            self.code.dynamic_shared_offset.saturating_add(config.dynamic_shared_bytes)
        } else {
            self.code.static_shared_bytes
        };
        if self.code.reserved_bytes() > 0 { own.next_multiple_of(16) } else { own }
    }

    /// Number of unfinished blocks that a host thread keeps. Unless the launch sets it, there is more than one only if blocks may
    /// wait for each other.
    pub(crate) fn resident_blocks(&self, config: &LaunchConfig) -> usize {
        let code = &self.code;
        if config.resident > 0 {
            return config.resident;
        }
        let warps = (config.block.count() as usize).div_ceil(32);
        // Observers need several times as much memory as the block's shared memory.
        let shared = self.shared_bytes(config) as usize * 16;
        let caches = code.facts.len() * 32;
        let bytes = warps * (code.planes as usize * 128 + code.local_bytes as usize * 32) + shared + caches;
        if code.communicates { (WAITING_BYTES / bytes.max(1)).clamp(WAITING.0, WAITING.1) } else { 1 }
    }

    /// Local memory of a thread, in bytes.
    pub fn local_bytes(&self) -> u32 {
        self.code.local_bytes
    }

    /// `.maxntid` (`__launch_bounds__`): the largest block that the kernel was compiled for, as x, y, z; only the product matters.
    pub fn max_threads(&self) -> Option<[u32; 3]> {
        self.function().max_threads
    }

    /// `.reqntid`: the only block size that the kernel may be launched with.
    pub fn required_threads(&self) -> Option<[u32; 3]> {
        self.function().required_threads
    }

    /// The shared arrays that the kernel declares, sorted by position.
    pub fn shared_arrays(&self) -> &[SharedArray] {
        &self.code.shared_arrays
    }

    /// The registers that instruction number `index` writes, except those that nothing reads.
    pub fn registers_written(&self, index: u32) -> impl Iterator<Item = &Register> {
        self.code.registers_written(index)
    }

    /// What instruction number `index` multiplies, if it is a `wgmma`.
    pub fn warpgroup_product(&self, index: u32) -> Option<WarpgroupProduct> {
        let inst = self.code.insts.iter().find(|inst| inst.pc == index && inst.op == Op::Warpgroup)?;
        self.code.matrices[inst.imm as usize].op.product().map(WarpgroupProduct::of)
    }

    /// The module that the kernel comes from.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Number of instructions. The instruction numbers that observers see are smaller.
    pub fn instruction_count(&self) -> u32 {
        self.code.facts.len() as u32
    }

    /// Where instruction number `index` is; for an unknown number, an empty location. If the compiler has merged the stores of
    /// several lines into one, the location is the last of these lines.
    pub fn location(&self, index: u32) -> Location {
        let at = |index: u32| {
            let position = self.code.facts.get(index as usize).map_or_else(Position::default, |facts| facts.position);
            self.module.inner.location(position)
        };
        let own = at(index);
        if own.line.is_some() || !own.instruction.contains("st.shared") && !own.instruction.contains("st.global") {
            return own;
        }
        let merged = (0..index).rev().map(at).find(|before| before.line.is_some()).unwrap_or_default();
        Location { ptx_line: own.ptx_line, instruction: own.instruction, ..merged }
    }

    /// The line of the source (file number and line) of instruction number `index`, when known.
    pub fn source_line(&self, index: u32) -> Option<(u32, u32)> {
        let position = self.code.facts.get(index as usize)?.position;
        (position.line != 0).then_some((position.file, position.line))
    }
}
