//! What `nvidia-smi` says of a record's device, and the record's provenance in a sentence.

use common::basics::nvidia_smi;
use common::measure::provenance::provenance;

use crate::record::format::{Clocks, Record};

impl Record {
    /// Where, when and with what the record was made, in a sentence.
    pub fn provenance(&self) -> String {
        let versions =
            [("driver", &self.driver), ("CUDA", &self.cuda), ("NVRTC", &self.nvrtc), ("cuBLAS", &self.cublas)];
        provenance(&self.device.name, &versions, &self.date, &self.commit)
    }
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
