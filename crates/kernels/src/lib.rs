//! CPU compute kernels over raw strided slices.
pub mod attention;
pub mod conv;
pub mod copy;
pub mod gemm;
pub mod index;
pub mod isa;
pub mod pool;
pub mod sort;
pub mod math;
pub mod philox;
pub mod tile;
pub mod reduce;
pub mod rows;
