//! Every primitive on every instruction set against naive oracles.

mod accuracy;
mod conversions;
mod integers;
mod shapes;
