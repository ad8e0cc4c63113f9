//! The stand-in for the CUDA driver: built from the clone that this program was built from, and put where programs look for the driver.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use compile::nvrtc;
use system::{escaped, io_reason};

/// The environment variable that names a stand-in that is built already.
const VARIABLE: &str = "SIMT_LIBRARY";

/// How cargo calls the library, and the names under which programs look for the driver.
const fn names() -> (&'static str, &'static [&'static str], &'static str) {
    if cfg!(windows) {
        ("simt_driver.dll", &["nvcuda.dll"], "PATH")
    } else if cfg!(target_os = "macos") {
        ("libsimt_driver.dylib", &["libcuda.dylib"], "DYLD_LIBRARY_PATH")
    } else {
        ("libsimt_driver.so", &["libcuda.so.1", "libcuda.so"], "LD_LIBRARY_PATH")
    }
}

/// The clone that this program was built from.
pub fn clone() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Where NVRTC may be besides the usual places: the clone's own virtual environment.
pub fn environments() -> [PathBuf; 1] {
    [clone().join(".venv")]
}

/// The names of the GPUs that the stand-in can be.
pub fn gpus() -> Vec<String> {
    let text = std::fs::read_to_string(clone().join("common/driver/src/gpus.txt")).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("gpu ").map(str::to_owned)).collect()
}

/// The stand-in's file: the one that is named, or built now. Cargo builds it once.
pub fn library() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        ensure!(
            path.is_file(),
            "{VARIABLE} names {}, which is no file; name the stand-in, or leave it out",
            escaped(&path)
        );
        return path.canonicalize().with_context(|| escaped(&path));
    }
    let clone = clone();
    let manifest = clone.join("common/driver/Cargo.toml");
    ensure!(
        manifest.is_file(),
        "the stand-in cannot be built, because the clone at {} is gone; install cargo simt again from a clone that stays, or name the stand-in by {VARIABLE}",
        escaped(&clone)
    );
    let target = clone.join("target");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--lib", "--manifest-path"]).arg(&manifest);
    cargo.arg("--target-dir").arg(&target).current_dir(&clone).stdin(Stdio::null()).stdout(Stdio::null());
    // What the command's own project sets for its build is not meant for this one.
    for variable in
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTUP_TOOLCHAIN", "CARGO_BUILD_RUSTFLAGS"]
    {
        cargo.env_remove(variable);
    }
    let file = target.join("release").join(names().0);
    if !file.is_file() {
        system::output::note("building the simulated GPU, once; this takes a minute or two");
    }
    let status = cargo.status().map_err(|error| {
        anyhow!("the stand-in must be built, and cargo does not start ({}); put it on the path, or name the stand-in by {VARIABLE}", io_reason(&error))
    })?;
    ensure!(
        status.success() && file.is_file(),
        "the stand-in cannot be built in {}; see what cargo says above, or name the stand-in by {VARIABLE}",
        escaped(&clone)
    );
    Ok(file)
}

/// The environment in which programs find the stand-in in place of the driver: variables and their values. `folder` is empty, and
/// stays until the program has ended.
pub fn environment(library: &Path, folder: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let (_, all, variable) = names();
    for name in all {
        let failed = || format!("the stand-in cannot be put into {}; set TMPDIR to another folder", escaped(folder));
        place(library, &folder.join(name)).with_context(failed)?;
    }
    let before = std::env::var_os(variable).unwrap_or_default();
    let mut folders = vec![folder.to_owned()];
    folders.extend(std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty()));
    // A program that compiles kernels finds its own NVRTC first.
    if let Ok(nvrtc) = nvrtc::find(&environments())
        && let Some(lib) = nvrtc.path.parent().filter(|lib| lib.is_dir())
    {
        let own = folder.join("nvrtc");
        if cfg!(unix) && std::fs::create_dir(&own).is_ok() && place(&nvrtc.path, &own.join("libnvrtc.so")).is_ok() {
            folders.push(own);
        }
        folders.push(lib.to_owned());
    }
    let Ok(value) = std::env::join_paths(&folders) else {
        bail!("{variable} cannot hold {}; set TMPDIR to a folder without a separator in its name", escaped(folder));
    };
    // The last one is where a linker looks for what a program is linked with when it is built.
    Ok(vec![(variable, value.clone()), ("LIBRARY_PATH", value)])
}

#[cfg(unix)]
fn place(file: &Path, at: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(file, at)
}

#[cfg(not(unix))]
fn place(file: &Path, at: &Path) -> std::io::Result<()> {
    std::fs::copy(file, at).map(drop)
}
