//! `cargo x counters`: the simulator's counters against those that Nsight Compute read on a GPU for the same PTX.

pub mod launches;
pub mod readings;

use std::path::PathBuf;

use anyhow::Result;
use common::basics::output::print;

use readings::{File, Readings};

#[derive(clap::Args, Default)]
pub struct Options {
    /// Compare nothing, but write the list of launches that are to be read on a GPU (with
    /// common/simt/tests/counters/record.py)
    #[arg(long, value_name = "FILE")]
    launches: Option<PathBuf>,
}

/// Runs the command; `false` if a count differs or a reading is outdated.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(file) = &options.launches {
        let count = launches::write(file)?;
        return print(&format!("{count} launches in {}\n", file.display())).map(|()| true);
    }
    let readings = Readings::read()?;
    let mut problems = vec![];
    for reading in &readings.launches {
        let name = &reading.launch.name;
        match reading.compare() {
            Ok(compared) => {
                let differing = compared.equal.iter().filter(|count| !count.agrees());
                problems.extend(differing.map(|count| {
                    format!("{name}: {} is {}, and the GPU counted {}\n", count.name, count.simulated, count.read)
                }));
                let (least, run) = (compared.bound.simulated, compared.bound.read);
                if least > run {
                    problems.push(format!("{name}: a bound of {least} instructions, of which the GPU ran {run}\n"));
                }
            }
            Err(error) => problems.push(format!("{name}: {error:#}\n")),
        }
    }
    let (text, ok) = (problems.concat(), problems.is_empty());
    let verdict = if ok { "all agree".to_owned() } else { format!("{} differences", problems.len()) };
    let (count, File { gpu, driver, date, .. }) = (readings.launches.len(), &readings.from);
    print(&format!("{text}{count} launches compared with {gpu} (driver {driver}, {date}): {verdict}\n"))?;
    Ok(ok)
}
