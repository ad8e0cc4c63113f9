//! `cargo x counters`: the simulator's counters against those that Nsight Compute read on a GPU for the same PTX.

pub mod launches;
pub mod readings;

use std::path::PathBuf;

use anyhow::Result;
use common::basics::output::print;

use readings::File;

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
    let (File { gpu, driver, date, .. }, launches) = readings::read()?;
    let mut problems = vec![];
    for reading in &launches {
        let name = &reading.launch.name;
        match reading.compare() {
            Ok(compared) => problems.extend(compared.iter().filter(|count| !count.agrees()).map(|count| {
                format!("{name}: {} is {}, and the GPU counted {}\n", count.name, count.simulated, count.read)
            })),
            Err(error) => problems.push(format!("{name}: {error:#}\n")),
        }
    }
    let (text, ok, count) = (problems.concat(), problems.is_empty(), launches.len());
    let verdict = if ok { "all agree".to_owned() } else { format!("{} differences", problems.len()) };
    print(&format!("{text}{count} launches compared with {gpu} (driver {driver}, {date}): {verdict}\n"))?;
    Ok(ok)
}
