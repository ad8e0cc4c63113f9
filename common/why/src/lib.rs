//! Why a product is wrong: which elements of A and B the kernel multiplied for each element of C, by which lines, and
//! which it should have multiplied.

mod asked;
mod coverage;
mod element;
mod explain;
mod factor;
mod finding;
mod judge;
mod launch;
mod listing;
mod mistake;
mod rule;
mod tell;
mod teller;
pub mod trial;

pub use asked::{Asked, Kind, Side};
pub use element::Origins;
pub use explain::explain;
pub use finding::Finding;
pub use listing::listing;
pub use mistake::{Mistake, leads, may_follow};
