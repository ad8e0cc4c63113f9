//! The launches whose counters are recorded on a GPU with Nsight Compute and compared with the simulator's.

use std::path::Path;

use anyhow::{Context, Result};
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
/// Besides, where a kernel takes another form there: a K that is long enough for tensor cores, a row, and a few columns.
const OTHER_SIZES: [[u64; 3]; 5] = [[256, 256, 1024], [200, 264, 1032], [129, 67, 1037], [1, 129, 300], [129, 3, 300]];

/// One launch, in the form that `common/simt/tests/counters/record.py` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Step, variant and size.
    pub name: String,
    /// The committed PTX, relative to the list.
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub shared: u32,
    pub m: u64,
    pub n: u64,
    pub k: u64,
    /// Bytes of A, of B and of what is passed as C.
    pub bytes: [u64; 3],
}

/// The way from a list's folder to the workspace: `../` for each folder in between.
fn to_root(list: &Path) -> Result<String> {
    let whole = std::path::absolute(list).with_context(|| format!("{} is not a path; name a file", list.display()))?;
    let inside = whole.strip_prefix(workspace::root()).ok().with_context(|| {
        format!("{} lies outside the course; choose a place inside, e.g. target/steps.json", list.display())
    })?;
    Ok("../".repeat(inside.components().count().saturating_sub(1)))
}

/// Writes the list for `record.py`, which takes the kernels' paths from the list's folder on; gives the number of launches.
pub fn write(path: &Path) -> Result<usize> {
    let to_root = to_root(path)?;
    let mut launches = list()?;
    for launch in &mut launches {
        launch.kernel = format!("{to_root}{}", launch.kernel);
    }
    let lines: Vec<String> = launches.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    files::write(path, &format!("[\n{}\n]\n", lines.join(",\n")))?;
    Ok(launches.len())
}

/// Every kernel at sizes that can be compared; paths relative to the workspace.
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
        // The tool launches kernels with the usual parameters.
        let Some(launch) = plan.launches.first().filter(|launch| launch.entry == "matmul") else { continue };
        let workspace = launch.args.iter().any(|arg| matches!(arg, Arg::Workspace(_)));
        let c = if workspace { plan.workspace_elements } else { problem.c_elements() };
        let variant = kernel.variant_name().map(|variant| format!(" {variant}")).unwrap_or_default();
        launches.push(Launch {
            name: format!("{}{variant} {}x{}x{}", kernel.step.name, problem.m, problem.n, problem.k),
            kernel: workspace::display(&folder.join(source.committed_name(&plan.specialisation))),
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared_bytes,
            m: problem.m,
            n: problem.n,
            k: problem.k,
            bytes: [problem.a_elements() * 4, problem.b_elements() * 4, c * 4],
        });
    }
    Ok(launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_knows_the_way_to_the_kernels() {
        let root = workspace::root();
        assert_eq!(to_root(&root.join("steps.json")).unwrap(), "");
        assert_eq!(to_root(&root.join("docs/results/counters/steps.json")).unwrap(), "../../../");
        assert!(to_root(Path::new("/elsewhere/steps.json")).unwrap_err().to_string().contains("outside"));
    }

    #[test]
    fn every_launch_has_a_committed_kernel() {
        let launches = list().unwrap();
        assert!(launches.len() > 50, "{}", launches.len());
        for launch in launches {
            assert!(workspace::root().join(&launch.kernel).is_file(), "{}: {}", launch.name, launch.kernel);
        }
    }
}
