//! What kind of hazard a report is about. Programs match on it; in JSON it is its name.

use std::fmt;

use serde::{Deserialize, Serialize};
use simt::{FaultKind, HazardKind};

/// The kind of a hazard report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum ReportKind {
    /// The search for hazards found it; the kernel ran on.
    Hazard(HazardKind),
    /// It ended the launch.
    Fault(FaultClass),
}

/// The kinds of fault that end a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names below say it.
pub enum FaultClass {
    OutOfBounds,
    Misaligned,
    DivergentBarrier,
    Deadlock,
    MissingLanes,
    Trap,
    Other,
}

impl FaultClass {
    const ALL: [Self; 7] = [
        Self::OutOfBounds,
        Self::Misaligned,
        Self::DivergentBarrier,
        Self::Deadlock,
        Self::MissingLanes,
        Self::Trap,
        Self::Other,
    ];

    /// A few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "access out of bounds",
            Self::Misaligned => "misaligned access",
            Self::DivergentBarrier => "barrier not reached by all threads",
            Self::Deadlock => "deadlock",
            Self::MissingLanes => "warp-wide instruction without all its lanes",
            Self::Trap => "trap",
            Self::Other => "fault",
        }
    }
}

impl ReportKind {
    /// A few words, e.g. `data race`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hazard(kind) => kind.name(),
            Self::Fault(class) => class.name(),
        }
    }

    /// The hazard; none for a fault.
    pub const fn hazard(self) -> Option<HazardKind> {
        match self {
            Self::Hazard(kind) => Some(kind),
            Self::Fault(_) => None,
        }
    }
}

impl PartialEq<HazardKind> for ReportKind {
    fn eq(&self, kind: &HazardKind) -> bool {
        self.hazard() == Some(*kind)
    }
}

impl PartialEq<FaultClass> for ReportKind {
    fn eq(&self, class: &FaultClass) -> bool {
        *self == Self::Fault(*class)
    }
}

impl From<HazardKind> for ReportKind {
    fn from(kind: HazardKind) -> Self {
        Self::Hazard(kind)
    }
}

impl From<FaultClass> for ReportKind {
    fn from(class: FaultClass) -> Self {
        Self::Fault(class)
    }
}

impl From<&FaultKind> for FaultClass {
    fn from(kind: &FaultKind) -> Self {
        match kind {
            FaultKind::OutOfBounds { .. } => Self::OutOfBounds,
            FaultKind::Misaligned { .. } => Self::Misaligned,
            FaultKind::DivergentBarrier { .. } => Self::DivergentBarrier,
            FaultKind::Deadlock { .. } => Self::Deadlock,
            FaultKind::MissingLanes { .. } => Self::MissingLanes,
            FaultKind::Trap => Self::Trap,
            _ => Self::Other,
        }
    }
}

impl From<ReportKind> for &'static str {
    fn from(kind: ReportKind) -> Self {
        kind.name()
    }
}

impl TryFrom<String> for ReportKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let hazards = HazardKind::ALL.into_iter().map(Self::Hazard);
        let mut all = hazards.chain(FaultClass::ALL.into_iter().map(Self::Fault));
        all.find(|kind| kind.name() == name).ok_or_else(|| format!("no kind of hazard is called `{name}`"))
    }
}

impl fmt::Display for ReportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_name_and_gives_the_kind_back() {
        let kinds = HazardKind::ALL.map(ReportKind::from);
        for kind in kinds.into_iter().chain(FaultClass::ALL.map(ReportKind::from)) {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{}\"", kind.name()));
            assert_eq!(serde_json::from_str::<ReportKind>(&text).unwrap(), kind);
        }
        assert_eq!(serde_json::to_string(&ReportKind::from(HazardKind::Race)).unwrap(), "\"data race\"");
        let error = serde_json::from_str::<ReportKind>("\"rats\"").unwrap_err();
        assert!(error.to_string().contains("no kind of hazard is called `rats`"), "{error}");
    }

    #[test]
    fn a_kind_is_compared_with_hazards_and_faults() {
        let race = ReportKind::from(HazardKind::Race);
        assert!(race == HazardKind::Race && race != HazardKind::NeverWritten && race != FaultClass::Trap);
        assert_eq!(race.hazard(), Some(HazardKind::Race));
        let trap = ReportKind::from(FaultClass::Trap);
        assert!(trap == FaultClass::Trap && trap != FaultClass::Other && trap != HazardKind::Race);
        assert_eq!(trap.hazard(), None);
        assert_eq!(trap.to_string(), "trap");
    }
}
