//! Published figures of some GPUs, per clock and per second, from which a bound on a kernel's time follows.

use crate::device::{DeviceInfo, Figures, cores_per_sm};

/// The limits of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// Compute capability, e.g. 75 for 7.5.
    pub compute_capability: u32,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Highest clock of the SMs in MHz.
    pub clock_mhz: f64,
    /// Rate of the device memory in 10⁹ bytes per second.
    pub memory_gb_per_s: f64,
    /// The L2 cache in bytes.
    pub l2_bytes: u64,
}

/// Warp instructions that an SM starts per clock: one for each of its four schedulers, on all GPUs since 2017 (CUDA C++ Programming
/// Guide, "Compute Capabilities").
pub const ISSUED_PER_CLOCK: f64 = 4.0;

/// A row of the table: name, compute capability, SMs, clock in MHz, memory in GB/s, L2 in MiB.
type Row = (&'static str, u32, u32, f64, f64, u64);

/// The known GPUs. If the clock of a card is set higher than in its data sheet, its bound is smaller in proportion.
const GPUS: [Row; 8] = [
    // "NVIDIA H100 Tensor Core GPU Architecture" (SMs, units, L2) and data sheet, SXM: 67 TFLOP/s, which is 1980 MHz; 3.35 TB/s.
    ("H100", 90, 132, 1980.0, 3350.0, 50),
    // Data sheet: 67 TFLOP/s, 4.8 TB/s. The driver reports 1980 MHz, 4814 GB/s and 60 MiB (docs/results/h200.json).
    ("H200", 90, 132, 1980.0, 4815.0, 60),
    // "NVIDIA A100 Tensor Core GPU Architecture" and data sheet, SXM4: 19.5 TFLOP/s, 1410 MHz; 1,555 and 2,039 GB/s.
    ("A100-40GB", 80, 108, 1410.0, 1555.0, 40),
    ("A100-80GB", 80, 108, 1410.0, 2039.0, 40),
    // "NVIDIA Turing GPU Architecture" (units, L2) and data sheet: 8.1 TFLOP/s, 1590 MHz; 320 GB/s.
    ("T4", 75, 40, 1590.0, 320.0, 4),
    // "NVIDIA Ada GPU Architecture": 82.6 TFLOP/s, 2520 MHz; 1,008 GB/s.
    ("RTX-4090", 89, 128, 2520.0, 1008.0, 72),
    // "NVIDIA Blackwell Architecture" and the data sheet of the HGX B200, an eighth of it: 75 TFLOP/s, which is 1980 MHz; 8 TB/s. No
    // count of the simulator was compared with a GPU of compute capability 10 or 12.
    ("B200", 100, 148, 1980.0, 8000.0, 126),
    // "NVIDIA RTX Blackwell GPU Architecture": 104.8 TFLOP/s, 2407 MHz; 1,792 GB/s.
    ("RTX-5090", 120, 170, 2407.0, 1792.0, 96),
];

impl From<Row> for Gpu {
    fn from((name, compute_capability, sms, clock_mhz, memory_gb_per_s, l2): Row) -> Self {
        Self { name: name.into(), compute_capability, sms, clock_mhz, memory_gb_per_s, l2_bytes: l2 << 20 }
    }
}

impl Default for Gpu {
    /// The GPU of the course's own records.
    fn default() -> Self {
        GPUS[1].into()
    }
}

impl std::str::FromStr for Gpu {
    type Err = String;

    /// The GPU with this name; capitals, blanks, `-` and `_` do not matter.
    fn from_str(name: &str) -> Result<Self, String> {
        let plain = |name: &str| name.replace([' ', '-', '_'], "").to_lowercase();
        let found = GPUS.into_iter().find(|row| plain(row.0) == plain(name));
        let known: Vec<&str> = GPUS.iter().map(|row| row.0).collect();
        found.map(Self::from).ok_or_else(|| format!("no figures for a GPU of this name; choose {}", known.join(", ")))
    }
}

impl Gpu {
    /// A CUDA device with the figures that its driver reports.
    pub fn of(info: &DeviceInfo, figures: &Figures) -> Self {
        Self {
            name: info.name.trim_start_matches("NVIDIA ").to_owned(),
            compute_capability: info.compute_capability,
            sms: info.sm_count,
            clock_mhz: figures.clock_mhz,
            memory_gb_per_s: figures.memory_gb_per_s,
            l2_bytes: figures.l2_bytes,
        }
    }

    /// Multiply-adds by threads that an SM computes per clock.
    pub fn fma_per_clock(&self) -> f64 {
        cores_per_sm(self.compute_capability).into()
    }

    /// Passes per clock through the data path that an SM's shared memory and first-level cache share. A pass moves up to 128 bytes
    /// and takes two clocks on Turing ("NVIDIA Ampere GA102 GPU Architecture", which compares the two).
    pub fn passes_per_clock(&self) -> f64 {
        if self.compute_capability == 75 { 0.5 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peak of each data sheet, which is not in the table but follows from it.
    #[test]
    fn the_figures_are_those_of_the_data_sheets() {
        for (name, tflops) in [
            ("h100", 67.0),
            ("H200", 67.0),
            ("a100 40gb", 19.5),
            ("A100-80GB", 19.5),
            ("T4", 8.1),
            ("rtx 4090", 82.6),
            ("b200", 75.0),
            ("RTX_5090", 104.8),
        ] {
            let gpu: Gpu = name.parse().unwrap();
            let peak = 2e-6 * f64::from(gpu.sms) * gpu.fma_per_clock() * gpu.clock_mhz;
            assert!((peak / tflops - 1.0).abs() < 0.01, "{name}: {peak}");
        }
        let error = "B300".parse::<Gpu>().unwrap_err();
        assert!(error.contains("H100") && error.contains("RTX-4090"), "{error}");
    }
}
