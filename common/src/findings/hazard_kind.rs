//! What kind of hazard a report is about. Programs match on it; in JSON it is its name.

use serde::Serialize;
use simt::{FaultKind, HazardKind};

/// The kind of a hazard report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum ReportKind {
    /// The search for hazards found it; the kernel ran on.
    Hazard(HazardKind),
    /// It ended the launch.
    Fault(FaultClass),
    /// The product is wrong, and this is why.
    Product(Mistake),
}

/// An enum whose variants have names in words.
macro_rules! named {
    ($(#[$meta:meta])* $kind:ident { $($variant:ident: $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $(#[doc = $name] $variant,)* }

        impl $kind {
            /// What it is called in titles and in JSON.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// Why a product is wrong.
    Mistake {
        Unwritten: "element never stored",
        Empty: "sum without products",
        Zero: "zero in place of an element",
        Misplaced: "stored and read in different places",
        Unset: "value that was never set",
        Operands: "factors that are not of A and B",
        Pairing: "factors that do not belong together",
        Line: "wrong row or column",
        Swapped: "operands exchanged",
        Elsewhere: "sum stored in another element",
        Overwritten: "right sum overwritten",
        Beginning: "sum that does not begin at 0",
        Sign: "wrong sign",
        Part: "k not multiplied once each",
        Beyond: "k beyond the end",
        Stale: "tile of another step",
        Lost: "sum that is lost",
        Early: "sum stored too early",
        Weight: "sum with another factor",
        Converted: "value converted to another type",
    }
}

named! {
    /// The kinds of fault that end a launch.
    FaultClass {
        OutOfBounds: "access out of bounds",
        Misaligned: "misaligned access",
        DivergentBarrier: "barrier not reached by all threads",
        Deadlock: "deadlock",
        MissingLanes: "warp-wide instruction without all its lanes",
        Trap: "trap",
        Assert: "assertion",
        Other: "fault",
    }
}

impl Mistake {
    /// Whether it may follow from a hazard, which then says more.
    pub fn may_follow(self) -> bool {
        matches!(self, Self::Unwritten | Self::Zero | Self::Empty | Self::Unset | Self::Part | Self::Lost)
    }
}

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

impl FaultClass {
    /// The class of a fault.
    pub fn of(kind: &FaultKind) -> Self {
        match kind {
            FaultKind::OutOfBounds { .. } => Self::OutOfBounds,
            FaultKind::Misaligned { .. } => Self::Misaligned,
            FaultKind::DivergentBarrier { .. } => Self::DivergentBarrier,
            FaultKind::Deadlock { .. } => Self::Deadlock,
            FaultKind::MissingLanes { .. } => Self::MissingLanes,
            FaultKind::Trap => Self::Trap,
            FaultKind::Assert { .. } => Self::Assert,
            _ => Self::Other,
        }
    }
}

impl From<ReportKind> for &'static str {
    fn from(kind: ReportKind) -> Self {
        match kind {
            ReportKind::Hazard(kind) => kind.name(),
            ReportKind::Fault(class) => class.name(),
            ReportKind::Product(mistake) => mistake.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_name_and_a_kind_is_compared_with_hazards() {
        let kind = ReportKind::Product(Mistake::Converted);
        assert_eq!(serde_json::to_string(&kind).unwrap(), "\"value converted to another type\"");
        let race = ReportKind::Hazard(HazardKind::Race);
        assert!(!race.is_warning() && ReportKind::Hazard(HazardKind::VolatileOrder).is_warning());
        assert!(race == HazardKind::Race && race != HazardKind::NeverWritten);
    }
}
