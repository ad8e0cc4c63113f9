//! From a kernel's source to code a device can load: NVRTC where it is found, else the committed PTX.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Error, Result, anyhow, bail, ensure};
use hmac_sha256::Hash;
use simt::{Param, Type};

use crate::basics::driver::driver_version;
use crate::basics::{escape, files, io_reason, packed, workspace};
use crate::code::assembled::{Assembled, Kernels};
use crate::code::{find_nvrtc, find_rustc, rust};
use compile::nvrtc::Nvrtc;
use compile::rustc::Rustc;
use compile::{Headers, Job, Unit, beside, headers, rustc};
use findings::places::may_be_shown;
use plan::info::{DeviceInfo, Kind};
use plan::{Dtype, Specialisation, Step, Variant};

/// The folder of a step.
pub fn folder_of(step: &Step) -> PathBuf {
    workspace::root().join(step.folder)
}

/// The file of a step's kernel, or of one of its variants.
pub fn file_of(step: &Step, variant: Option<&Variant>) -> PathBuf {
    folder_of(step).join(variant.map_or("kernel.cu".to_owned(), Variant::file))
}

/// A kernel source as it lies on the disk now.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// The file as people should see it, relative to the workspace.
    pub display: String,
    /// Its text.
    pub text: String,
    /// SHA-256 of the text and of the local headers it includes, in hexadecimal.
    pub hash: String,
    /// What it includes from beside it and from its step, or why it may not.
    pub headers: Result<Headers, String>,
}

/// Code that a device can load.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// PTX text.
    pub ptx: String,
    /// Machine code of the device, if PTX would not load.
    pub cubin: Option<Vec<u8>>,
    /// Where it comes from, for messages: a file, and how it was compiled.
    pub origin: String,
    /// Name of the committed file, if it is one.
    pub committed: Option<String>,
    /// What the assembler makes of it; known for committed PTX only.
    pub machine: Kernels,
    /// Text of the CUDA C source and its integer constants; messages take the extents of shared arrays from them.
    pub source: (String, Vec<(String, i64)>),
    /// The PTX parsed by the simulator, filled on first use of any copy of this code.
    module: Arc<OnceLock<Result<simt::Module, simt::Error>>>,
}

impl Code {
    /// Code of which only the PTX is known.
    pub fn of_ptx(ptx: String, origin: String) -> Self {
        Self { ptx, origin, ..Self::default() }
    }

    /// Other PTX for the same source.
    #[must_use]
    pub fn with_ptx(&self, ptx: String) -> Self {
        Self { ptx, module: Arc::default(), ..self.clone() }
    }

    /// The PTX parsed by the simulator; it is parsed once.
    pub fn module(&self) -> Result<&simt::Module> {
        let module = self.module.get_or_init(|| simt::Module::parse(&self.ptx));
        module.as_ref().map_err(|error| anyhow!("{error}").context(self.origin.clone()))
    }
}

/// SHA-256 in hexadecimal.
pub fn hash(text: &str) -> String {
    hex(Hash::hash(text.as_bytes()))
}

