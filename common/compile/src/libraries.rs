//! Where NVIDIA's libraries are on this machine: pip, conda, a CUDA toolkit or the system puts them there.

#![allow(unsafe_code, reason = "opens libraries, and finds C functions in them")]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow, ensure};

use system::escaped;
use system::process::printed;

/// A library that NVIDIA ships in several ways.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// Start of the file's name on Linux: `libnvrtc.so`.
    pub so: &'static str,
    /// Start of the file's name on Windows: `nvrtc64_`.
    pub dll: &'static str,
    /// Folders of NVIDIA's wheels that hold it, below `site-packages/nvidia`.
    pub wheels: &'static [&'static str],
    /// Names under which the system's loader may know it, the best first.
    pub names: &'static [&'static str],
}

impl Library {
    /// The files in a folder that are this library, the newest first.
    pub fn files_in(&self, folder: &Path) -> Vec<PathBuf> {
        let is_it = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let dll = path.extension().is_some_and(|extension| extension == "dll");
            let library = name.starts_with(self.so) || (name.starts_with(self.dll) && dll);
            library && !name.contains("builtins") && !name.contains(".alt.")
        };
        children(folder).into_iter().filter(is_it).collect()
    }

    /// Files in the other places where this machine's Python keeps its packages. Slow, because it starts Python.
    fn python_files(&self) -> Vec<PathBuf> {
        let script =
            "import site, sys; print('\\n'.join(site.getsitepackages() + [site.getusersitepackages()] + sys.path))";
        let run = |python: &str| printed(Command::new(python).args(["-c", script]));
        let sites = run("python3").or_else(|| run("python")).unwrap_or_default();
        let folders = sites.lines().flat_map(|site| self.wheel_folders(Path::new(site.trim())));
        folders.flat_map(|folder| self.files_in(&folder)).collect()
    }

    /// The first of its files that opens: in a likely place, by a name for the system's loader, or in one of Python's places.
    /// `environments` are virtual environments of Python that are looked into as well.
    pub fn first<T>(&self, environments: &[PathBuf], open: impl Fn(&Path) -> Result<T>) -> Option<T> {
        let opened = |path: PathBuf| open(&path).ok();
        let likely = self.likely_folders(environments).into_iter().flat_map(|folder| self.files_in(&folder));
        let mut likely = likely.chain(self.names.iter().map(PathBuf::from));
        likely.find_map(opened).or_else(|| self.python_files().into_iter().find_map(opened))
    }

    /// Folders of Python packages and CUDA toolkits, the most specific first.
    fn likely_folders(&self, more: &[PathBuf]) -> Vec<PathBuf> {
        let mut sites = Vec::new();
        let below = |(variable, folder): (&str, &str)| Some(PathBuf::from(std::env::var_os(variable)?).join(folder));
        let mut environments: Vec<PathBuf> =
            ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(std::env::var_os).map(PathBuf::from).collect();
        environments.extend_from_slice(more);
        environments.extend(std::env::current_dir().map(|here| here.join(".venv")));
        environments.extend(below(("HOME", ".local")));
        let several = [("HOME", ".pyenv/versions"), ("APPDATA", "Python"), ("LOCALAPPDATA", "Programs/Python")];
        environments.extend(several.into_iter().filter_map(below).flat_map(|folder| children(&folder)));
        environments.extend(["/usr/local", "/usr"].map(PathBuf::from));
        for environment in environments {
            sites.extend([environment.join("Lib/site-packages"), environment.join("site-packages")]);
            for lib in children(&environment.join("lib")) {
                sites.extend([lib.join("site-packages"), lib.join("dist-packages")]);
            }
        }
        let mut folders: Vec<PathBuf> = sites.iter().flat_map(|site| self.wheel_folders(site)).collect();
        let toolkits = ["CUDA_PATH", "CUDA_HOME"].iter().filter_map(std::env::var_os).map(PathBuf::from);
        for toolkit in toolkits.chain(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from)) {
            folders.extend([toolkit.join("lib64"), toolkit.join("bin"), toolkit.join("bin/x64")]);
        }
        let mut others = children(Path::new("/usr/local"));
        others.retain(|folder| folder.to_string_lossy().starts_with("/usr/local/cuda-"));
        folders.extend(others.iter().map(|toolkit| toolkit.join("lib64")));
        folders.extend(["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"].map(PathBuf::from));
        folders
    }

    /// Where NVIDIA's wheels keep the library, below a folder of Python packages.
    fn wheel_folders(&self, site: &Path) -> Vec<PathBuf> {
        let packages = self.wheels.iter().flat_map(|package| ["lib", "bin", "bin/x86_64"].map(|lib| (package, lib)));
        packages.map(|(package, lib)| site.join("nvidia").join(package).join(lib)).collect()
    }
}

/// A library that is open.
pub struct Opened {
    library: libloading::Library,
    /// Where it was found.
    pub path: PathBuf,
    name: &'static str,
}

impl Opened {
    /// Opens the file, which must be NVIDIA's library `name`.
    pub fn new(path: &Path, name: &'static str) -> Result<Self> {
        // A pipe would be waited for; a name that is no file is looked for by the system.
        ensure!(path.is_file() || !path.exists(), "{} is not a library: it is not a file", escaped(path));
        // SAFETY: the file is named as the library is; its initialisers are NVIDIA's.
        let library = unsafe { libloading::Library::new(path) };
        let library = library.map_err(|error| anyhow!("{} is not a library: {error}", escaped(path)))?;
        Ok(Self { library, path: path.to_owned(), name })
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `T` must be the C signature of the function, and must not be called after `self` is dropped.
    pub unsafe fn get<T: Copy>(&self, function: &[u8]) -> Result<T> {
        // SAFETY: the caller vouches for the signature, and for when it is called.
        let symbol = unsafe { self.library.get::<T>(function) };
        Ok(*symbol.map_err(|error| anyhow!("{} is too old or not {}: {error}", escaped(&self.path), self.name))?)
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort_by(|one, other| other.cmp(one));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_library_itself_is_taken_the_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let cublas = ["libcublas.so.12", "libcublas.so.13", "libcublasLt.so.12"];
        for name in ["libnvrtc-builtins.so.12.1", "libnvrtc.so.12", "libnvrtc.alt.so.12"].into_iter().chain(cublas) {
            std::fs::write(at(name), "").unwrap();
        }
        let of = |so, dll| Library { so, dll, wheels: &[], names: &[] }.files_in(folder.path());
        assert_eq!(of("libcublas.so", "cublas64_"), ["libcublas.so.13", "libcublas.so.12"].map(at));
        assert_eq!(of("libnvrtc.so", "nvrtc64_"), [at("libnvrtc.so.12")]);
    }
}
