//! All analyses of the simulator at once, compiled here.

use super::counters::Counters;
use super::hazards::Hazards;
use super::trace::Trace;
use crate::config::LaunchConfig;
use crate::error::Error;
use crate::exec::{Arg, Launched, launch, launch_some};
use crate::memory::GlobalMemory;
use crate::module::Kernel;
use crate::observe::{Analysis, BlockInfo};

/// The simulator's own analyses, each of them if it is asked for.
pub type Analyses = (Option<Counters>, (Option<Hazards>, Option<Trace>));

/// Runs a grid, or some of its blocks, as [`launch`] does, with the simulator's own analyses, and calls `ended`
/// after each block. It is compiled in this crate, so that its callers need not be optimised.
///
/// # Errors
/// Those of [`launch`], and [`Error::Usage`] for a block that the grid has not.
#[inline(never)]
pub fn analyse(
    kernel: &Kernel,
    memory: &mut GlobalMemory,
    config: &LaunchConfig,
    args: &[Arg],
    (analyses, ended): (&mut Analyses, &(dyn Fn() + Sync)),
    blocks: Option<&[u64]>,
) -> Result<Launched, Error> {
    let mut all = (std::mem::take(analyses), Ended(ended));
    let launched = match blocks {
        Some(blocks) => launch_some(kernel, memory, config, args, &mut all, blocks),
        None => launch(kernel, memory, config, args, &mut all),
    };
    *analyses = all.0;
    launched
}

/// Is told of the end of each block. It watches nothing within a block, so that the blocks run the same code as without it.
struct Ended<'a>(&'a (dyn Fn() + Sync));

impl Analysis for Ended<'_> {
    type Block = ();

    fn watches(&self) -> bool {
        false
    }

    fn block(&self, _: &BlockInfo) {}

    fn end(&self, (): ()) {
        (self.0)();
    }
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
