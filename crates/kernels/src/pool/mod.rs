//! The thread pool that every kernel shares.
mod queue;
mod threads;
#[cfg(test)]
mod tests;

pub use threads::{global, Pool};
