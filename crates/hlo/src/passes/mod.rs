//! Passes: each takes a verified function and leaves a verified function with the same results, bit for bit.
//!
//! [`fold`], [`cse`] and [`simplify`] forward values and may leave instructions that nothing uses; [`dce`] removes
//! them. An order that reaches nearly everything is `simplify`, `fold`, `cse`, `dce`.
mod algebra;
mod convert;
mod cse;
mod dce;
mod fold;
mod inline;
mod layout;
mod rewrite;

pub use cse::cse;
pub use dce::dce;
pub use fold::fold;
pub use inline::inline_composites;
pub use rewrite::simplify;
