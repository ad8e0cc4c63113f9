//! Asks a driver the questions of `tests/questions.txt`, and prints its answers: `tests/conformance.txt` is what a GPU answered. It
//! runs with a GPU's driver and with the stand-in.

#![allow(unsafe_code, reason = "opens the driver's library")]

#[path = "../tests/script/mod.rs"]
mod script;

const QUESTIONS: &str = include_str!("../tests/questions.txt");

fn main() {
    let Some(part) = std::env::args().nth(1) else {
        let program = std::env::current_exe().expect("a program knows where it is");
        for part in script::parts(QUESTIONS) {
            println!("== {part}");
            // Some parts end their context, so each has a process of its own.
            if !std::process::Command::new(&program).arg(part).status().is_ok_and(|status| status.success()) {
                println!("the process ended badly");
            }
        }
        return;
    };
    let names = ["libcuda.so.1", "libcuda.so", "nvcuda.dll", "libcuda.dylib"];
    // SAFETY: the driver's library may be opened by any program.
    let library = names.iter().find_map(|name| unsafe { libloading::Library::new(*name) }.ok());
    let Some(library) = library else {
        eprintln!("no CUDA driver was found; is it in the library path?");
        std::process::exit(2);
    };
    let mut script = script::Script::new(move |name| {
        // SAFETY: only the address of the function is taken.
        unsafe { library.get::<extern "C" fn()>(name) }.map_or(0, |function| *function as usize)
    });
    println!("{}", script::answers(&mut script, QUESTIONS, &part).join("\n"));
}
