//! The table: every family's rows, one family a file.

mod activation;
mod amp;
mod foreach;
mod optim;
mod random;
mod sampling;
mod arg_reduce;
mod creation;
mod cumulative;
mod norm;
mod reduction;
mod variance;
mod activation_grad;
mod arithmetic;
mod binary;
mod bitwise;
mod compare;
mod parts;
mod unary;
mod attention;
mod embedding;
mod index;
mod matmul;
mod nll;
mod norm_layer;
mod softmax;
mod accumulate;
mod gather;
mod index_dim;
mod concat;
mod triangle;
mod rearrange;
mod slices;
mod resample;
mod convolution;
mod norm_batch;
mod norm_group;
mod loss;
mod window;
mod max_pool;
mod avg_pool;
mod sort;
mod search;
mod unfold;
mod distance;

use crate::Row;

/// Every row. Order is irrelevant; names are unique.
pub fn table() -> Vec<&'static Row> {
    let families: &[&'static [Row]] = &[
        activation::ROWS,
        amp::ROWS,
        foreach::ROWS,
        optim::ROWS,
        random::ROWS,
        sampling::ROWS,
        foreach::UNARY,
        foreach::BINARY,
        arg_reduce::ROWS,
        creation::ROWS,
        cumulative::ROWS,
        norm::ROWS,
        reduction::ROWS,
        variance::ROWS,
        activation_grad::ROWS,
        arithmetic::ROWS,
        binary::ROWS,
        bitwise::ROWS,
        compare::ROWS,
        parts::ROWS,
        unary::ROWS,
        attention::ROWS,
        embedding::ROWS,
        index::ROWS,
        matmul::ROWS,
        nll::ROWS,
        norm_layer::ROWS,
        softmax::ROWS,
        gather::ROWS,
        index_dim::ROWS,
        concat::ROWS,
        triangle::ROWS,
        rearrange::ROWS,
        slices::ROWS,
        resample::ROWS,
        convolution::ROWS,
        norm_batch::ROWS,
        norm_group::ROWS,
        loss::ROWS,
        max_pool::ROWS,
        avg_pool::ROWS,
        sort::ROWS,
        search::ROWS,
        unfold::ROWS,
        distance::ROWS,
    ];
    families.iter().flat_map(|f| f.iter()).collect()
}
