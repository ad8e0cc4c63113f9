//! Where, when and with what a record is made: what git, `nvidia-smi` and the clock say.

use std::process::Command;
use std::time::SystemTime;

use common::basics::nvidia_smi;
use common::basics::workspace;

use crate::record::format::{Clocks, Record};

impl Record {
    /// Where, when and with what the record was made, in a sentence.
    pub fn provenance(&self) -> String {
        let versions =
            [("driver", &self.driver), ("CUDA", &self.cuda), ("NVRTC", &self.nvrtc), ("cuBLAS", &self.cublas)];
        provenance(&self.device.name, &versions, &self.date, &self.commit)
    }
}

/// The device, the versions that are known, the day and the commit, in a sentence.
pub fn provenance(device: &str, versions: &[(&str, &Option<String>)], date: &str, commit: &Option<String>) -> String {
    let part = |(name, value): (&str, &str)| format!(", {name} {value}");
    let known = versions.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let commit = commit.as_deref().map(|commit| ("commit", commit.get(..10).unwrap_or(commit)));
    format!(
        "{device}{}, {}{}",
        known.map(part).collect::<String>(),
        date.get(..10).unwrap_or(date),
        commit.map(part).unwrap_or_default()
    )
}

/// The clocks of a device now; `None` without `nvidia-smi`.
pub fn clocks(index: usize) -> Option<Clocks> {
    // Newer drivers call the reasons events; older ones know the first name only.
    let ask = |reasons: &str| {
        let query = format!("--query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw,{reasons}");
        nvidia_smi::first_line(&[&query, "--format=csv,noheader,nounits", "-i", &index.to_string()])
    };
    let line = ask("clocks_throttle_reasons.active").or_else(|| ask("clocks_event_reasons.active"))?;
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse().ok());
    Some(Clocks {
        sm_mhz: number(0),
        memory_mhz: number(1),
        celsius: number(2),
        watts: number(3),
        throttle_reasons: fields.get(4).map(|reasons| (*reasons).to_owned()),
    })
}

/// The commit of the course, with `+` if tracked files have changed since.
pub fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(workspace::root()).output().ok();
        let output = output.filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"]).filter(|commit| !commit.is_empty())?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changes| !changes.is_empty());
    Some(commit + if changed { "+" } else { "" })
}

/// Now, UTC: `2026-11-21T01:38:12Z`.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
