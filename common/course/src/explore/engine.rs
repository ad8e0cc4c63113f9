//! The engine of a page, as WebAssembly: that of the last release is committed in packed form. If its sources have changed since, it is
//! built, once for the same sources, or the page says that its engine is older.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::basics::process::printed;
use common::basics::{output, workspace};
use common::code;

use super::page::{self, Engine};
use crate::files;
use crate::steps::STEPS;

const TARGET: &str = "wasm32-unknown-unknown";

/// A compiler that comes with the source of its standard library (Debian's `rustc-web` and `rust-web-src`).
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Bytes that the engine may have.
const LARGEST: usize = 1_900_000;

/// The packed engine of the last release: a line of text, then the module, compressed.
pub fn packed() -> PathBuf {
    workspace::root().join("common/explorer/engine.packed")
}

/// The folder in which engines are built.
fn folder() -> PathBuf {
    workspace::root().join("target/explorer")
}

/// The engine that was built last, in the same form as the packed one.
fn built() -> PathBuf {
    folder().join("engine.packed")
}

/// The engine for a page: the packed one, or that which was built last, if its sources are today's; else one that is built now, if
/// this machine can build it; else the packed one, of which the page says that it is older.
pub fn engine() -> Result<Engine> {
    let line = first_line()?;
    let of_today = |path: &Path| read(path).ok().filter(|(known, _)| *known == line).map(|(_, module)| module);
    if let Some(module) = of_today(&packed()).or_else(|| of_today(&built())) {
        return Ok(Engine { module, is_older: false });
    }
    build().or_else(|error| {
        let (_, module) = read(&packed())?;
        output::note(&format!("the explorer's engine is older than its sources, and {error:#}"));
        Ok(Engine { module, is_older: true })
    })
}

/// Whether the packed engine was built from today's sources. It compares hashes of the sources, because compilers differ.
pub fn is_fresh() -> Result<bool> {
    let first = first_line()?;
    Ok(read(&packed()).is_ok_and(|(line, _)| line == first))
}

/// The hash of the sources of the packed engine.
pub fn packed_sources() -> Result<String> {
    let (line, _) = read(&packed())?;
    Ok(line.rsplit(' ').next().unwrap_or_default().to_owned())
}

/// Builds the engine from today's sources, unless that was done before, and keeps it for pages. Gives its bytes, unpacked.
pub fn build_for_pages() -> Result<usize> {
    match read(&built()) {
        Ok((line, module)) if line == first_line()? => Ok(module.len()),
        _ => Ok(build()?.module.len()),
    }
}

/// Packs the engine for a release.
pub fn pack() -> Result<usize> {
    let bytes = build_for_pages()?;
    files::write(&packed(), fs::read(built())?)?;
    Ok(bytes)
}

/// The first line of a packed engine, and the module.
fn read(path: &Path) -> Result<(String, Vec<u8>)> {
    let damaged = || format!("{} cannot be read; restore it with git", workspace::display(path));
    let bytes = fs::read(path).with_context(damaged)?;
    let end = bytes.iter().position(|&byte| byte == b'\n').with_context(damaged)?;
    let module = page::expanded(&bytes[end + 1..]).with_context(damaged)?;
    Ok((String::from_utf8_lossy(&bytes[..end]).into_owned(), module))
}

/// The crates that the engine is built from, beside the steps' libraries.
const CRATES: [&str; 6] = ["explorer", "findings", "plan", "simt", "simt/ptx", "system"];

/// The first line of an engine that is packed now, with a hash of all files of the workspace that it is built from.
fn first_line() -> Result<String> {
    let root = workspace::root();
    let mut sources = vec![];
    let own = CRATES.iter().map(|name| root.join("common").join(name));
    for folder in own.chain(STEPS.iter().map(|step| root.join(step.name))) {
        sources.extend(files::below(&folder.join("src"), "rs"));
        sources.push(folder.join("Cargo.toml"));
    }
    // From beyond the course, the engine needs only the plans of kernels.
    let beyond = root.join("step06_prefetch/beyond/src");
    sources.extend(["lib", "cost", "every_shape", "tensor_cores"].map(|name| beyond.join(format!("{name}.rs"))));
    let mut text = String::new();
    for path in sources {
        text += &format!("{}\n{}\n", workspace::display(&path), files::read(&path)?);
    }
    Ok(format!("the explorer's engine, made of sources with the SHA-256 {}", code::hash(&text)))
}

/// Builds the engine, with rustup's target or with Debian's, and keeps it.
fn build() -> Result<Engine> {
    // Of the sources before they are compiled: who edits one meanwhile has to build it again.
    let line = first_line()?;
    let folder = folder();
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--package", "explorer", "--lib", "--profile", "wasm", "--target", TARGET]);
    command.arg("--target-dir").arg(&folder).current_dir(workspace::root());
    let sysroot = |rustc: &str| printed(Command::new(rustc).args(["--print", "sysroot"])).map(PathBuf::from);
    let own = sysroot("rustc").context("rustc was not found; install Rust")?;
    if !own.join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        let source = sysroot(DEBIAN_RUSTC).map(|root| root.join("lib/rustlib/src/rust/library/std/Cargo.toml"));
        ensure!(
            source.is_some_and(|source| source.is_file()),
            "the standard library for {TARGET} is missing; rustup target add {TARGET}, or on Debian apt-get install rustc-web rust-web-src"
        );
        let host = printed(Command::new("rustc").args(["--print", "host-tuple"])).unwrap_or_default();
        command.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
        let linker = own.join("lib/rustlib").join(host).join("bin/rust-lld");
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    // Keeps paths of this machine out of the module.
    let root = workspace::root().display().to_string();
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    // Names of functions would be a third of it; where a profile names packages, cargo forgets its `strip`.
    let mut flags = vec!["-Cstrip=symbols".to_owned(), format!("--remap-path-prefix={root}=course")];
    flags.extend(home.into_iter().map(|home| format!("--remap-path-prefix={home}=cargo")));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    let status = command.status().context("cargo does not start; install Rust")?;
    ensure!(status.success(), "the engine does not build for {TARGET}; fix what the compiler says");
    let path = folder.join(TARGET).join("wasm/explorer.wasm");
    let module = fs::read(&path).with_context(|| format!("cargo has not built {}", path.display()))?;
    ensure!(module.len() <= LARGEST, "the engine has {} bytes, more than {LARGEST}; make it smaller", module.len());
    files::write(&built(), [line.as_bytes(), b"\n", &page::compressed(&module)?].concat())?;
    Ok(Engine { module, is_older: false })
}
