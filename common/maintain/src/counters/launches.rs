//! The launches whose counters are recorded on a GPU with Nsight Compute and compared with the simulator's.

use std::path::Path;

use anyhow::{Error, Result};
use common::basics::workspace;
use common::code::Source;
use common::program::cli::parse_size;
use course::files;
use course::steps::Kernel;
use plan::{Arg, DeviceInfo, Problem};
use serde::{Deserialize, Serialize};

/// Kernels with their sizes; the head of the file says how they are chosen.
const LIST: &str = include_str!("launches.txt");

/// One launch, in the form that `common/simt/tests/counters/record.py` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Step, variant and size.
    pub name: String,
    /// The committed PTX, relative to the workspace.
    pub kernel: String,
    pub entry: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub shared: u32,
    /// The arguments, as in a plan.
    pub args: Vec<Arg>,
    /// Bytes of A, B, C and the workspace.
    pub bytes: [u64; 4],
}

/// Writes the list for `record.py`. Returns the number of launches.
pub fn write(path: &Path) -> Result<usize> {
    let launches = list()?;
    let lines: Vec<String> = launches.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    files::write(path, &format!("[\n{}\n]\n", lines.join(",\n")))?;
    Ok(launches.len())
}

/// All launches of the list.
pub fn list() -> Result<Vec<Launch>> {
    let mut launches = Vec::new();
    for line in LIST.lines().filter(|line| !line.starts_with('#')) {
        let (name, sizes) = line.split_once(' ').unwrap_or((line, ""));
        for size in sizes.split(' ') {
            launches.extend(of_kernel(Kernel::named(name)?, parse_size(size).map_err(Error::msg)?)?);
        }
    }
    Ok(launches)
}

fn of_kernel(kernel: Kernel, size: [u64; 3]) -> Result<Vec<Launch>> {
    let problem = Problem::uniform(size);
    let plan = kernel.plan(&problem, &DeviceInfo::simulated(u64::MAX))?;
    let source = Source::read(&kernel.file())?;
    let file = source.committed_folder().unwrap_or_default().join(source.committed_name(&plan.specialisation));
    let variant = kernel.variant_name().map(|variant| format!(" {variant}")).unwrap_or_default();
    let elements = [problem.a_elements(), problem.b_elements(), problem.c_elements(), plan.workspace_elements];
    let launch = |launch: plan::Launch| {
        let part = if launch.entry == "matmul" { String::new() } else { format!(" {}", launch.entry) };
        Launch {
            name: format!("{}{variant}{part} {}", kernel.step.name, size.map(|edge| edge.to_string()).join("x")),
            kernel: workspace::display(&file),
            entry: launch.entry,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared_bytes,
            args: launch.args,
            bytes: elements.map(|count| count * 4),
        }
    };
    Ok(plan.launches.into_iter().map(launch).collect())
}

#[cfg(test)]
mod tests {
    use course::steps::{Role, STEPS};

    use super::*;

    #[test]
    fn every_kernel_has_launches_and_every_launch_has_a_committed_kernel() {
        for kernel in STEPS.iter().flat_map(|step| Kernel::of(step)).filter(|kernel| kernel.role() != Role::Rust) {
            assert!(LIST.contains(&format!("\n{} ", kernel.name())), "{} is missing in launches.txt", kernel.name());
        }
        for launch in list().unwrap() {
            assert!(workspace::root().join(&launch.kernel).is_file(), "{}: {}", launch.name, launch.kernel);
        }
    }
}
