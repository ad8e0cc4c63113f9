//! How a value with doubts comes to matter.

use super::hazard::HazardKind;

/// How a value comes to matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It decides what the thread does next.
    Decides,
    /// It decides whether the thread leaves a loop in which it was loaded.
    Polls,
    /// It is an address or leaves the block, or an instruction needs it that nothing is followed through.
    Needed,
}

impl Use {
    /// Returns what a hazard is that concerns a value used in this way.
    pub(super) fn judged(self, kind: HazardKind) -> HazardKind {
        if kind == HazardKind::VolatileOrder && self == Self::Needed { HazardKind::Race } else { kind }
    }

    /// Whether no further use changes what a hazard is.
    pub(super) fn is_last(self, kind: HazardKind) -> bool {
        kind != HazardKind::VolatileOrder || self != Self::Decides
    }

    /// Returns how a value counts that is used in this way and then in another.
    pub(super) fn then(self, how: Self) -> Self {
        if self == Self::Decides { how } else { self }
    }
}
