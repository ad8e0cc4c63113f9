//! A parsed PTX file and what a caller may know of its kernels.

use crate::ast::{Function, Position, Program, Type};
use crate::lower::Code;
use crate::{Error, Location, parser};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A parsed PTX file.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// Tells the module's global variables from those of every other module.
    pub id: u64,
    pub source: String,
    pub program: Program,
}

impl Inner {
    /// What messages say of an instruction.
    pub fn location(&self, position: Position) -> Location {
        let (start, end) = (position.text.0 as usize, position.text.1 as usize);
        let text = self.source.get(start..end).unwrap_or_default();
        let known = position.line != 0;
        let file = self.program.files.iter().find(|file| file.0 == position.file).map(|file| file.1.clone());
        Location {
            file: file.filter(|_| known),
            line: known.then_some(position.line),
            column: (known && position.column != 0).then_some(position.column),
            ptx_line: position.ptx,
            instruction: text.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

impl Module {
    /// Reads PTX.
    ///
    /// # Errors
    /// [`Error::Parse`] when the text is not PTX, [`Error::Unsupported`] for directives the simulator does not know.
    /// Instructions are looked at by [`Module::kernel`].
    pub fn parse(source: &str) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let program = parser::parse(source)?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { inner: Arc::new(Inner { id, source: source.into(), program }) })
    }

    /// PTX version: major and minor.
    pub fn version(&self) -> (u32, u32) {
        self.inner.program.version
    }

    /// The target as written, such as `sm_80`.
    pub fn target(&self) -> &str {
        &self.inner.program.target_name
    }

    /// Source files named by the line information: number and name.
    pub fn source_files(&self) -> impl Iterator<Item = (u32, &str)> {
        self.inner.program.files.iter().map(|(number, name)| (*number, name.as_str()))
    }

    /// Names of the kernels.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|function| function.name.as_str())
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
        let function = &self.inner.program.functions[index];
        let code = Code::lower(&self.inner, index)?;
        let mut offset = 0;
        let params = function.variables[..function.params]
            .iter()
            .map(|variable| {
                let bytes = variable.bytes as u32;
                offset = u32::next_multiple_of(offset, variable.align.max(1));
                let param = Param { name: variable.name.clone(), bytes, align: variable.align, offset };
                offset += bytes;
                param
            })
            .collect();
        Ok(Kernel {
            name: name.into(),
            params,
            max_threads: function.max_threads,
            required_threads: function.required_threads,
            module: self.clone(),
            code: Arc::new(code),
        })
    }
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX; NVRTC writes `matmul_param_0` and so on.
    pub name: String,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Position in the parameter area, in bytes.
    pub offset: u32,
}

/// Registers a kernel declares and uses, by kind. PTX registers are virtual: a GPU's assembler maps them to fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegisterCounts {
    /// Predicates.
    pub predicates: u32,
    /// 8- and 16-bit registers.
    pub bits16: u32,
    /// 32-bit registers.
    pub bits32: u32,
    /// 64-bit registers.
    pub bits64: u32,
}

/// A shared-memory array of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedArray {
    /// Name in the PTX, mangled as the compiler left it: `_ZZ6matmulE2As`.
    pub name: String,
    /// Name in the source, as far as the mangling shows it: `As`.
    pub source_name: String,
    /// Position in the block's shared memory, in bytes.
    pub offset: u32,
    /// Size in bytes; zero for the dynamic array, which takes the rest.
    pub bytes: u32,
}

/// A kernel ready to be launched, as often as wanted.
#[derive(Debug, Clone)]
pub struct Kernel {
    name: String,
    params: Vec<Param>,
    max_threads: Option<[u32; 3]>,
    required_threads: Option<[u32; 3]>,
    pub(crate) module: Module,
    pub(crate) code: Arc<Code>,
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Static shared memory of a block, in bytes.
    pub fn static_shared_bytes(&self) -> u32 {
        self.code.static_shared_bytes
    }

    /// Local memory of a thread, in bytes.
    pub fn local_bytes(&self) -> u32 {
        self.code.local_bytes
    }

    /// `.maxntid` (`__launch_bounds__`): largest block the kernel was compiled for, as x, y, z; only the product counts.
    pub fn max_threads(&self) -> Option<[u32; 3]> {
        self.max_threads
    }

    /// `.reqntid`: the only block the kernel may be launched with.
    pub fn required_threads(&self) -> Option<[u32; 3]> {
        self.required_threads
    }

    /// PTX registers used.
    pub fn registers(&self) -> RegisterCounts {
        self.code.registers
    }

    /// The shared arrays it declares, by position.
    pub fn shared_arrays(&self) -> &[SharedArray] {
        &self.code.shared_arrays
    }

    /// The module it comes from.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Number of instructions, and so the bound of the instruction numbers that observers see.
    pub fn instruction_count(&self) -> u32 {
        self.code.positions.len() as u32
    }

    /// Where instruction number `index` stands; an unknown number gives an empty location.
    pub fn location(&self, index: u32) -> Location {
        let position = self.code.positions.get(index as usize).copied().unwrap_or_default();
        self.module.inner.location(position)
    }

    /// The line of the source (file number and line) of instruction number `index`, when known.
    pub fn source_line(&self, index: u32) -> Option<(u32, u32)> {
        self.code.positions.get(index as usize).filter(|p| p.line != 0).map(|p| (p.file, p.line))
    }
}

/// The source name inside a mangled one: `_ZZ6matmulE2As` → `As`, `tile` → `tile`.
pub(crate) fn source_name(mangled: &str) -> String {
    // The last "<length><name>" of an Itanium name, which is how NVRTC names the statics of a kernel.
    if mangled.starts_with("_Z") {
        for start in (0..mangled.len()).rev() {
            let Some(rest) = mangled.get(start..) else { continue };
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let before = mangled.as_bytes()[start.saturating_sub(1)];
            if digits == 0 || before.is_ascii_digit() {
                continue;
            }
            let name = &rest[digits..];
            // A discriminator such as `_0` may follow the name.
            if let Ok(length) = rest[..digits].parse::<usize>()
                && length > 0
                && let Some(found) = name.get(..length)
                && (name.len() == length || name[length..].starts_with('_') || name[length..].starts_with('E'))
            {
                return found.into();
            }
        }
    }
    mangled.into()
}

/// Whether a value of the type fits a register of the kind.
pub(crate) fn register_bytes(kind: Type) -> u32 {
    kind.bytes().max(2)
}
