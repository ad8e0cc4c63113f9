//! The launches whose counters are recorded on a GPU with Nsight Compute and compared with the simulator's.

use std::path::Path;

use anyhow::Result;
use common::basics::workspace;
use common::code::Source;
use course::files;
use course::steps::{Kernel, Role, STEPS};
use plan::{Arg, DeviceInfo, Problem, Specialisation};
use serde::{Deserialize, Serialize};

/// Sizes at which every step is compared: a cube, and two that are multiples of no tile.
const SIZES: [[u64; 3]; 3] = [[256, 256, 256], [200, 264, 136], [129, 67, 45]];
/// Sizes for a step that can do none of these: what fits one block.
const SMALL_SIZES: [[u64; 3]; 3] = [[32, 32, 128], [25, 33, 17], [7, 129, 45]];
/// Besides, where a kernel takes another form there: large tiles of tensor cores, a row, and a few columns.
const OTHER_SIZES: [[u64; 3]; 3] = [[1100, 1100, 17], [1, 129, 300], [129, 3, 300]];

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
    /// The arguments, as a plan has them.
    pub args: Vec<Arg>,
    /// Bytes of A, B, C and the workspace.
    pub bytes: [u64; 4],
}

/// Writes the list for `record.py`; gives the number of launches.
pub fn write(path: &Path) -> Result<usize> {
    let launches = list()?;
    let lines: Vec<String> = launches.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    files::write(path, &format!("[\n{}\n]\n", lines.join(",\n")))?;
    Ok(launches.len())
}

/// Every kernel at sizes that can be compared.
pub fn list() -> Result<Vec<Launch>> {
    let mut launches = Vec::new();
    for kernel in STEPS.iter().flat_map(|step| Kernel::of(step)).filter(|kernel| kernel.role() != Role::Rust) {
        // A counter-example differs from its kernel in the same way at every size.
        let sizes = if kernel.role() == Role::CounterExample { &SIZES[..1] } else { &SIZES[..] };
        launches.extend(of_kernel(kernel, sizes)?);
    }
    Ok(launches)
}

fn of_kernel(kernel: Kernel, sizes: &[[u64; 3]]) -> Result<Vec<Launch>> {
    let problems: Vec<Problem> = sizes.iter().chain(&OTHER_SIZES).copied().map(Problem::uniform).collect();
    let device = DeviceInfo::simulated(u64::MAX);
    let plans: Vec<_> = problems.iter().map(|problem| kernel.plan(problem, &device)).collect();
    let (usual, _) = plans.split_at(sizes.len());
    if usual.iter().all(Result::is_err) && *sizes != SMALL_SIZES {
        return of_kernel(kernel, &SMALL_SIZES);
    }
    let usual: Vec<Specialisation> = usual.iter().flatten().map(|plan| plan.specialisation.clone()).collect();
    let source = Source::read(&kernel.file())?;
    let committed = kernel.committed();
    let folder = source.committed_folder().unwrap_or_default();
    let mut launches = Vec::new();
    for (at, (problem, plan)) in problems.iter().zip(plans).enumerate() {
        let Ok(plan) = plan else { continue };
        if !committed.contains(&plan.specialisation) {
            continue; // another form than the one that is committed of the kernel
        }
        if at >= sizes.len() && usual.contains(&plan.specialisation) {
            continue;
        }
        let whole = [problem.m, problem.n, problem.k].iter().all(|size| size % 32 == 0);
        if kernel.variant_name() == Some("no_edges") && !whole {
            continue; // it leaves its matrices, which the simulator refuses and a GPU may
        }
        let variant = kernel.variant_name().map(|variant| format!(" {variant}")).unwrap_or_default();
        let elements = [problem.a_elements(), problem.b_elements(), problem.c_elements(), plan.workspace_elements];
        for launch in plan.launches {
            let part = if launch.entry == "matmul" { String::new() } else { format!(" {}", launch.entry) };
            launches.push(Launch {
                name: format!("{}{variant}{part} {}x{}x{}", kernel.step.name, problem.m, problem.n, problem.k),
                kernel: workspace::display(&folder.join(source.committed_name(&plan.specialisation))),
                entry: launch.entry,
                grid: launch.grid,
                block: launch.block,
                shared: launch.shared_bytes,
                args: launch.args,
                bytes: elements.map(|count| count * 4),
            });
        }
    }
    Ok(launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launch_has_a_committed_kernel() {
        let launches = list().unwrap();
        assert!(launches.len() > 50, "{}", launches.len());
        for launch in launches {
            assert!(workspace::root().join(&launch.kernel).is_file(), "{}: {}", launch.name, launch.kernel);
        }
    }
}
