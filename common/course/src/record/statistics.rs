//! What follows from a record's sizes and samples: names, speeds, shares, and whether all went right.

use common::Kind;
use common::basics::units::ms;
use common::measure::timing::{Spread, geometric_mean};

use crate::record::format::{CUBLAS, Entry, Outcome, Record, SizeRecord};

/// One time as a multiple of another.
pub fn times(times: f64) -> String {
    format!("{times:.2} ×")
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
        let median = self.entry(name)?.spread()?.median;
        Some(2.0 * self.m as f64 * self.n as f64 * self.k as f64 / (median * 1e6))
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

    /// What is told of a kernel's speed at a size, if its product is right and was timed: its time, its speed, its share of the device's
    /// FP32 peak (none for a step of the host) and of cuBLAS's speed, and its speed over the nearest earlier step that has one.
    /// `none` stands for what there is not.
    pub fn speed(
        &self,
        size: &SizeRecord,
        entry: &Entry,
        speed: impl Fn(f64) -> String,
        none: &str,
    ) -> Option<[String; 5]> {
        let (spread, gflops) = (entry.spread()?, size.gflops(&entry.name)?);
        let host = self.steps.iter().any(|step| step.host && step.name == entry.name);
        let of_peak = self.figures.filter(|_| !host).map(|figures| gflops / figures.fp32_peak_gflops);
        let over_previous = size.over_previous(&entry.name).filter(|_| entry.name != CUBLAS);
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let [of_peak, of_cublas] = [of_peak, size.share_of_cublas(&entry.name)].map(|share| share.map(percent));
        let all = [Some(ms(spread.median)), Some(speed(gflops)), of_peak, of_cublas, over_previous.map(times)];
        Some(all.map(|cell| cell.unwrap_or_else(|| none.to_owned())))
    }

    /// The largest cube at which the ladder is shown: 4096³ if it is there.
    pub fn ladder_size(&self) -> Option<&SizeRecord> {
        let timed = |size: &&SizeRecord| size.is_cube() && size.entries.iter().any(|entry| entry.spread().is_some());
        self.size([4096; 3]).filter(timed).or_else(|| self.sizes.iter().filter(timed).max_by_key(|size| size.m))
    }

    /// Least share and geometric mean of a step's share of cuBLAS.
    pub fn shares_of_cublas(&self, name: &str) -> Option<(f64, f64)> {
        let shares: Vec<f64> = self.sizes.iter().filter_map(|size| size.share_of_cublas(name)).collect();
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
