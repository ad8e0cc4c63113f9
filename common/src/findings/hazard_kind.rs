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
    /// The product is wrong, and this is why.
    Product(Mistake),
}

macro_rules! mistakes {
    ($($variant:ident: $name:literal,)*) => {
        /// Why a product is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mistake { $(#[doc = $name] $variant,)* }

        impl Mistake {
            /// What it is called in titles and in JSON.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

mistakes! {
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
            ReportKind::Fault(name) => name,
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
        assert!(race == HazardKind::Race && race != HazardKind::NeverWritten);
    }
}
