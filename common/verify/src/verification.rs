//! The verdict on a product.

use plan::Problem;
use serde::{Deserialize, Serialize};

use crate::judge::Mismatch;
use crate::method::Method;

/// The verdict on a product.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Whether C is the product.
    pub ok: bool,
    /// How it was checked.
    pub method: Method,
    /// Largest difference from the reference; `null` if an element is NaN or the product was never compared.
    pub max_error: Option<f64>,
    /// Largest difference as a share of its bound; above 1 is wrong. `null` like `max_error`, and for wrong exact products.
    pub worst_bound_share: Option<f64>,
    /// What is wrong, in a sentence; `null` if nothing is.
    pub diagnosis: Option<String>,
    /// Whether the elements alone do not show the cause; the simulator's search for hazards may.
    #[serde(skip)]
    pub unclear: bool,
    /// Whether the kernel has written into A or B.
    #[serde(skip)]
    pub scribbles: bool,
    /// The first wrong elements.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub mismatches: Vec<Mismatch>,
    /// A map of C that shows where the wrong elements are.
    #[serde(skip)]
    pub map: Option<String>,
    /// Seconds that the check took on the host.
    pub seconds: f64,
}

impl Verification {
    /// The verdict on a product that was not completed, for this reason.
    pub fn failed(problem: &Problem, reason: String) -> Self {
        Self { method: Method::choose(problem), diagnosis: Some(reason), ..Self::default() }
    }

    /// The diagnosis for a reader. `hazards` is the number of causes that the simulator found, if it searched for them.
    pub fn words(&self, hazards: Option<usize>) -> String {
        let diagnosis = self.diagnosis.as_deref().unwrap_or_default();
        match hazards {
            Some(1..) if self.unclear => {
                let count = diagnosis.split(": ").next().unwrap_or_default();
                let say = if hazards == Some(1) { "hazard below says" } else { "hazards below say" };
                format!("{count}: the {say} why")
            }
            None if self.unclear => format!("{diagnosis}; run with --device sim --check to see why"),
            _ => diagnosis.to_owned(),
        }
    }
}
