//! The file of a kernel: read, compiled if it is not PTX, and the kernel in it found.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use compile::{Headers, Job, Unit, nvrtc, rustc};
use findings::places::may_be_shown;
use simt::{Kernel, Module};
use system::{escape, escaped, files, io_reason};

use cargo_simt::standin::{clone, environments};

/// The newest target that kernels are compiled for: the simulated GPU is an H100.
const TARGET: u32 = 90;

/// A kernel, ready to be launched, and its parameters' names.
pub struct Program {
    pub kernel: Kernel,
    /// A name for each parameter: that of the source if it can be told, else that of the PTX.
    pub names: Vec<String>,
    /// The text of the source and its constants, from which the extents of shared arrays are read.
    pub source: String,
    pub constants: Vec<(String, i64)>,
}

/// Reads a file and finds its kernel, compiled with these constants (`NAME=VALUE`).
pub fn program(file: &Path, entry: Option<&str>, defines: &[String]) -> Result<Program> {
    let shown = escaped(file);
    let bytes = files::bytes(file)
        .map_err(|error| anyhow!("{shown} cannot be read ({}); give a .cu, .rs or .ptx file", io_reason(&error)))?;
    ensure!(
        !bytes.starts_with(b"\x7fELF") && file.extension().is_none_or(|ending| ending != "cubin"),
        "{shown} holds machine code, which a simulated GPU does not run; give the .cu, .rs or .ptx that it was made from"
    );
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = escape(&text.with_context(|| format!("{shown} is not a text; give a .cu, .rs or .ptx file"))?);
    // What compilers are given as the file's name, and write into PTX: no quote ends it early, and it is no option.
    let name = shown.replace('"', "'");
    let name = if name.starts_with('-') { name.replacen('-', "_", 1) } else { name };
    may_be_shown(&name, &text);
    let (ptx, source) = match files::kind(file) {
        Some("ptx") => (text.clone(), sources(&text, file)),
        Some("cu") => (with_names(&cuda(file, &name, &text, defines)?, &name), text),
        Some("rs") => (rust(file, &name, &text, defines)?, text),
        _ => bail!("{shown} is no .cu, .rs or .ptx file; its ending says what it holds"),
    };
    let module = Module::parse(&ptx).with_context(|| shown.clone())?;
    let found = chosen(&module, entry).with_context(|| shown.clone())?;
    let kernel = module.kernel(&found).with_context(|| shown.clone())?;
    let names = names(&kernel, &source);
    let constants = defines.iter().filter_map(|define| {
        let (name, value) = define.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    });
    Ok(Program { names, constants: constants.collect(), source, kernel })
}

/// The kernel that is meant: the one of this name, with or without the letters that C++ adds, or the only one.
fn chosen(module: &Module, entry: Option<&str>) -> Result<String> {
    let all: Vec<&str> = module.kernel_names().collect();
    let is_it = |name: &&&str| entry.is_none_or(|entry| **name == entry || plain(name) == entry);
    let found: Vec<&&str> = all.iter().filter(is_it).collect();
    let exact = entry.and_then(|entry| found.iter().find(|name| ***name == entry));
    let list = all.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ");
    match (&found[..], exact) {
        (_, Some(name)) | ([name], None) => Ok((**name).to_owned()),
        ([], _) if all.is_empty() => bail!("there is no kernel in it; a kernel is a __global__ function"),
        ([], _) => bail!("there is no kernel {}; choose with --entry among {list}", entry.unwrap_or_default()),
        (several, _) => {
            let mut short: Vec<&str> = several.iter().map(|name| plain(name)).collect();
            short.sort_unstable();
            short.dedup();
            let whole = if short.len() == several.len() { short } else { several.iter().map(|name| **name).collect() };
            let several = whole.join(", ");
            bail!("there are several kernels; choose with --entry among {several}")
        }
    }
}

/// A function's name without the letters that C++ adds: `scale` for `_Z5scalePff`.
pub fn plain(name: &str) -> &str {
    let of_cpp = || {
        let rest = name.strip_prefix("_Z")?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest[digits..].get(..rest[..digits].parse().ok()?)
    };
    of_cpp().unwrap_or(name)
}

/// The texts of the sources that PTX names, if they lie beside it.
fn sources(ptx: &str, file: &Path) -> String {
    let mut texts = String::new();
    for name in ptx.lines().filter_map(|line| line.trim_start().strip_prefix(".file")?.split('"').nth(1)) {
        if let Some(text) = compile::beside(files::folder_of(file), name) {
            may_be_shown(name, &text);
            texts += &text;
        }
    }
    texts
}