fn hex(hash: [u8; 32]) -> String {
    hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

impl Source {
    /// Reads `.cu`, `.rs` or `.ptx`. The error says why the file is not a kernel.
    pub fn read(path: &Path) -> Result<Self> {
        let display = workspace::display(path);
        let text = files::text(path).map_err(|error| {
            anyhow!("{display} cannot be read ({}); give a .cu, .rs or .ptx file", io_reason(&error))
        })?;
        ensure!(!text.contains('\0'), "{display} is not a text; give CUDA C (.cu), Rust (.rs) or PTX (.ptx)");
        ensure!(!text.trim().is_empty(), "{display} is empty; it must hold the kernel matmul");
        let mut source = Self {
            path: path.to_owned(),
            display,
            text: escape(&text),
            hash: String::new(),
            headers: Ok(Headers::new()),
        };
        source.include(&folders(path));
        Ok(source)
    }

    /// Looks for headers where `kernel` has them, too: a learner's copy of it may include what it includes.
    #[must_use]
    pub fn with_headers_of(mut self, kernel: &Path) -> Self {
        self.include(&[folders(&self.path), folders(kernel)].concat());
        self
    }

    /// Finds the headers in these folders. From now on messages may quote their lines and those of the source.
    fn include(&mut self, folders: &[PathBuf]) {
        may_be_shown(&self.compiled_name(), &self.text);
        let mut hasher = Hash::new();
        // Line endings do not change a kernel, and git may change them on Windows.
        hasher.update(self.text.replace("\r\n", "\n"));
        if self.is_ptx() {
            // The source that the PTX names, if it is beside the file.
            for name in self.text.lines().filter_map(|line| line.trim_start().strip_prefix(".file")?.split('"').nth(1))
            {
                if let Some(text) = folders.first().and_then(|folder| beside(folder, name)) {
                    may_be_shown(name, &text);
                }
            }
        } else {
            let of_rust = || rustc::bounded(&self.text).and_then(|()| rust::gpu());
            let found = if self.is_rust() { of_rust() } else { headers(&self.text, folders, &workspace::display) };
            self.headers = found.map_err(|error| format!("{}: {error:#}", self.display));
        }
        for [_, text, file] in self.headers.iter().flatten() {
            may_be_shown(file, text);
            hasher.update(text.replace("\r\n", "\n"));
        }
        self.hash = hex(hasher.finalize());
    }

    /// The comment at the head of the file, as one line.
    pub fn comment(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//")).map(str::trim);
        lines.collect::<Vec<_>>().join(" ")
    }

    /// Whether the file is PTX already.
    pub fn is_ptx(&self) -> bool {
        files::kind(&self.path) == Some("ptx")
    }

    /// Whether what compiles this kernel is there and works.
    pub fn compiler(&self) -> Result<()> {
        if self.is_rust() {
            return find_rustc().map(drop);
        }
        if self.is_ptx() { Ok(()) } else { find_nvrtc()?.try_out() }
    }

    /// Whether the file is a kernel in Rust.
    pub fn is_rust(&self) -> bool {
        files::kind(&self.path) == Some("rs")
    }

    /// The file's name without folder and extension: `kernel`.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The `ptx/` folder of the step that the file belongs to, if it belongs to one.
    pub fn committed_folder(&self) -> Option<PathBuf> {
        // A variant lies one folder deeper than its step's kernel.
        self.path.ancestors().skip(1).take(2).map(|step| step.join("ptx")).find(|ptx| ptx.is_dir())
    }

    /// Code for the device: the file itself if it is PTX, else what is committed of it, or what is compiled. It is made once in a
    /// program.
    pub fn code(&self, specialisation: &Specialisation, device: &DeviceInfo) -> Result<Code> {
        self.known(specialisation, device, self.committed_folder().as_deref())
    }

    /// Code for the device without what is committed: the file itself if it is PTX, else compiled. It is made once in a program.
    pub fn compiled(&self, specialisation: &Specialisation, device: &DeviceInfo) -> Result<Code> {
        self.known(specialisation, device, None)
    }

    fn known(&self, specialisation: &Specialisation, device: &DeviceInfo, committed: Option<&Path>) -> Result<Code> {
        static KNOWN: Mutex<BTreeMap<String, Code>> = Mutex::new(BTreeMap::new());
        let DeviceInfo { kind, compute_capability, .. } = device;
        let key =
            format!("{} {} {specialisation:?} {kind:?} {compute_capability} {committed:?}", self.display, self.hash);
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = known().get(&key) {
            return Ok(code.clone());
        }
        // Others need not wait while a compiler works.
        let code = self.made(specialisation, device, committed)?;
        known().insert(key, code.clone());
        Ok(code)
    }

    fn made(&self, specialisation: &Specialisation, device: &DeviceInfo, committed: Option<&Path>) -> Result<Code> {
        if self.is_ptx() {
            return Ok(Code::of_ptx(self.text.clone(), self.display.clone()));
        }
        if let Some(other) = specialisation.source.as_ref().filter(|other| **other != self.stem()) {
            let other = Self::read(&self.path.with_file_name(format!("{other}.cu")))?;
            return other.made(specialisation, device, committed);
        }
        let stored = match committed.map(|folder| self.committed(specialisation, device, folder)) {
            // The simulator runs what is committed, so that its counts are the same on every machine. Of a kernel in Rust both
            // devices do: compilers differ, and nobody needs one for the course's own kernels.
            Some(Ok(code)) if self.is_rust() || device.kind != Kind::Cuda => return Ok(code),
            stored => stored,
        };
        let compiled = if self.is_rust() {
            find_rustc().map(|rustc| self.compile_rust(specialisation, device, rustc))
        } else {
            find_nvrtc().map(|nvrtc| self.compile_for(specialisation, device, nvrtc))
        };
        match (compiled, stored) {
            // The committed PTX shows that the kernel compiles: NVRTC is missing, incomplete, or too new for the GPU.
            (Err(_) | Ok(Err(_)), Some(Ok(code))) => Ok(code),
            (Ok(compiled), _) => compiled,
            (Err(error), Some(Err(reason))) => Err(anyhow!("{reason}, and {error}")),
            (Err(error), None) => Err(anyhow!("{} must be compiled, and {error}", self.display)),
        }
    }

    fn compile_for(&self, specialisation: &Specialisation, device: &DeviceInfo, nvrtc: &Nvrtc) -> Result<Code> {
        // The simulator knows the instructions of compute capability 8.0 and needs none that are newer.
        let newest = device.compute_capability.min(if device.kind == Kind::Cuda { u32::MAX } else { 80 });
        let target = if specialisation.only { specialisation.target } else { nvrtc.target_for(newest)? };
        let (major, minor) = nvrtc.version;
        // A driver older than NVRTC does not know its PTX, but runs machine code of the same major version.
        let newer = driver_version().is_some_and(|driver| driver < (major * 1000 + minor * 10) as i32);
        let real = device.kind == Kind::Cuda && newer && target == device.compute_capability;
        let architecture = Specialisation { target, ..specialisation.clone() }.architecture();
        let architecture = format!("{}_{architecture}", if real { "sm" } else { "compute" });
        let mut unit = self.unit(options(specialisation, &architecture))?;
        unit.options.extend(nvrtc.header_folders().iter().map(|folder| format!("--include-path={}", folder.display())));
        let compiled = compile::compile(&Job::Cuda(nvrtc.path.clone(), unit))?;
        let origin = format!("{}, compiled by {} for {architecture}", self.display, nvrtc.name());
        let code = Code::of_ptx(self.relative_files(&compiled.ptx), origin);
        Ok(Code { cubin: compiled.cubin, source: self.with_constants(specialisation), ..code })
    }

    fn compile_rust(&self, specialisation: &Specialisation, device: &DeviceInfo, rustc: &Rustc) -> Result<Code> {
        // Asynchronous copies need compute capability 8.0; the simulator needs nothing newer.
        let target = specialisation.target.max(device.compute_capability.min(80));
        let ptx = self.rust_ptx(&specialisation.clone().for_target(target), rustc)?;
        let origin = format!("{}, compiled by {} for sm_{target}", self.display, rustc.version);
        Ok(Code { source: self.with_constants(specialisation), ..Code::of_ptx(ptx, origin) })
    }

    fn rust_ptx(&self, specialisation: &Specialisation, rustc: &Rustc) -> Result<String> {
        let mut unit = self.unit(vec![format!("-Ctarget-cpu=sm_{}", specialisation.target)])?;
        unit.headers.push(["host".into(), rust::host(specialisation), String::new()]);
        Ok(compile::compile(&Job::Rust(rustc.clone(), unit))?.ptx)
    }

    /// PTX of another text in place of this source's, compiled like it; or the compiler's whole log. `debug` asks for code that is
    /// not optimised, in which every line keeps its instructions. None if there is no compiler for such a text here.
    pub fn compiled_text(
        &self,
        text: String,
        specialisation: &Specialisation,
        debug: bool,
    ) -> Option<Result<String, String>> {
        if self.is_rust() || self.is_ptx() || specialisation.source.as_ref().is_some_and(|other| *other != self.stem())
        {
            return None;
        }
        let nvrtc = find_nvrtc().ok()?;
        let target = if specialisation.only { specialisation.target } else { nvrtc.target_for(80).ok()? };
        let architecture = Specialisation { target, ..specialisation.clone() }.architecture();
        let mut unit = self.unit(options(specialisation, &format!("compute_{architecture}"))).ok()?;
        unit.options.retain(|option| option != "-lineinfo");
        unit.options.extend(debug.then(|| "--device-debug".to_owned()));
        unit.options.extend(nvrtc.header_folders().iter().map(|folder| format!("--include-path={}", folder.display())));
        (unit.source, unit.whole_log) = (text, true);
        let compiled = compile::compile(&Job::Cuda(nvrtc.path.clone(), unit));
        Some(compiled.map(|compiled| compiled.ptx).map_err(|error| format!("{error:#}")))
    }

    /// Whether `ptx` was made from this source with this specialisation, by any compiler.
    pub fn gave(&self, specialisation: &Specialisation, ptx: &str) -> bool {
        ptx.starts_with(&self.header(specialisation))
    }

    /// The PTX that is committed for this source and specialisation, with its header.
    pub fn compile_to_commit(&self, specialisation: &Specialisation) -> Result<String> {
        let (compiler, ptx) = if self.is_rust() {
            let rustc = find_rustc()?;
            (rustc.version.clone(), self.rust_ptx(specialisation, rustc)?)
        } else {
            let nvrtc = find_nvrtc()?;
            let unit = self.unit(options(specialisation, &format!("compute_{}", specialisation.architecture())))?;
            let ptx = self.relative_files(&compile::compile(&Job::Cuda(nvrtc.path.clone(), unit))?.ptx);
            // Constants of NVRTC's built-in header that no kernel uses; they would add 4,600 bytes to every file.
            let unused = |line: &&str| line.starts_with(".global ") && line.contains("2nv6target");
            (nvrtc.name(), ptx.split_inclusive('\n').filter(|line| !unused(line)).collect())
        };
        Ok(format!("{}// made by {compiler}; regenerate it with cargo x ptx\n{ptx}", self.header(specialisation)))
    }

    /// Name of the committed file.
    pub fn committed_name(&self, specialisation: &Specialisation) -> String {
        let stem = if self.is_rust() { format!("{}_rust", self.stem()) } else { self.stem() };
        format!("{}.sm{}.ptx", specialisation.stem(&stem), specialisation.architecture())
    }

    fn committed(&self, specialisation: &Specialisation, device: &DeviceInfo, folder: &Path) -> Result<Code> {
        let [needed, found] =
            [specialisation.target, device.compute_capability].map(|of| format!("{}.{}", of / 10, of % 10));
        ensure!(
            specialisation.target <= device.compute_capability,
            "the committed PTX of {} is for compute capability {needed} and newer, this device has {found}",
            self.display
        );
        let name = self.committed_name(specialisation);
        let path = packed::place(&folder.join(&name));
        let origin = workspace::display(&path);
        let ptx = packed::read(&path).map_err(|_| match specialisation.dtype {
            Dtype::I32 => anyhow!("{} is committed for --dtype f32 only (there is no {origin})", self.display),
            Dtype::F32 if self.has_wide_form(specialisation, folder) => {
                anyhow!("{} is committed for an N that is a multiple of 4 only (there is no {origin})", self.display)
            }
            Dtype::F32 => anyhow!("{} has no PTX at {origin}", self.display),
        })?;
        let header = self.header(specialisation);
        let source = header.lines().next().unwrap_or_default();
        ensure!(ptx.starts_with(source), "{} has changed since its PTX was made", self.display);
        ensure!(ptx.starts_with(&header), "the PTX of {} was made with other constants", self.display);
        let machine = Assembled::read(folder).files.remove(&name).map(|(_, kernels)| kernels);
        Ok(Code {
            committed: Some(name),
            machine: machine.unwrap_or_default(),
            source: self.with_constants(specialisation),
            ..Code::of_ptx(ptx, format!("{}, committed as {origin}", self.display))
        })
    }

    /// Whether PTX is committed for the form that copies four elements at once; `specialisation` copies one.
    fn has_wide_form(&self, specialisation: &Specialisation, folder: &Path) -> bool {
        let wide = specialisation.name.strip_suffix("v1").map(|tile| format!("{tile}v4"));
        let wide = wide.map(|name| self.committed_name(&Specialisation { name, ..specialisation.clone() }));
        wide.is_some_and(|name| packed::place(&folder.join(name)).is_file())
    }

    fn with_constants(&self, specialisation: &Specialisation) -> (String, Vec<(String, i64)>) {
        let constants =
            specialisation.defines.iter().filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?)));
        let text = if self.is_rust() { rust::declarations(&self.text) } else { self.text.clone() };
        (text, constants.collect())
    }

    /// What ties committed PTX to its source: the first lines of the file.
    fn header(&self, specialisation: &Specialisation) -> String {
        let (target, defines) = (specialisation.architecture(), defines(specialisation).join(" "));
        format!("// source: {} sha256 {}\n// target: compute_{target} {defines}\n", self.display, self.hash)
    }

    fn unit(&self, options: Vec<String>) -> Result<Unit> {
        let headers = self.headers.clone().map_err(Error::msg)?;
        Ok(Unit { source: self.text.clone(), name: self.compiled_name(), options, headers, whole_log: false })
    }

    /// The file name given to compilers: it cannot be taken for an option, and no quote in it ends it early in PTX.
    fn compiled_name(&self) -> String {
        let name = self.display.replace('"', "'");
        if name.starts_with('-') { name.replacen('-', "_", 1) } else { name }
    }

    /// Makes the absolute paths that NVRTC writes into `.file` relative to the workspace, so that PTX is the same on every
    /// machine. The kernel and its headers keep the names under which they were compiled.
    fn relative_files(&self, ptx: &str) -> String {
        let root = format!("{}/", workspace::root().display());
        let here = std::env::current_dir().map(|folder| format!("{}/", folder.display())).unwrap_or_default();
        let headers = self.headers.iter().flatten().map(|[name, _, file]| (name, file));
        let own = self.compiled_name();
        let names: Vec<(&String, &String)> = std::iter::once((&own, &own)).chain(headers).collect();
        let relative = |line: &str| {
            if !line.trim_start().starts_with(".file") {
                return line.to_owned();
            }
            // NVRTC takes a name for one in the current folder, which need not be the workspace's root.
            let written = |name: &str| format!("\"{here}{name}\"");
            if let Some((name, file)) = names.iter().find(|(name, _)| line.contains(&written(name))) {
                return line.replace(&written(name), &format!("\"{file}\""));
            }
            let line = line.replace(&root, "");
            if here.len() > 1 { line.replace(&here, "") } else { line }
        };
        ptx.trim_end().lines().map(|line| relative(line) + "\n").collect()
    }
}

