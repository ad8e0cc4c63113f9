//! Is C the product? Every run is checked before anything is timed.
//!
//! This is a separate crate so that its loops over all elements, from drawing A and B to comparing C, are compiled with
//! optimisation; the rest of `common` does not need it.
//!
//! - Exact problems (`i32`, and `f32` filled with small integers) are compared element by element with a product that is computed
//!   exactly. If that takes too long, they are checked by Freivalds' method in integer arithmetic, which a wrong C passes with a
//!   probability of at most 2⁻⁴⁰ (R. Freivalds, "Probabilistic machines can use less running time", 1977).
//! - Uniform `f32` problems are compared with a float64 product. Each element must be within γ(K)·(|A||B|)ij, the a-priori bound
//!   for any order of summation (N. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1). If that takes too long,
//!   whole rows are sampled, every element is checked for NaN and for memory that was never written, and the same launch must pass
//!   Freivalds' check on a twin of the problem, filled with integers. For rounded sums that check could hide a wrong element behind
//!   the bounds of all others in its row; for integers it is exact.
//!
//! Every comparison is written so that NaN fails it. A and B are compared with what they were before the run, too.

mod diagnose;
mod freivalds;
mod gemm;
mod inputs;
mod judge;
pub mod matrix;
mod method;
pub mod mix;
pub mod progress;
mod reference;
mod rows;
#[cfg(test)]
mod tests;
mod verification;

use anyhow::Result;

use crate::matrix::Operands;
use plan::{Fill, Problem};

pub use diagnose::factor;
pub use freivalds::random_vector;
pub use inputs::{Read, changed};
pub use judge::Mismatch;
pub use method::Method;
pub use plan::Shape;
pub use reference::gamma;
use rows::panel_rows;
pub use rows::{Rows, host_rows};
pub use verification::Verification;

/// Bytes of host memory that the check takes in addition to A and B.
pub fn host_bytes(problem: &Problem) -> u64 {
    let rows = panel_rows(problem);
    let panel = rows * problem.n;
    let widened = reference::widened_rows(problem) * (problem.n + rows);
    match Method::choose(problem) {
        Method::Full | Method::Exact => 16 * panel + 12 * widened,
        // The twin's A and B are in memory together with the problem's.
        Method::FreivaldsAndSampledRows => {
            (4 * panel).saturating_add((problem.a_elements() + problem.b_elements()).saturating_mul(4))
        }
        Method::Freivalds => 4 * panel,
    }
}

/// Checks C against the product of the operands.
///
/// For [`Method::FreivaldsAndSampledRows`] this is the second half of the check, that of the problem itself; the caller must have
/// run and checked the [`twin`] before.
pub fn verify(problem: &Problem, operands: &Operands, shape: Shape, c: &mut Rows) -> Result<Verification> {
    verify_by(Method::choose(problem), problem, operands, shape, c)
}

fn verify_by(
    method: Method,
    problem: &Problem,
    operands: &Operands,
    shape: Shape,
    c: &mut Rows,
) -> Result<Verification> {
    let begin = std::time::Instant::now();
    let found = match method {
        Method::Full | Method::Exact => judge::rows(problem, operands, shape, c, 0..problem.m)?,
        Method::Freivalds => {
            let suspects = freivalds::wrong_rows(problem, operands, c)?;
            judge::rows(problem, operands, shape, c, suspects.into_iter())?
        }
        Method::FreivaldsAndSampledRows => {
            let mut rows = judge::sample_of_rows(problem);
            rows.extend(judge::rows_with_nan(problem, c)?);
            judge::rows(problem, operands, shape, c, rows.into_iter())?
        }
    };
    let ok = found.wrong_elements == 0;
    let (diagnosis, certain) = (!ok).then(|| diagnose::diagnose(problem, operands, shape, &found)).unzip();
    let known = |value: f64| value.is_finite().then_some(value);
    Ok(Verification {
        ok,
        method,
        max_error: known(found.max_error),
        worst_bound_share: known(found.worst_share),
        diagnosis,
        unclear: certain == Some(false),
        scribbles: false,
        mismatches: found.first.clone(),
        map: (!ok).then(|| diagnose::map(problem, shape, &found)),
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// The bits of the right product, rounded to the element type: what a check has to accept.
pub fn right_product(problem: &Problem, operands: &Operands) -> Result<Vec<u32>> {
    let mut words = Vec::new();
    for first in (0..problem.m).step_by(panel_rows(problem) as usize) {
        let rows: Vec<u64> = (first..problem.m.min(first + panel_rows(problem))).collect();
        let (expected, _) = reference::panel(problem, operands, &rows)?;
        words.extend(expected.into_iter().map(|element| problem.dtype.bits(element)));
    }
    Ok(words)
}

/// The integer twin that must be checked first, if the problem's method needs one.
pub fn twin(problem: &Problem) -> Option<Problem> {
    (Method::choose(problem) == Method::FreivaldsAndSampledRows).then_some(Problem { fill: Fill::Integers, ..*problem })
}
