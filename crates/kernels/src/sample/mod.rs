//! Draws from distributions whose algorithms reject candidates, and derivatives of such draws.
//!
//! Each element draws from a random stream of its own ([`Stream`]), so results do not depend on threads or chunks.

mod count;
mod gamma;
mod implicit;
mod stream;

pub use count::{binomial, poisson};
pub use gamma::ln_gamma_variate;
pub use implicit::{dirichlet_grad, gamma_grad};
pub use stream::Stream;

#[cfg(test)]
mod tests;
