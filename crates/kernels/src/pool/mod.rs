//! The thread pool that every kernel shares.
mod queue;
#[cfg(test)]
mod tests;
mod threads;

pub use threads::{global, Pool};
