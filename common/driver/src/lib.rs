//! The CUDA driver's interface on a simulated GPU.
//!
//! A program that uses CUDA opens the driver's library by name (`libcuda.so.1`, `nvcuda.dll`) and calls its functions. This crate is
//! such a library, with [simt] in place of a GPU: put it where the system looks for libraries first, and the program runs
//! unchanged. With `SIMT_CHECK=1` it also finds the faults of the program and the hazards of its kernels. [`options`] lists all
//! that can be set, [`report`] says how findings are written, [`log`] what is written of each call, and [`table`] says which functions
//! there are.
//!
//! # How it is built
//!
//! ```text
//! context  memory  copy  module  launch  stream  graph  occupancy  pointer  device  procs     the functions, by what they are about
//!                             │
//!                           queue        the order of streams: what runs now, what waits, what is captured
//!                             │
//!                          execute       copies, fills and launches, done
//!                             │
//!                       watch  logged    faults of the program: each call compared with what is known; the log of calls
//!                             │
//!        entry ── state ── check  report  log  touched  ranges  site       the lock, all that the driver knows, and how it is told
//!                             │
//!                   raw  errors  op  gpus  options        what C hands over, codes, operations, GPUs
//! ```
//!
//! - **Tables.** `functions.txt` lists all functions of the interface, `errors.txt` all codes, `gpus.txt` the GPUs. The build makes of
//!   them the constants, a stub for each function that is missing (it answers *not supported*, and says so once), and what
//!   `cuGetProcAddress` answers. What the documentation says is made of the same table.
//! - **Unsafe code** is in `raw`, where pointers of the caller are read and written, and in the attribute that gives a function its
//!   name in C. A function gets its arguments as `Out`, `In` or numbers, and is safe code.
//! - **Handles** are numbers that were given out, looked up in tables; a wrong one is answered, never followed.
//! - **Memory.** A device pointer is an address of simt's memory, above all addresses of the host. Pinned, managed and registered
//!   memory is the host's own, at its own address, which kernels access directly.
//! - **Order.** An operation runs on the program's thread when it is given to a stream; this is one of the orders that CUDA
//!   allows. It waits in a queue only behind a function of the program (`cuLaunchHostFunc`) that has not returned.
//! - **Time.** Events tell how long the work would take if each instruction of a warp took 20 ns and each byte of a copy 0.1 ns,
//!   with streams side by side. It is no GPU's time; it grows with the work and is the same on every machine.
//! - **Faults of kernels** show as on a GPU: the launch succeeds, the next call that waits answers the fault, and the context is lost.

mod check;
mod context;
mod copy;
mod device;
mod entry;
mod errors;
mod execute;
mod gpus;
mod graph;
mod guard;
mod image;
mod launch;
pub mod log;
mod logged;
mod memory;
mod module;
mod occupancy;
mod op;
pub mod options;
mod pointer;
mod procs;
mod queue;
mod ranges;
#[allow(unsafe_code, reason = "the C interface hands over pointers")]
mod raw;
pub mod report;
mod site;
mod state;
mod stream;
mod touched;
mod watch;

pub use procs::address;

/// Whether the stand-in has a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It does what the driver does.
    Yes,
    /// It does some of it.
    Partly,
    /// It answers *not supported*.
    No,
}

/// The functions of the interface: name, whether the stand-in has it, and what is missing.
pub fn table() -> impl Iterator<Item = (&'static str, Support, String)> {
    let lines = include_str!("functions.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.filter_map(|line| {
        let mut words = line.split(' ');
        let (name, status) = (words.next()?, words.next()?);
        let support = match status {
            "yes" => Support::Yes,
            "partly" => Support::Partly,
            _ => Support::No,
        };
        let rest: Vec<&str> = words.skip_while(|word| word.parse::<u32>().is_ok_and(|number| number > 9999)).collect();
        Some((name, support, rest.join(" ")))
    })
}

/// The table of functions for people, in Markdown: how many there are, and each with what is missing.
pub fn page() -> String {
    let all: Vec<_> = table().collect();
    let of = |support: Support| all.iter().filter(|(_, is, _)| *is == support).count();
    let mut text = format!(
        "# Functions of the CUDA driver on the simulated GPU\n\nOf {} functions of version 13, {} are there, {} partly, and {} answer *not supported*.\n\n",
        all.len(),
        of(Support::Yes),
        of(Support::Partly),
        of(Support::No)
    );
    text += "| function | | what is missing |\n|---|---|---|\n";
    for (name, support, missing) in &all {
        let word = match support {
            Support::Yes => "yes",
            Support::Partly => "partly",
            Support::No => continue,
        };
        text += &format!("| `{name}` | {word} | {missing} |\n");
    }
    text += "\nNot supported: ";
    let missing: Vec<String> =
        all.iter().filter(|(_, is, _)| *is == Support::No).map(|(name, ..)| format!("`{name}`")).collect();
    text + &missing.join(", ") + ".\n"
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_of_functions_is_as_the_table_says() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/FUNCTIONS.md");
        if std::env::var_os("SIMT_BLESS").is_some() {
            std::fs::write(file, super::page()).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(file).unwrap(),
            super::page(),
            "SIMT_BLESS=1 cargo test -p simt-driver --lib writes it"
        );
    }

    #[test]
    fn every_function_of_the_table_is_there_once() {
        let names: std::collections::HashSet<&str> = super::table().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), super::table().count());
        assert!(names.iter().all(|name| super::address(name) != 0) && super::address("cuNothing") == 0);
    }
}