fn cuda(file: &Path, name: &str, text: &str, defines: &[String]) -> Result<String> {
    let nvrtc = nvrtc::find(&environments()).with_context(|| format!("{name} must be compiled"))?;
    let display = |path: &Path| escaped(path);
    let headers =
        compile::headers(text, &[files::folder_of(file).to_owned()], &display).with_context(|| name.to_owned())?;
    shown(&headers);
    let target = nvrtc.target_for(TARGET)?;
    let mut options =
        vec![format!("--gpu-architecture=compute_{target}"), "-lineinfo".into(), "--no-source-include".into()];
    options.extend(nvrtc.header_folders().iter().map(|folder| format!("--include-path={}", folder.display())));
    options.extend(defines.iter().map(|define| format!("-D{define}")));
    let unit = Unit { source: text.to_owned(), name: name.to_owned(), options, headers, whole_log: false };
    Ok(compile::compile(&Job::Cuda(nvrtc.path.clone(), unit))?.ptx)
}

fn shown(headers: &Headers) {
    for [_, text, file] in headers {
        may_be_shown(file, text);
    }
}

/// NVRTC takes a name for one in the current folder; messages use the name that was given.
fn with_names(ptx: &str, name: &str) -> String {
    let here = std::env::current_dir().map(|folder| format!("\"{}/", folder.display())).unwrap_or_default();
    let line = |line: &str| {
        let is_file = line.trim_start().starts_with(".file") && !here.is_empty();
        let plain = if is_file { line.replace(&here, "\"") } else { line.to_owned() };
        // An absolute name is written as it was given.
        if is_file && line.contains(&format!("\"{name}\"")) { line.to_owned() } else { plain }
    };
    ptx.lines().map(|text| line(text) + "\n").collect()
}

/// A kernel in Rust. It may use the crate `gpu`, and the crate `host`, which holds the constants.
fn rust(file: &Path, name: &str, text: &str, defines: &[String]) -> Result<String> {
    rustc::bounded(text).with_context(|| name.to_owned())?;
    let rustc = rustc::find(files::folder_of(file)).with_context(|| format!("{name} must be compiled"))?;
    let mut headers = Headers::new();
    let gpu = clone().join("common/gpu/src/lib.rs");
    if let Ok(text) = files::text(&gpu) {
        headers.push(["gpu".into(), text, "gpu/src/lib.rs".into()]);
    }
    shown(&headers);
    let mut host = String::from("#![no_std]\npub type Element = f32;\n");
    for define in defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        host += &format!("pub const {name}: u32 = {value};\n");
    }
    headers.push(["host".into(), host, String::new()]);
    let options = vec!["-Ctarget-cpu=sm_80".to_owned()];
    let unit = Unit { source: text.to_owned(), name: name.to_owned(), options, headers, whole_log: false };
    Ok(compile::compile(&Job::Rust(rustc.clone(), unit))?.ptx)
}

/// What the parameters are called. NVRTC and rustc leave their names out of PTX, so they are taken from the text, if it declares as
/// many behind the kernel's name.
fn names(kernel: &Kernel, text: &str) -> Vec<String> {
    // `scale_param_0` is what compilers write for a parameter without a name.
    let short = |name: &str| name.strip_prefix(kernel.name())?.strip_prefix('_').map(str::to_owned);
    let own = kernel.params().iter().map(|param| short(&param.name).unwrap_or_else(|| param.name.clone()));
    if !kernel.params().iter().all(|param| short(&param.name).is_some()) {
        return own.collect();
    }
    let plain = plain(kernel.name());
    let declared = text.match_indices(plain).filter_map(|(at, _)| declared(&text[at + plain.len()..]));
    let count = kernel.params().len();
    declared.into_iter().find(|names| names.len() == count).unwrap_or_else(|| own.collect())
}

/// The names of a list of parameters in CUDA C or Rust that begins here; `None` if none does.
fn declared(text: &str) -> Option<Vec<String>> {
    let inside = text.trim_start().strip_prefix('(')?;
    let (mut depth, mut parts) = (0_i32, vec![String::new()]);
    for c in inside.chars() {
        depth += i32::from(matches!(c, '(' | '<' | '[')) - i32::from(matches!(c, ')' | '>' | ']'));
        match c {
            _ if depth < 0 => break,
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut()?.push(c),
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let name = |part: &String| {
        // In Rust the name comes before its type.
        let part = part.split_once(": ").map_or(part.as_str(), |(name, _)| name).trim();
        let start =
            part.rfind(|c| !is_part(c)).map_or(0, |at| at + part[at..].chars().next().map_or(1, char::len_utf8));
        let name = &part[start..];
        (!name.is_empty()).then(|| name.to_owned())
    };
    parts.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_text_without_what_cpp_adds() {
        let names = |text: &str| declared(text).map(|names| names.join(" "));
        assert_eq!(names("(const float* __restrict__ a, std::pair<int, int> b, float c)").unwrap(), "a b c");
        assert_eq!(names("(A: *const f32, n: u32) {").unwrap(), "A n");
        assert_eq!((names("()"), names(" = 3")), (None, None));
        assert_eq!(["_Z5scalePff", "scale", "_Z", "_Z99scale"].map(plain), ["scale", "scale", "_Z", "_Z99scale"]);
    }
}
