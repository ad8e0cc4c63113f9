//! What can be wrong with a product, and whether that or a hazard is the cause.

use findings::HazardReport;
use findings::hazard_kind::ReportKind;

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

            /// The mistake of a report; `None` if it is about something else.
            pub fn of(report: &HazardReport) -> Option<Self> {
                let ReportKind::Cause(name) = report.kind else { return None };
                [$(Self::$variant),*].into_iter().find(|mistake| mistake.name() == name)
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

impl From<Mistake> for ReportKind {
    fn from(mistake: Mistake) -> Self {
        Self::Cause(mistake.name())
    }
}

/// Whether it is a reason of a wrong product that may itself follow from a hazard.
pub fn may_follow(report: &HazardReport) -> bool {
    use Mistake::{Empty, Lost, Part, Unset, Unwritten, Zero};
    matches!(Mistake::of(report), Some(Unwritten | Zero | Empty | Unset | Part | Lost))
}

/// Whether this reason of a wrong product explains more than the hazards that were found with it. It does not if it follows from one
/// of them.
pub fn leads(report: &HazardReport, hazards: &[HazardReport]) -> bool {
    use simt::HazardKind::{ExitBeforeBarrier, MismatchedBarriers, SkippedBarrier, WrongArray};
    let follows = may_follow(report);
    let [zero, unset] = [Mistake::Zero, Mistake::Unset].map(|mistake| Mistake::of(report) == Some(mistake));
    let is_behind = |hazard: &HazardReport| match hazard.kind {
        ReportKind::Fault(_) => !hazard.diagnostic.vague || follows && !zero,
        // A thread that misses a barrier is one step ahead from then on, and multiplies tiles that do not belong together.
        ReportKind::Hazard(WrongArray | ExitBeforeBarrier | SkippedBarrier | MismatchedBarriers) => true,
        // A value that was never set is best explained by the value that should be there.
        _ if unset => follows && hazard.leads_astray(),
        _ => follows && hazard.is_hidden_cause(),
    };
    !hazards.iter().any(is_behind)
}
