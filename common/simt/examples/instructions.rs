//! Writes the files with which a GPU and the assembler check every instruction that computes: `instructions FOLDER`.
//!
//! - `forms.ptx` has a kernel for each form. `forms.txt` has its name, its statement, the positions of its operands and of the
//!   simulator's results in `values.bin`, which holds 64-bit numbers, and its line in the record. `tests/instructions/ask_gpu.py`
//!   compares the results with a GPU's.
//! - `others.txt` has the simulator's verdict on each statement of `tests/instructions/others.txt`, and `others` has a file for each.
//!   `invalid.ptx` has what it rejects as invalid PTX. `tests/instructions/ask_ptxas.py` asks the assembler about all.

#[path = "../tests/instructions/cases.rs"]
mod cases;

use simt::{Error, InstructionSet, Module};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder to write to: instructions FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let (mut ptx, mut list, mut values) = (String::from(cases::HEADER), String::new(), vec![]);
    // Forms with the same types have the same operands, which are written only once.
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    for case in cases::all() {
        let results = case.run(InstructionSet::Plain)?;
        let line = format!("{}\t{}", case.key(), cases::hashes(&results));
        let places: Vec<String> = case
            .operands()
            .into_iter()
            .take(case.types.len() - 1)
            .chain([results])
            .map(|data| {
                let place = known.entry(data.clone()).or_insert_with(|| {
                    values.extend(data);
                    values.len() / cases::COUNT - 1
                });
                place.to_string()
            })
            .collect();
        ptx += &case.kernel();
        let (name, statement, places) = (case.name(), case.statement(), places.join(" "));
        list += &format!("{name}\t{statement}\t{}\t{places}\t{line}\n", case.types[0]);
    }
    std::fs::create_dir_all(folder.join("others"))?;
    let mut judged = String::new();
    for (number, (statement, file)) in cases::others().into_iter().enumerate() {
        let outcome = match Module::parse(&file).and_then(|module| module.kernel("k")) {
            Ok(_) => "taken",
            Err(Error::Parse { .. }) => "no PTX",
            Err(_) => "not supported",
        };
        judged += &format!("{outcome}\t{statement}\n");
        std::fs::write(folder.join(format!("others/{number}.ptx")), file)?;
    }
    std::fs::write(folder.join("others.txt"), judged)?;
    let invalid: String = cases::invalid().iter().map(cases::Case::kernel).collect();
    std::fs::write(folder.join("invalid.ptx"), format!("{}{invalid}", cases::HEADER))?;
    std::fs::write(folder.join("forms.ptx"), ptx)?;
    std::fs::write(folder.join("forms.txt"), list)?;
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join("values.bin"))?);
    for value in values {
        file.write_all(&value.to_le_bytes())?;
    }
    Ok(file.flush()?)
}
