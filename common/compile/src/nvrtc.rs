//! NVRTC, NVIDIA's run-time compiler: found where pip, conda, a CUDA toolkit or the system puts it.
//!
//! It is bound here and not through cudarc because it must be opened by its path, and cudarc can only open it by name.
//! Function signatures: NVRTC's documentation, "NVRTC - Runtime Compilation", chapter 3.

#![allow(unsafe_code, reason = "calls the C functions of NVRTC's library")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::headers;
use crate::libraries::{Library, Opened};
use crate::unit::{Compiled, Unit, first_errors};
use system::escape;
use system::escaped;

/// The environment variable that points to an NVRTC library.
pub const PATH_VARIABLE: &str = "NVRTC_PATH";

/// The pip package of the version that made the committed PTX: old enough for every driver since 2023.
pub const PINNED_PACKAGE: &str = "nvidia-cuda-nvrtc-cu12==12.1.105";

/// The pip package that brings NVRTC to this machine. The pinned version has none for 64-bit Arm; 12.3.107 is the first that has.
pub const PACKAGE: &str =
    if cfg!(target_arch = "aarch64") { "nvidia-cuda-nvrtc-cu12==12.3.107" } else { PINNED_PACKAGE };

/// How to get NVRTC, as the end of an error's sentence.
pub fn remedy() -> String {
    format!(
        "pip install {PACKAGE} in a virtual environment brings NVRTC, and {PATH_VARIABLE}=/path/to/libnvrtc.so.12 points to one that is elsewhere"
    )
}

type Program = *mut c_void;

/// A text of C.
type Text = *const c_char;

/// An open NVRTC library.
pub struct Nvrtc {
    library: Opened,
    /// Where it was found.
    pub path: PathBuf,
    /// Its version, e.g. (12, 1).
    pub version: (u32, u32),
    /// The compute capabilities it compiles for (75 is 7.5), in ascending order.
    pub targets: Vec<u32>,
}

/// The NVRTC of this machine, looked for once; in these virtual environments of Python as well.
pub fn find(environments: &[PathBuf]) -> Result<&'static Nvrtc> {
    static FOUND: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
    FOUND
        .get_or_init(|| search(environments).map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

/// Where NVRTC may be.
const LIBRARY: Library = Library {
    so: "libnvrtc.so",
    dll: "nvrtc64_",
    wheels: &["cuda_nvrtc", "cu12", "cu13"],
    names: &["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so", "nvrtc64_120_0.dll", "nvrtc64_130_0.dll"],
};

fn search(environments: &[PathBuf]) -> Result<Nvrtc> {
    if let Some(path) = std::env::var_os(PATH_VARIABLE).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        let found = if path.is_dir() { LIBRARY.files_in(&path).into_iter().next() } else { Some(path.clone()) };
        let file =
            found.with_context(|| format!("{PATH_VARIABLE} points to {}, which holds no NVRTC", escaped(&path)))?;
        return Nvrtc::open(&file).with_context(|| format!("{PATH_VARIABLE} points to {}", escaped(&path)));
    }
    LIBRARY.first(environments, Nvrtc::open).ok_or_else(|| anyhow!("no NVRTC was found; {}", remedy()))
}

/// Lines of a log that a reader is shown.
const MOST_ERRORS: usize = 16;

/// NVRTC's status when there is no memory.
const NO_MEMORY: c_int = 1;
/// NVRTC's status when the source is wrong.
const COMPILATION_FAILED: c_int = 6;
/// NVRTC's status when it does not find its own second library.
const BUILTINS_MISSING: c_int = 7;

/// Why a compilation failed, and what to do about it. Only a wrong source is the kernel's fault.
fn refusal(status: c_int, log: &str, most: usize, name: &str, library: &Path) -> String {
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let library = escaped(library);
    match status {
        status if status == NO_MEMORY || log.contains("catastrophic error: out of memory") => format!(
            "{name} takes NVRTC more than all the memory it may have; look for macros, templates or arrays that grow without end"
        ),
        COMPILATION_FAILED => headers::missing(log)
            .unwrap_or_else(|| format!("{name} does not compile; fix what NVRTC says:\n{}", first_errors(log, most))),
        BUILTINS_MISSING => {
            let reason = lines.next().unwrap_or_default().trim_start_matches("nvrtc: error: ").trim_end_matches('.');
            format!(
                "the NVRTC at {library} is incomplete ({reason}); pip install --force-reinstall {PACKAGE} brings all of it, and {PATH_VARIABLE} points to one that is elsewhere"
            )
        }
        status => {
            let (reason, remedy) = (lines.next().unwrap_or("it does not say why"), remedy());
            format!("the NVRTC at {library} fails with status {status} ({reason}); install another version: {remedy}")
        }
    }
}

