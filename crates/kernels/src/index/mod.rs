//! Gather and scatter.
pub mod bounds;
mod combine;
mod desc;
mod gather;
mod geometry;
mod line;
mod scatter;
#[cfg(test)]
mod tests;

pub use desc::{GatherDesc, ScatterDesc};
pub use gather::Gather;
pub use scatter::Scatter;
