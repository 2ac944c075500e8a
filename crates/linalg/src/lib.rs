//! Dense linear algebra of one matrix: factorisations and solves over row-major slices, in f32, f64 and complex
//! numbers of them, with LAPACK's conventions where users see them (pivots from 1, info codes, reflections, signs).
//!
//! Products, triangular solves, Cholesky, singular values and eigenvalues are the `faer` crate's; what LAPACK
//! stores in a form of its own (LU of singular matrices, reflections, Bunch-Kaufman) is here on top of its products.
//! Everything runs on the calling thread; a batch is the caller's to divide.

mod bidiagonal;
mod cholesky;
mod eig;
mod eigh;
mod expm;
mod ldl;
mod lstsq;
mod lu;
mod mat;
mod num;
mod qr;
mod rotation;
mod schur;
mod svd;
#[cfg(test)]
mod tests;
mod triangular;
mod tridiagonal;

pub use cholesky::cholesky;
pub use eig::{eig, Eigen};
pub use eigh::eigh;
pub use expm::matrix_exp;
pub use ldl::{ldl, ldl_solve};
pub use lstsq::{full_rank, shortest};
pub use lu::{lu, row_order};
pub use num::{Num, Real};
pub use num_complex::Complex;
pub use qr::{form_q, geqrf, householder_product, ormqr};
pub use svd::{svd, Vectors};
pub use triangular::{lu_solve, solve_triangular, Op, Triangle};