impl Nvrtc {
    /// Opens the library of this path.
    pub fn open(path: &Path) -> Result<Self> {
        let library = Opened::new(path, "NVRTC")?;
        let nvrtc = Self { library, path: path.to_owned(), version: (0, 0), targets: Vec::new() };
        let (mut major, mut minor, mut count) = (0, 0, 0);
        type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        type Get = unsafe extern "C" fn(*mut c_int) -> c_int;
        // SAFETY: the signature is NVRTC's; both pointers are to live integers.
        nvrtc.check(unsafe { nvrtc.library.get::<Version>(b"nvrtcVersion\0")?(&raw mut major, &raw mut minor) })?;
        // SAFETY: the signature is NVRTC's; the pointer is to a live integer.
        nvrtc.check(unsafe { nvrtc.library.get::<Get>(b"nvrtcGetNumSupportedArchs\0")?(&raw mut count) })?;
        let mut targets = vec![0_u32; count.max(0) as usize];
        // SAFETY: the signature is NVRTC's; it writes `count` integers, for which there is room.
        nvrtc.check(unsafe { nvrtc.library.get::<Get>(b"nvrtcGetSupportedArchs\0")?(targets.as_mut_ptr().cast()) })?;
        ensure!(!targets.is_empty(), "this NVRTC compiles for no GPU");
        targets.sort_unstable();
        Ok(Self { version: (major as u32, minor as u32), targets, ..nvrtc })
    }

