//! A small record by which tests of tables and charts, here and in other crates, can be written.

use std::collections::BTreeMap;

use common::device::Figures;
use common::problem::{Dtype, Fill};
use common::timing::L2;
use common::{DeviceInfo, Kind};

use crate::record::{CUBLAS, Entry, FORMAT, Outcome, Record, SizeRecord, StepRecord, Traffic, rounded};

/// A record with two steps and cuBLAS at two sizes; speeds in GFLOP/s.
pub fn example() -> Record {
    let entry = |name: &str, size: u64, gflops: f64| {
        let ms = 2.0 * (size as f64).powi(3) / (gflops * 1e6);
        Entry {
            samples_ms: vec![vec![rounded(ms * 0.99), rounded(ms)], vec![rounded(ms * 1.01)]],
            products_per_sample: 1,
            ..Entry::new(name, Outcome::Verified, None)
        }
    };
    let step = |name: &str| StepRecord {
        name: name.into(),
        title: format!("the title of {name}"),
        source: format!("{name}/kernel.cu"),
        hash: "0".repeat(64),
        host: false,
    };
    let size = |size: u64, speeds: [f64; 3]| SizeRecord {
        m: size,
        n: size,
        k: size,
        entries: vec![
            entry("step02_one", size, speeds[0]),
            entry("step04_two", size, speeds[1]),
            entry(CUBLAS, size, speeds[2]),
        ],
        clocks: None,
    };
    let figures = Figures {
        clock_mhz: 1980.0,
        cores_per_sm: 128,
        fp32_peak_gflops: 66_908.0,
        memory_gb_per_s: 3352.0,
        l2_bytes: 50 << 20,
    };
    let mut record = Record {
        format: FORMAT,
        date: "2026-11-21T01:38:12Z".into(),
        commit: Some("8ffcaa3".into()),
        device: DeviceInfo {
            kind: Kind::Cuda,
            name: "A GPU <of 80 GB> & more".into(),
            ..DeviceInfo::simulated(80 << 30)
        },
        figures: Some(figures),
        driver: Some("580.1".into()),
        cuda: Some("13.0".into()),
        nvrtc: Some("13.0".into()),
        cublas: Some("13.0.2".into()),
        dtype: Dtype::F32,
        fill: Fill::Uniform,
        seed: 1,
        l2: L2::Warm,
        rounds: 2,
        clocks_before: None,
        clocks_after: None,
        steps: vec![step("step02_one"), step("step04_two")],
        faulted: BTreeMap::new(),
        sizes: vec![size(1024, [6000.0, 18_000.0, 36_000.0]), size(4096, [6400.0, 25_600.0, 51_200.0])],
        complete: true,
    };
    record.sizes[1].entries[0].traffic = Some(Traffic { flop: 1e9, global_bytes: 4e9 });
    record.sizes[1].entries[1].traffic = Some(Traffic { flop: 8e9, global_bytes: 1e9 });
    record
}
