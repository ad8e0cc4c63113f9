//! The least time that a product can take on a GPU, by what its kernels do: a bound, not a guess.
//!
//! Each block is done by one SM. However the blocks are dealt out, one SM gets at least ⌈blocks / SMs⌉ of them, and it cannot be
//! faster than its busiest unit. Device memory serves all SMs together: a product that is right has read all of A and B and
//! written all of C, and at most the L2 cache was full of them before.

use serde::{Deserialize, Serialize};
use simt::{Work, Works};

use crate::gpus::{Gpu, ISSUED_PER_CLOCK};
use crate::problem::Problem;
use crate::units::ms;

/// The least time of a product on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastTime {
    /// The GPU.
    pub gpu: String,
    /// The least time in milliseconds.
    pub ms: f64,
    /// What takes that long: the bottleneck.
    pub bound_by: String,
    /// What each resource takes at least.
    pub resources: Vec<ResourceTime>,
}

/// How long a resource is busy at least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceTime {
    /// The resource.
    pub name: String,
    /// Its time in milliseconds.
    pub ms: f64,
}

/// A resource of an SM: its name, what a block asks of it, and how much of that it does in a clock.
type Resource = (&'static str, fn(&Work) -> u64, fn(&Gpu) -> f64);

/// The resources of an SM. Of several that take equally long, the first is named.
const RESOURCES: [Resource; 3] = [
    ("FMA units", |work| work.fma, |gpu| gpu.fma_per_clock / 32.0),
    ("shared memory, L1", |work| work.passes, |gpu| gpu.passes_per_clock),
    ("instruction issue", |work| work.issued, |_| ISSUED_PER_CLOCK),
];

/// The resource that all SMs share.
const MEMORY: &str = "device memory";

/// The least time of launches that follow each other and compute the problem's product rightly.
pub fn least_time(gpu: &Gpu, launches: &[Works], problem: &Problem) -> LeastTime {
    let resource = |(name, work, rate): Resource| {
        let clocks: f64 = launches.iter().map(|works| busiest(works, work, gpu.sms) / rate(gpu)).sum();
        ResourceTime { name: name.to_owned(), ms: clocks / (gpu.clock_mhz * 1e3) }
    };
    let Problem { m, n, k, .. } = *problem;
    let bytes = 4.0 * (m as f64 * k as f64 + k as f64 * n as f64 + m as f64 * n as f64);
    let through_memory = (bytes - gpu.l2_bytes as f64).max(0.0) / (gpu.memory_gb_per_s * 1e6);
    let mut resources: Vec<ResourceTime> = RESOURCES.into_iter().map(resource).collect();
    resources.push(ResourceTime { name: MEMORY.to_owned(), ms: through_memory });
    let longest =
        resources.iter().fold(&resources[0], |longest, other| if other.ms > longest.ms { other } else { longest });
    LeastTime { gpu: gpu.name.clone(), ms: longest.ms, bound_by: longest.name.clone(), resources: resources.clone() }
}

/// What the SM that has the most to do does at least: its share of everything, or as many blocks as must come together on
/// one SM, if those are the lightest.
fn busiest(works: &Works, work: fn(&Work) -> u64, sms: u32) -> f64 {
    let mut kinds: Vec<(u64, u64)> = works.kinds().map(|(kind, blocks)| (work(&kind), blocks)).collect();
    kinds.sort_unstable();
    let total: f64 = kinds.iter().map(|&(work, blocks)| work as f64 * blocks as f64).sum();
    let mut left = kinds.iter().map(|&(_, blocks)| blocks).sum::<u64>().div_ceil(sms.into());
    let mut lightest = 0.0;
    for (work, blocks) in kinds {
        lightest += work as f64 * left.min(blocks) as f64;
        left -= left.min(blocks);
    }
    lightest.max(total / f64::from(sms))
}

impl LeastTime {
    /// A short table.
    pub fn text(&self) -> String {
        let mut text = format!("  least time ({}): {}, bound by {}\n", self.gpu, ms(self.ms), self.bound_by);
        for resource in &self.resources {
            text += &format!("    {:<32}{:>18}\n", resource.name, ms(resource.ms));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu() -> Gpu {
        let figures = (2, 1000.0, 64.0, 1.0, 100.0);
        let (sms, clock_mhz, fma_per_clock, passes_per_clock, memory_gb_per_s) = figures;
        Gpu { name: "G".into(), sms, clock_mhz, fma_per_clock, passes_per_clock, memory_gb_per_s, l2_bytes: 1 << 20 }
    }

    fn works(kinds: &[(u64, u64, u64, u64)]) -> Works {
        let mut works = Works::default();
        for &(fma, issued, passes, blocks) in kinds {
            works.add(Work { fma, issued, passes }, blocks);
        }
        works
    }

    #[test]
    fn the_busiest_sm_decides() {
        let fma = |work: &Work| work.fma;
        for (kinds, busiest_sm) in [
            // Three blocks on two SMs: one gets two.
            (vec![(100, 0, 0, 3)], 200.0),
            (vec![(100, 0, 0, 4)], 200.0),
            (vec![(100, 0, 0, 1)], 100.0),
            // Which two come together is not known: it may be the light ones, and half of all is more.
            (vec![(100, 0, 0, 1), (10, 0, 0, 2)], 60.0),
            (vec![(100, 0, 0, 2), (90, 0, 0, 1)], 190.0),
            (vec![], 0.0),
        ] {
            assert!((busiest(&works(&kinds), fma, 2) - busiest_sm).abs() < 1e-9, "{kinds:?}");
        }
    }

    #[test]
    fn the_longest_resource_is_the_bottleneck() {
        // 1,000 clocks are a microsecond; two multiply-adds of warps, four instructions and one pass in each.
        for (work, bound_by, least) in [
            ((6000, 6000, 1000, 2), "FMA units", 0.003),
            ((6000, 6000, 4000, 2), "shared memory, L1", 0.004),
            ((6000, 40_000, 4000, 2), "instruction issue", 0.01),
        ] {
            let found = least_time(&gpu(), &[works(&[work])], &Problem::uniform([64; 3]));
            assert_eq!(found.bound_by, bound_by);
            assert!((found.ms - least).abs() < 1e-9, "{found:?}");
        }
        let launches = [works(&[(6000, 6000, 1000, 2)]), works(&[(2000, 2000, 1000, 2)])];
        let one_after_the_other = least_time(&gpu(), &launches, &Problem::uniform([64; 3]));
        assert!((one_after_the_other.ms - 0.004).abs() < 1e-9, "{one_after_the_other:?}");
        // 3 MiB and a third in the cache.
        let found = least_time(&gpu(), &launches, &Problem::uniform([512; 3]));
        assert_eq!(found.bound_by, "device memory");
        assert!(found.text().starts_with("  least time (G): 20.97 µs, bound by device memory\n"), "{}", found.text());
    }
}
