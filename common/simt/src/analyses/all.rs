//! All analyses of the simulator at once, compiled here.

use super::counters::Counters;
use super::hazards::Hazards;
use super::trace::Trace;
use crate::config::LaunchConfig;
use crate::error::Error;
use crate::exec::{Arg, Launched, launch_blocks};
use crate::memory::GlobalMemory;
use crate::module::Kernel;

/// The simulator's own analyses, each of them if it is asked for.
pub type Analyses = (Option<Counters>, (Option<Hazards>, Option<Trace>));

/// Runs a grid, or some of its blocks, as [`crate::launch`] does, with the simulator's own analyses, and calls `ended`
/// after each block. It is compiled in this crate, so that its callers need not be optimised.
///
/// # Errors
/// Those of [`crate::launch`], and [`Error::Usage`] for a block that the grid has not.
#[inline(never)]
pub fn analyse(
    kernel: &Kernel,
    memory: &mut GlobalMemory,
    config: &LaunchConfig,
    args: &[Arg],
    (analyses, ended): (&mut Analyses, &(dyn Fn() + Sync)),
    blocks: Option<&[u64]>,
) -> Result<Launched, Error> {
    launch_blocks(kernel, memory, config, args, analyses, blocks, ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Module;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn blocks_are_counted_as_they_end() {
        let ptx = ".version 8.1\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }";
        let kernel = Module::parse(ptx).unwrap().kernel("nothing").unwrap();
        let config = LaunchConfig::new((3, 2), 32);
        for (blocks, ended) in [(None, 6), (Some(&[1, 4][..]), 2)] {
            let count = AtomicU64::new(0);
            let count_one = || _ = count.fetch_add(1, Ordering::Relaxed);
            let mut analyses = (Some(Counters::new()), Default::default());
            analyse(&kernel, &mut GlobalMemory::new(), &config, &[], (&mut analyses, &count_one), blocks).unwrap();
            assert_eq!(count.into_inner(), ended);
            assert!(analyses.0.is_some(), "the analyses come back");
        }
    }
}
