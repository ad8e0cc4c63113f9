//! What follows from a record's samples: speeds, shares, and whether all went right.

use common::Kind;
use common::timing::Spread;

use crate::record::format::{CUBLAS, Entry, Outcome, Record, SizeRecord};
use crate::record::sizes::{only_in_saw_tooth, size_words};

impl Entry {
    /// Least, middle and greatest sample in milliseconds; none if the product is not right.
    pub fn spread(&self) -> Option<Spread> {
        let samples: Vec<f64> = self.samples_ms.iter().flatten().copied().collect();
        (self.outcome == Outcome::Verified).then(|| Spread::of(&samples)).flatten()
    }
}

impl SizeRecord {
    /// The size as people write it: `4096³` or `1000×777×513`.
    pub fn words(&self) -> String {
        size_words([self.m, self.n, self.k])
    }

    /// Speed of a kernel in GFLOP/s, by the median of its samples.
    pub fn gflops(&self, name: &str) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let ms = entry.spread()?.median;
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
        only_in_saw_tooth([self.m, self.n, self.k])
    }
}

impl Record {
    /// Whether all that was tried is right.
    pub fn ok(&self) -> bool {
        let entries = self.sizes.iter().flat_map(|size| &size.entries);
        self.complete && !entries.into_iter().any(|entry| matches!(entry.outcome, Outcome::Wrong | Outcome::Failed))
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
        let mean = (shares.iter().map(|share| share.ln()).sum::<f64>() / shares.len() as f64).exp();
        Some((least, mean))
    }

    /// Whether it holds times of a GPU.
    pub fn has_times(&self) -> bool {
        self.device.kind == Kind::Cuda
            && self.sizes.iter().flat_map(|size| &size.entries).any(|entry| entry.spread().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::example;

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
