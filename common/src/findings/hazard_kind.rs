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

/// An enum whose variants have names in words.
macro_rules! named {
    ($(#[$meta:meta])* $kind:ident { $($variant:ident: $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $(#[doc = $name] $variant,)* }

        impl $kind {
            const ALL: &[Self] = &[$(Self::$variant),*];

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
        Stale: "tile of another step",
        Lost: "sum that is lost",
        Early: "sum stored too early",
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
            ReportKind::Fault(class) => class.name(),
            ReportKind::Product(mistake) => mistake.name(),
        }
    }
}

impl TryFrom<String> for ReportKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let faults = FaultClass::ALL.iter().copied().map(Self::Fault);
        let mistakes = Mistake::ALL.iter().copied().map(Self::Product);
        let mut all = HazardKind::ALL.into_iter().map(Self::Hazard).chain(faults).chain(mistakes);
        all.find(|&kind| <&str>::from(kind) == name).ok_or_else(|| format!("no kind of hazard is called `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_name_and_gives_the_kind_back() {
        for (kind, name) in [
            (ReportKind::Hazard(HazardKind::Race), "data race"),
            (ReportKind::Fault(FaultClass::OutOfBounds), "access out of bounds"),
            (ReportKind::Product(Mistake::Converted), "value converted to another type"),
        ] {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<ReportKind>(&text).unwrap(), kind);
        }
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