    fn check(&self, status: c_int) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the signature is NVRTC's; it returns a string that lives as long as the library.
        let text = unsafe {
            CStr::from_ptr(self.library.get::<unsafe extern "C" fn(c_int) -> Text>(b"nvrtcGetErrorString\0")?(status))
        };
        bail!("NVRTC fails ({})", text.to_string_lossy())
    }

    /// Its name with its version: `NVRTC 12.1`.
    pub fn name(&self) -> String {
        format!("NVRTC {}.{}", self.version.0, self.version.1)
    }

    /// Compiles a kernel that does nothing, which fails if a part of NVRTC is missing. Takes a fraction of a second.
    pub fn try_out(&self) -> Result<()> {
        let source = "extern \"C\" __global__ void nothing() {}".into();
        self.compile(&Unit { source, name: "nothing.cu".into(), ..Unit::default() }).map(drop)
    }

    /// Folders with NVIDIA's own headers (cuda_fp16.h and the like) that belong to this library: where a toolkit or a
    /// wheel puts them.
    pub fn header_folders(&self) -> Vec<PathBuf> {
        let Some(lib) = self.path.parent() else { return Vec::new() };
        let wheels = ["cuda_runtime", "cuda_nvcc", "cuda_cccl", "curand"];
        let mut folders = wheels.map(|wheel| lib.join("../..").join(wheel).join("include")).to_vec();
        folders.retain(|folder| folder.is_dir());
        folders.extend(Some(lib.join("../include")).filter(|folder| folder.join("cuda_fp16.h").is_file()));
        folders
    }

    /// The best target for a device: the newest that is not newer than the device.
    pub fn target_for(&self, compute_capability: u32) -> Result<u32> {
        self.targets.iter().copied().filter(|&target| target <= compute_capability).max().with_context(|| {
            format!(
                "{} compiles for compute capability {} and newer and the device has {compute_capability}; install an older one: {}",
                self.name(), self.targets[0], remedy()
            )
        })
    }

    /// Compiles CUDA C to PTX in this process, without a time limit.
    ///
    /// The error of a source that does not compile holds the compiler's log.
    pub fn compile(&self, unit: &Unit) -> Result<Compiled> {
        let Unit { source, name, options, headers, whole_log } = unit;
        let no_text = |text: &str| CString::new(text).map_err(|_| anyhow!("{name} is not a text; give CUDA C or PTX"));
        let (text, source, name_c) = (source, no_text(source)?, no_text(name)?);
        let texts: Vec<CString> = headers.iter().map(|[_, text, _]| no_text(text)).collect::<Result<_>>()?;
        let names: Vec<CString> = headers.iter().map(|[name, ..]| no_text(name)).collect::<Result<_>>()?;
        let (texts, names, count) = (pointers(&texts), pointers(&names), headers.len() as c_int);
        let mut program: Program = std::ptr::null_mut();
        type Create = unsafe extern "C" fn(*mut Program, Text, Text, c_int, *const Text, *const Text) -> c_int;
        // SAFETY: the signature is NVRTC's; all strings end in zero and live through the call; there are as many headers as names.
        self.check(unsafe {
            let create = self.library.get::<Create>(b"nvrtcCreateProgram\0")?;
            create(&raw mut program, source.as_ptr(), name_c.as_ptr(), count, texts.as_ptr(), names.as_ptr())
        })?;
        let most = if *whole_log { usize::MAX } else { MOST_ERRORS };
        let result = self.compile_program(program, name, options, most);
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
        // SAFETY: the signature is NVRTC's; the program was created above and is not used again.
        self.check(unsafe { self.library.get::<Destroy>(b"nvrtcDestroyProgram\0")?(&raw mut program) })?;
        match rust_line(text).filter(|_| result.is_err()) {
            Some(line) => bail!(
                "{name} does not compile; line {line} is Rust, and the file is CUDA C; write a kernel in Rust into a file that ends in .rs"
            ),
            None => result,
        }
    }

    fn compile_program(&self, program: Program, name: &str, options: &[String], most: usize) -> Result<Compiled> {
        let options: Vec<CString> =
            options.iter().map(|option| CString::new(option.as_str())).collect::<Result<_, _>>()?;
        let (options, count) = (pointers(&options), options.len() as c_int);
        type Compile = unsafe extern "C" fn(Program, c_int, *const Text) -> c_int;
        // SAFETY: the signature is NVRTC's; the program is live and the option strings outlive the call.
        let status =
            unsafe { self.library.get::<Compile>(b"nvrtcCompileProgram\0")?(program, count, options.as_ptr()) };
        if status != 0 {
            let log = self.text(program, b"nvrtcGetProgramLogSize\0", b"nvrtcGetProgramLog\0")?;
            bail!("{}", refusal(status, &log, most, name, &self.path));
        }
        let ptx = self.text(program, b"nvrtcGetPTXSize\0", b"nvrtcGetPTX\0")?;
        let cubin = self.bytes(program, b"nvrtcGetCUBINSize\0", b"nvrtcGetCUBIN\0")?;
        Ok(Compiled { ptx, cubin: (!cubin.is_empty()).then_some(cubin) })
    }

    fn text(&self, program: Program, size_name: &[u8], text_name: &[u8]) -> Result<String> {
        let mut bytes = self.bytes(program, size_name, text_name)?;
        bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
        // An escape sequence in the source arrives here as raw control characters.
        Ok(escape(&String::from_utf8_lossy(&bytes)))
    }

    fn bytes(&self, program: Program, size_name: &[u8], bytes_name: &[u8]) -> Result<Vec<u8>> {
        type Get<T> = unsafe extern "C" fn(Program, *mut T) -> c_int;
        let mut size = 0_usize;
        // SAFETY: the signature is NVRTC's; the program is live and the pointer is to a live integer.
        self.check(unsafe { self.library.get::<Get<usize>>(size_name)?(program, &raw mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the signature is NVRTC's; it writes `size` bytes, for which there is room.
        self.check(unsafe { self.library.get::<Get<u8>>(bytes_name)?(program, bytes.as_mut_ptr()) })?;
        Ok(bytes)
    }
}

/// The first line, counted from 1, of a source in CUDA C that only Rust can mean.
pub fn rust_line(source: &str) -> Option<usize> {
    const BEGINS: [&str; 8] =
        ["fn ", "pub fn ", "pub unsafe ", "unsafe extern ", "let ", "use gpu::", "use core::", "#![no_std]"];
    let is_rust = |line: &str| BEGINS.iter().any(|begin| line.trim_start().starts_with(begin));
    source.lines().position(is_rust).map(|at| at + 1)
}

/// Pointers to these texts for C; valid as long as `texts` is.
fn pointers(texts: &[CString]) -> Vec<Text> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_nobody_knows_is_blamed_on_nvrtc() {
        let sentence = refusal(3, "", MOST_ERRORS, "k.cu", Path::new("/lib/libnvrtc.so.12"));
        assert!(
            sentence.starts_with("the NVRTC at /lib/libnvrtc.so.12 fails with status 3 (it does not say why); install")
        );
    }

    #[test]
    fn rust_in_a_file_of_cuda_c_is_seen() {
        assert_eq!(rust_line("// A kernel.\nint letter = 0;\n    let mut sum = 0.0;\n"), Some(3));
        assert_eq!(rust_line("// let it be\nint used = fn(1);\nextern \"C\" __global__ void matmul()\n"), None);
    }
}
