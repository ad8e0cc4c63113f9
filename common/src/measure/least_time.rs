//! The least time that a product can take on a GPU, computed from the work of its kernels. It is a bound, not an estimate.
//!
//! Each block runs on one SM. However the blocks are distributed, one SM gets at least ⌈blocks / SMs⌉ of them, and it cannot be
//! faster than its busiest unit. Device memory serves all SMs together: a right product has read all of A and B and written all of
//! C, of which at most the L2 cache's size was cached before.

use serde::{Deserialize, Serialize};
use simt::{Work, Works};

use crate::basics::ms;
use crate::device::Product;
use crate::measure::gpus::{Gpu, ISSUED_PER_CLOCK};
use plan::Problem;

/// The least time of a product on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastTime {
    /// The GPU.
    pub gpu: String,
    /// The least time in milliseconds.
    pub ms: f64,
    /// The resource that takes that long: the bottleneck.
    pub bound_by: String,
    /// The least time of each resource.
    pub resources: Vec<ResourceTime>,
}

/// The least time for which a resource is busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceTime {
    /// The resource.
    pub name: String,
    /// Its time in milliseconds.
    pub ms: f64,
}

/// A resource of an SM: its name, the work that a block gives it, by the number of other instructions per multiply-add, and how
/// much of that work it does per clock.
type Resource = (&'static str, fn(&Work, f64) -> f64, fn(&Gpu) -> f64);

/// The resources of an SM. If several take equally long, the first is the bottleneck.
const RESOURCES: [Resource; 3] = [
    ("FMA units", |work, _| work.fma as f64, |gpu| gpu.fma_per_clock() / 32.0),
    ("shared memory, L1", |work, _| work.passes as f64, Gpu::passes_per_clock),
    ("instruction issue", |work, others| work.issued as f64 + others * work.fma as f64, |_| ISSUED_PER_CLOCK),
];

/// The least time that a product can take on a GPU, by the work of each of its launches.
pub fn of_product(product: &dyn Product, gpu: &Gpu, works: &[Works]) -> LeastTime {
    let others = product.others_per_fma(gpu.compute_capability).into_iter().chain(std::iter::repeat(0.0));
    least_time(gpu, works.iter().zip(others), &product.matrices().problem)
}

/// The least time of launches that follow each other and compute the problem's product. Each comes with its work, and with the
/// number of instructions per multiply-add of a warp that the work does not count (0 if unknown).
fn least_time<'a>(gpu: &Gpu, launches: impl IntoIterator<Item = (&'a Works, f64)>, problem: &Problem) -> LeastTime {
    let launches: Vec<(&Works, f64)> = launches.into_iter().collect();
    let resource = |(name, work, rate): Resource| {
        let of_all = launches.iter().map(|&(works, others)| busiest(works, |block| work(block, others), gpu.sms));
        let clocks = of_all.sum::<f64>() / rate(gpu);
        ResourceTime { name: name.to_owned(), ms: clocks / (gpu.clock_mhz * 1e3) }
    };
    let Problem { m, n, k, .. } = *problem;
    let bytes = 4.0 * (m as f64 * k as f64 + k as f64 * n as f64 + m as f64 * n as f64);
    let through_memory = (bytes - gpu.l2_bytes as f64).max(0.0) / (gpu.memory_gb_per_s * 1e6);
    let mut resources: Vec<ResourceTime> = RESOURCES.into_iter().map(resource).collect();
    // All SMs share it.
    resources.push(ResourceTime { name: "device memory".to_owned(), ms: through_memory });
    let longest =
        resources.iter().fold(&resources[0], |longest, other| if other.ms > longest.ms { other } else { longest });
    LeastTime { gpu: gpu.name.clone(), ms: longest.ms, bound_by: longest.name.clone(), resources: resources.clone() }
}

/// The least work of the busiest SM: its share of all work or, if that is more, the work of the lightest blocks, as many as must
/// come together on one SM.
fn busiest(works: &Works, work: impl Fn(&Work) -> f64, sms: u32) -> f64 {
    let mut kinds: Vec<(f64, u64)> = works.kinds().map(|(kind, blocks)| (work(&kind), blocks)).collect();
    kinds.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let total: f64 = kinds.iter().map(|&(work, blocks)| work * blocks as f64).sum();
    let mut left = kinds.iter().map(|&(_, blocks)| blocks).sum::<u64>().div_ceil(sms.into());
    let mut lightest = 0.0;
    for (work, blocks) in kinds {
        lightest += work * left.min(blocks) as f64;
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

    /// A GPU whose SMs do 64 multiply-adds and one pass per clock.
    fn gpu() -> Gpu {
        let (name, compute_capability, sms, clock_mhz) = ("G".into(), 80, 2, 1000.0);
        Gpu { name, compute_capability, sms, clock_mhz, memory_gb_per_s: 100.0, l2_bytes: 1 << 20 }
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
        let fma = |work: &Work| work.fma as f64;
        for (kinds, busiest_sm) in [
            // Three blocks on two SMs: one gets two.
            (vec![(100, 0, 0, 3)], 200.0),
            (vec![(100, 0, 0, 4)], 200.0),
            (vec![(100, 0, 0, 1)], 100.0),
            // It is unknown which two share an SM. It may be the light ones, and then half of all work is more.
            (vec![(100, 0, 0, 1), (10, 0, 0, 2)], 60.0),
            (vec![(100, 0, 0, 2), (90, 0, 0, 1)], 190.0),
            (vec![], 0.0),
        ] {
            assert!((busiest(&works(&kinds), fma, 2) - busiest_sm).abs() < 1e-9, "{kinds:?}");
        }
    }

    #[test]
    fn the_longest_resource_is_the_bottleneck() {
        // 1,000 clocks are a microsecond. Each clock has two warp multiply-adds, four instructions and one pass.
        for (work, others, bound_by, least) in [
            ((6000, 6000, 1000, 2), 1.0, "FMA units", 0.003),
            ((6000, 6000, 4000, 2), 1.0, "shared memory, L1", 0.004),
            ((6000, 40_000, 4000, 2), 0.0, "instruction issue", 0.01),
            ((6000, 8000, 1000, 2), 2.0, "instruction issue", 0.005),
        ] {
            let found = least_time(&gpu(), [(&works(&[work]), others)], &Problem::uniform([64; 3]));
            assert_eq!(found.bound_by, bound_by);
            assert!((found.ms - least).abs() < 1e-9, "{found:?}");
        }
        let launches = [works(&[(6000, 6000, 1000, 2)]), works(&[(2000, 2000, 1000, 2)])];
        let launches = || launches.iter().map(|works| (works, 0.0));
        let one_after_the_other = least_time(&gpu(), launches(), &Problem::uniform([64; 3]));
        assert!((one_after_the_other.ms - 0.004).abs() < 1e-9, "{one_after_the_other:?}");
        // A, B and C have 3 MiB, a third of which fits into the cache.
        let found = least_time(&gpu(), launches(), &Problem::uniform([512; 3]));
        assert_eq!(found.bound_by, "device memory");
        assert!(found.text().starts_with("  least time (G): 20.97 µs, bound by device memory\n"), "{}", found.text());
    }
}
