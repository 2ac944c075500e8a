//! CPU compute kernels over raw strided slices.

pub mod attention;
pub mod conv;
pub mod copy;
pub mod fft;
pub mod gemm;
pub mod index;
pub mod isa;
pub mod math;
pub mod max_pool;
pub mod optim;
pub mod pack;
pub mod philox;
pub mod pool;
pub mod reduce;
pub mod rows;
pub mod sample;
pub mod sort;
pub mod tile;

#[cfg(test)]
mod testing;