/// Folders with the headers of a kernel: its own, and its step's if it is a rung or a variant.
fn folders(kernel: &Path) -> Vec<PathBuf> {
    let folder = files::folder_of(kernel);
    let step = folder.parent().filter(|step| step.join("ptx").is_dir());
    std::iter::once(folder).chain(step).map(Path::to_owned).collect()
}

fn defines(specialisation: &Specialisation) -> Vec<String> {
    let own = specialisation.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
    std::iter::once(format!("-DELEMENT={}", specialisation.dtype.c_type())).chain(own).collect()
}

/// NVRTC's options. A kernel's headers are passed along with it, so the compiler need not look beside the file.
fn options(specialisation: &Specialisation, architecture: &str) -> Vec<String> {
    let all = [format!("--gpu-architecture={architecture}"), "-lineinfo".into(), "--no-source-include".into()];
    all.into_iter().chain(defines(specialisation)).collect()
}

/// Checks that the kernel `entry` takes `pointers` pointers and then `integers` 32-bit integers.
///
/// The driver cannot be asked for a kernel's parameters, and launching it with others corrupts memory.
pub fn check_signature(code: &Code, entry: &str, pointers: usize, integers: usize) -> Result<()> {
    let module = code.module()?;
    let expected = "extern \"C\" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)";
    let Some(params) = module.params(entry) else {
        match module.kernel_names().next() {
            Some(name) => bail!("{} has no kernel {entry} but {name}; declare it {expected}", code.origin),
            None => bail!("{} has no kernel at all; it must declare {expected}", code.origin),
        }
    };
    let is_pointer = |param: &Param| param.bytes == 8 && matches!(param.kind, Type::U64 | Type::S64 | Type::B64);
    let is_integer = |param: &Param| param.bytes == 4 && matches!(param.kind, Type::U32 | Type::S32 | Type::B32);
    let fits = params.len() == pointers + integers
        && params[..pointers].iter().all(is_pointer)
        && params[pointers..].iter().all(is_integer);
    let types: Vec<String> = params.iter().map(|param| param.kind.to_string()).collect();
    let (origin, types) = (&code.origin, types.join(", "));
    ensure!(fits, "the kernel {entry} of {origin} has other parameters ({types}); declare it {expected}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_committed_says_what_is() {
        let path = PathBuf::from("stepXX_none/variants/slow.cu");
        let source =
            Source { display: "slow.cu".into(), text: String::new(), hash: String::new(), path, headers: Ok(vec![]) };
        let error = |dtype, compute_capability| {
            let device = DeviceInfo { compute_capability, ..DeviceInfo::simulated(0) };
            let specialisation = Specialisation::single(dtype, &[]).for_target(80);
            source.committed(&specialisation, &device, Path::new("nowhere")).unwrap_err().to_string()
        };
        let nowhere = |file: &str| Path::new("nowhere").join(file).display().to_string();
        assert_eq!(error(Dtype::F32, 80), format!("slow.cu has no PTX at {}", nowhere("slow-f32.sm80.ptx")));
        let of_f32 = "slow.cu is committed for --dtype f32 only";
        assert_eq!(error(Dtype::I32, 90), format!("{of_f32} (there is no {})", nowhere("slow-i32.sm80.ptx")));
        let older = "the committed PTX of slow.cu is for compute capability 8.0 and newer, this device has 7.5";
        assert_eq!(error(Dtype::F32, 75), older);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("slow-f32-64x64v4.sm75.ptx.gz"), "").unwrap();
        let of_form = |name: &str| {
            let specialisation = Specialisation::named(name, Dtype::F32, &[]);
            source.committed(&specialisation, &DeviceInfo::simulated(0), folder.path()).unwrap_err().to_string()
        };
        let errors = ["64x64v1", "32x32v1"].map(of_form);
        assert!(errors[0].starts_with("slow.cu is committed for an N that is a multiple of 4 only"), "{}", errors[0]);
        assert!(errors[1].starts_with("slow.cu has no PTX at"), "{}", errors[1]);
    }
}
