//! What kind of hazard a report is about. Programs match on it; in JSON it is its name.

use serde::Serialize;
use simt::{FaultKind, HazardKind};

/// The kind of a hazard report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum ReportKind {
    /// The search for hazards found it; the kernel ran on.
    Hazard(HazardKind),
    /// It ended the launch, and this is what it is called.
    Fault(&'static str),
    /// Why the kernel's result is wrong, as somebody found out who knows what it should be; and this is what it is called.
    Cause(&'static str),
}

impl PartialEq<HazardKind> for ReportKind {
    fn eq(&self, kind: &HazardKind) -> bool {
        *self == Self::Hazard(*kind)
    }
}

/// What a fault that ends a launch is called.
pub fn fault_name(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::OutOfBounds { .. } => "access out of bounds",
        FaultKind::Misaligned { .. } => "misaligned access",
        FaultKind::DivergentBarrier { .. } => "barrier not reached by all threads",
        FaultKind::Deadlock { .. } => "deadlock",
        FaultKind::MissingLanes { .. } => "warp-wide instruction without all its lanes",
        FaultKind::Trap => "trap",
        FaultKind::Assert { .. } => "assertion",
        _ => "fault",
    }
}

impl From<ReportKind> for &'static str {
    fn from(kind: ReportKind) -> Self {
        match kind {
            ReportKind::Hazard(kind) => kind.name(),
            ReportKind::Fault(name) | ReportKind::Cause(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_name_and_a_kind_is_compared_with_hazards() {
        let kind = ReportKind::Cause("value converted to another type");
        assert_eq!(serde_json::to_string(&kind).unwrap(), "\"value converted to another type\"");
        let race = ReportKind::Hazard(HazardKind::Race);
        assert!(race == HazardKind::Race && race != HazardKind::NeverWritten);
    }
}
