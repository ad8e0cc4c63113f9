//! What follows from a record's sizes and samples: names, speeds, shares, and whether all went right.

use common::Kind;
use common::measure::timing::{Spread, geometric_mean};

use crate::record::format::{CUBLAS, Entry, Outcome, Record, SizeRecord};

/// What is told of one kernel's speed at one size.
pub struct Speed {
    /// Least, middle and greatest sample in milliseconds.
    pub spread: Spread,
    /// By the median.
    pub gflops: f64,
    /// Share of the device's FP32 peak; none for a step of the host.
    pub of_peak: Option<f64>,
    /// Share of cuBLAS's speed.
    pub of_cublas: Option<f64>,
    /// Over the nearest earlier step that has a speed; none for cuBLAS.
    pub over_previous: Option<f64>,
}

/// The sizes that show the tiles' steps.
pub fn saw_tooth() -> Vec<[u64; 3]> {
    (1000..=1100).step_by(4).map(|edge| [edge; 3]).collect()
}

/// Whether a size is there for the saw-tooth only: 1000³ and 1024³ stand for themselves as well.
pub fn only_in_saw_tooth(size: [u64; 3]) -> bool {
    saw_tooth().contains(&size) && size[0] != 1000 && size[0] != 1024
}

/// `4096³` or `1000×777×513`.
pub fn size_words([m, n, k]: [u64; 3]) -> String {
    if m == n && n == k { format!("{m}³") } else { format!("{m}×{n}×{k}") }
}

impl Entry {
    /// Least, middle and greatest sample in milliseconds; none if the product is not right.
    pub fn spread(&self) -> Option<Spread> {
        let samples: Vec<f64> = self.samples_ms.iter().flatten().copied().collect();
        (self.outcome == Outcome::Verified).then(|| Spread::of(&samples)).flatten()
    }

    /// The middle sample over the least time, if both are known.
    pub fn over_least(&self) -> Option<f64> {
        Some(self.spread()?.median / self.least_time.as_ref()?.ms)
    }
}

impl SizeRecord {
    /// M, N and K.
    pub fn shape(&self) -> [u64; 3] {
        [self.m, self.n, self.k]
    }

    /// The size as people write it: `4096³` or `1000×777×513`.
    pub fn words(&self) -> String {
        size_words(self.shape())
    }

    /// How a kernel fared.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Speed of a kernel in GFLOP/s, by the median of its samples.
    pub fn gflops(&self, name: &str) -> Option<f64> {
        let ms = self.entry(name)?.spread()?.median;
        Some(2.0 * self.m as f64 * self.n as f64 * self.k as f64 / (ms * 1e6))
    }

    /// Speed of a kernel as a share of cuBLAS's at this size.
    pub fn share_of_cublas(&self, name: &str) -> Option<f64> {
        Some(self.gflops(name)? / self.gflops(CUBLAS)?)
    }

    /// Speed of the kernel over that of the nearest earlier step that has one.
    pub fn over_previous(&self, name: &str) -> Option<f64> {
        let at = self.entries.iter().position(|entry| entry.name == name)?;
        let previous = self.entries[..at].iter().rev().find_map(|entry| self.gflops(&entry.name))?;
        Some(self.gflops(name)? / previous)
    }

    /// Whether all three edges are equal.
    pub fn is_cube(&self) -> bool {
        self.m == self.n && self.n == self.k
    }

    /// Whether the size is there to be drawn in the saw-tooth, and not to be tabled.
    pub fn is_saw_tooth(&self) -> bool {
        only_in_saw_tooth(self.shape())
    }
}

impl Record {
    /// Every kernel at every size.
    pub fn entries(&self) -> impl Iterator<Item = (&SizeRecord, &Entry)> {
        self.sizes.iter().flat_map(|size| size.entries.iter().map(move |entry| (size, entry)))
    }

    /// Whether all that was tried is right.
    pub fn ok(&self) -> bool {
        self.complete && !self.entries().any(|(_, entry)| matches!(entry.outcome, Outcome::Wrong | Outcome::Failed))
    }

    /// The speed of a kernel at a size, if its product is right and was timed.
    pub fn speed(&self, size: &SizeRecord, entry: &Entry) -> Option<Speed> {
        let (spread, gflops) = (entry.spread()?, size.gflops(&entry.name)?);
        let host = self.steps.iter().any(|step| step.host && step.name == entry.name);
        Some(Speed {
            spread,
            gflops,
            of_peak: self.figures.filter(|_| !host).map(|figures| gflops / figures.fp32_peak_gflops),
            of_cublas: size.share_of_cublas(&entry.name),
            over_previous: size.over_previous(&entry.name).filter(|_| entry.name != CUBLAS),
        })
    }

    /// The largest cube at which the ladder is shown: 4096³ if it is there.
    pub fn ladder_size(&self) -> Option<&SizeRecord> {
        let timed = |size: &&SizeRecord| size.is_cube() && size.entries.iter().any(|entry| entry.spread().is_some());
        self.size([4096; 3]).filter(timed).or_else(|| self.sizes.iter().filter(timed).max_by_key(|size| size.m))
    }

    /// Least share and geometric mean of a step's share of cuBLAS, over the sizes that are not drawn only.
    pub fn shares_of_cublas(&self, name: &str) -> Option<(f64, f64)> {
        let sizes = self.sizes.iter().filter(|size| !size.is_saw_tooth());
        let shares: Vec<f64> = sizes.filter_map(|size| size.share_of_cublas(name)).collect();
        let least = shares.iter().copied().reduce(f64::min)?;
        Some((least, geometric_mean(&shares)))
    }

    /// Whether it holds times of a GPU.
    pub fn has_times(&self) -> bool {
        self.device.kind == Kind::Cuda && self.entries().any(|(_, entry)| entry.spread().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::example;

    #[test]
    fn shares_follow_from_the_medians() {
        let record = example();
        let size = record.size([4096; 3]).unwrap();
        assert!((size.share_of_cublas("step04_two").unwrap() - 0.5).abs() < 1e-6);
        assert!((size.over_previous("step04_two").unwrap() - 4.0).abs() < 1e-5);
        assert_eq!(size.over_previous("step02_one"), None);
        let (least, mean) = record.shares_of_cublas("step02_one").unwrap();
        assert!((least - 0.125).abs() < 1e-6 && (mean - (0.125_f64 / 6.0).sqrt()).abs() < 1e-6, "{least} {mean}");
    }

    #[test]
    fn a_wrong_product_has_no_time_and_the_record_is_not_ok() {
        let mut record = example();
        assert!(record.ok());
        record.sizes[0].entries[1].outcome = Outcome::Wrong;
        assert_eq!(record.sizes[0].gflops("step04_two"), None);
        assert!(!record.ok());
        record.sizes[0].entries[1].outcome = Outcome::Impossible;
        assert!(record.ok());
    }
}
