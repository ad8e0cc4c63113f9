//! Asks a driver questions, and prints one line for each: the call, its code, and what it did. It runs on a GPU's driver and on the
//! stand-in; `tests/conformance.txt` is what a GPU answered.
//!
//! Without an argument it asks all questions, those that end a context each in a process of its own.

#![allow(unsafe_code, reason = "opens the driver's library")]

#[path = "../tests/caller/mod.rs"]
mod caller;
#[path = "../tests/questions/mod.rs"]
mod questions;

fn main() {
    let names = ["libcuda.so.1", "libcuda.so", "nvcuda.dll", "libcuda.dylib"];
    // SAFETY: the driver's library may be opened by any program.
    let library = names.iter().find_map(|name| unsafe { libloading::Library::new(*name) }.ok());
    let Some(library) = library else {
        eprintln!("no CUDA driver was found; is it in the library path?");
        std::process::exit(2);
    };
    let driver = caller::Driver(Box::new(move |name| {
        // SAFETY: only the address of the function is taken.
        unsafe { library.get::<extern "C" fn()>(name) }.map_or(0, |function| *function as usize)
    }));
    if let Some(fault) = std::env::args().nth(1) {
        return questions::fault(&driver, &fault);
    }
    questions::ask(&driver);
    let program = std::env::current_exe().expect("a program knows where it is");
    for fault in questions::FAULTS {
        let status = std::process::Command::new(&program).arg(fault).status();
        if !status.is_ok_and(|status| status.success()) {
            println!("{fault}: the process ended badly");
        }
    }
}
