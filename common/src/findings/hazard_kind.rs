//! What kind of hazard a report is about. Programs match on it; in JSON it is its name.

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
    /// The product is wrong, and this is why.
    Product(Mistake),
}

/// Why a product is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names below say it.
pub enum Mistake {
    Unwritten,
    Empty,
    Zero,
    Misplaced,
    Unset,
    Operands,
    Pairing,
    Line,
    Swapped,
    Elsewhere,
    Overwritten,
    Beginning,
    Sign,
    Part,
    Stale,
    Lost,
    Early,
    Converted,
}

/// In the order of the variants.
const MISTAKES: [(Mistake, &str); 18] = [
    (Mistake::Unwritten, "element never stored"),
    (Mistake::Empty, "sum without products"),
    (Mistake::Zero, "zero in place of an element"),
    (Mistake::Misplaced, "stored and read in different places"),
    (Mistake::Unset, "value that was never set"),
    (Mistake::Operands, "factors that are not of A and B"),
    (Mistake::Pairing, "factors that do not belong together"),
    (Mistake::Line, "wrong row or column"),
    (Mistake::Swapped, "operands exchanged"),
    (Mistake::Elsewhere, "sum stored in another element"),
    (Mistake::Overwritten, "right sum overwritten"),
    (Mistake::Beginning, "sum that does not begin at 0"),
    (Mistake::Sign, "wrong sign"),
    (Mistake::Part, "k not multiplied once each"),
    (Mistake::Stale, "tile of another step"),
    (Mistake::Lost, "sum that is lost"),
    (Mistake::Early, "sum stored too early"),
    (Mistake::Converted, "value converted to another type"),
];

impl Mistake {
    /// Whether it may follow from a hazard, which then says more.
    pub fn may_follow(self) -> bool {
        matches!(self, Self::Unwritten | Self::Zero | Self::Empty | Self::Unset | Self::Part | Self::Lost)
    }

    /// What it is called in titles and in JSON.
    pub fn name(self) -> &'static str {
        MISTAKES[self as usize].1
    }
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
    Assert,
    Other,
}

/// In the order of the variants.
const FAULTS: [(FaultClass, &str); 8] = [
    (FaultClass::OutOfBounds, "access out of bounds"),
    (FaultClass::Misaligned, "misaligned access"),
    (FaultClass::DivergentBarrier, "barrier not reached by all threads"),
    (FaultClass::Deadlock, "deadlock"),
    (FaultClass::MissingLanes, "warp-wide instruction without all its lanes"),
    (FaultClass::Trap, "trap"),
    (FaultClass::Assert, "assertion"),
    (FaultClass::Other, "fault"),
];

impl ReportKind {
    /// Whether it only warns.
    pub fn is_warning(self) -> bool {
        matches!(self, Self::Hazard(kind) if kind.is_warning())
    }
}

impl PartialEq<HazardKind> for ReportKind {
    fn eq(&self, kind: &HazardKind) -> bool {
        *self == Self::Hazard(*kind)
    }
}

impl From<&FaultKind> for ReportKind {
    fn from(kind: &FaultKind) -> Self {
        Self::Fault(match kind {
            FaultKind::OutOfBounds { .. } => FaultClass::OutOfBounds,
            FaultKind::Misaligned { .. } => FaultClass::Misaligned,
            FaultKind::DivergentBarrier { .. } => FaultClass::DivergentBarrier,
            FaultKind::Deadlock { .. } => FaultClass::Deadlock,
            FaultKind::MissingLanes { .. } => FaultClass::MissingLanes,
            FaultKind::Trap => FaultClass::Trap,
            FaultKind::Assert { .. } => FaultClass::Assert,
            _ => FaultClass::Other,
        })
    }
}

impl From<ReportKind> for &'static str {
    fn from(kind: ReportKind) -> Self {
        match kind {
            ReportKind::Hazard(kind) => kind.name(),
            ReportKind::Fault(class) => FAULTS[class as usize].1,
            ReportKind::Product(mistake) => mistake.name(),
        }
    }
}

impl TryFrom<String> for ReportKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let faults = FAULTS.map(|(class, _)| Self::Fault(class));
        let mistakes = MISTAKES.map(|(mistake, _)| Self::Product(mistake));
        let mut all = HazardKind::ALL.into_iter().map(Self::Hazard).chain(faults).chain(mistakes);
        all.find(|&kind| <&str>::from(kind) == name).ok_or_else(|| format!("no kind of hazard is called `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_name_and_gives_the_kind_back() {
        let faults = FAULTS.map(|(class, name)| (ReportKind::Fault(class), name));
        let hazards = HazardKind::ALL.map(|kind| (ReportKind::Hazard(kind), kind.name()));
        let mistakes = MISTAKES.map(|(mistake, name)| (ReportKind::Product(mistake), name));
        for (kind, name) in faults.into_iter().chain(hazards).chain(mistakes) {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<ReportKind>(&text).unwrap(), kind);
        }
        assert_eq!(HazardKind::Race.name(), "data race");
        let error = serde_json::from_str::<ReportKind>("\"rats\"").unwrap_err();
        assert!(error.to_string().contains("no kind of hazard is called `rats`"), "{error}");
    }

    #[test]
    fn a_kind_is_compared_with_hazards() {
        let race = ReportKind::Hazard(HazardKind::Race);
        assert!(!race.is_warning() && ReportKind::Hazard(HazardKind::VolatileOrder).is_warning());
        assert!(!ReportKind::from(&FaultKind::Trap).is_warning());
        assert!(race == HazardKind::Race && race != HazardKind::NeverWritten);
        assert!(ReportKind::from(&FaultKind::Trap) != HazardKind::Race);
    }
}
