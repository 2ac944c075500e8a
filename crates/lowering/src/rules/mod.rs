//! The table: every family's rows, one family a file.

mod accumulate;
mod activation;
mod activation_grad;
mod airy;
mod amp;
mod arg_reduce;
mod arithmetic;
mod assert;
mod attention;
mod attention_parts;
mod avg_pool;
mod bessel;
mod binary;
mod bits;
mod bitwise;
mod compare;
mod concat;
mod convolution;
mod creation;
mod ctc;
mod cumulative;
mod distance;
mod embedding;
mod embedding_bag;
mod foreach;
mod fourier;
mod fractional_pool;
mod gather;
mod grid;
mod histogram;
mod index;
mod index_dim;
mod jagged;
mod linalg;
mod linalg_lstsq;
mod linalg_lu;
mod linalg_spectral;
mod loss;
mod margin;
mod matmul;
mod max_pool;
mod nll;
mod nonzero;
mod norm;
mod norm_batch;
mod norm_group;
mod norm_layer;
mod optim;
mod parts;
mod pdist;
mod polynomial;
mod quantile;
mod quantized;
mod random;
mod rearrange;
mod recurrent;
mod reduction;
mod resample;
mod sampling;
mod search;
mod segment;
mod slices;
mod slow_conv;
mod softmax;
mod sort;
mod special;
mod triangle;
mod unary;
mod unfold;
mod unique;
mod variance;
mod variates;
mod weight_norm;
mod window;

use crate::Row;

/// Every row. Order is irrelevant; names are unique.
pub fn table() -> Vec<&'static Row> {
    let families: &[&'static [Row]] = &[
        activation::ROWS,
        activation_grad::ROWS,
        airy::ROWS,
        amp::ROWS,
        arg_reduce::ROWS,
        arithmetic::ROWS,
        assert::ROWS,
        attention::ROWS,
        attention_parts::ROWS,
        avg_pool::ROWS,
        bessel::ROWS,
        binary::ROWS,
        bits::ROWS,
        bitwise::ROWS,
        compare::ROWS,
        concat::ROWS,
        convolution::ROWS,
        creation::ROWS,
        ctc::ROWS,
        cumulative::ROWS,
        distance::ROWS,
        embedding::ROWS,
        embedding_bag::ROWS,
        foreach::BINARY,
        foreach::ROWS,
        fractional_pool::ROWS,
        foreach::UNARY,
        fourier::ROWS,
        gather::ROWS,
        index::ROWS,
        index_dim::ROWS,
        jagged::ROWS,
        linalg::ROWS,
        linalg_lstsq::ROWS,
        linalg_lu::ROWS,
        linalg_spectral::ROWS,
        loss::ROWS,
        margin::ROWS,
        matmul::ROWS,
        max_pool::ROWS,
        nll::ROWS,
        nonzero::ROWS,
        norm::ROWS,
        norm_batch::ROWS,
        norm_group::ROWS,
        norm_layer::ROWS,
        optim::ROWS,
        parts::ROWS,
        pdist::ROWS,
        polynomial::ROWS,
        quantile::ROWS,
        quantized::ROWS,
        random::ROWS,
        rearrange::ROWS,
        recurrent::ROWS,
        reduction::ROWS,
        resample::ROWS,
        sampling::ROWS,
        search::ROWS,
        segment::ROWS,
        slices::ROWS,
        slow_conv::ROWS,
        softmax::ROWS,
        sort::ROWS,
        special::ROWS,
        triangle::ROWS,
        unary::ROWS,
        unique::ROWS,
        unfold::ROWS,
        variance::ROWS,
        weight_norm::ROWS,
        variates::ROWS,
        grid::ROWS,
        histogram::ROWS,
    ];
    families.iter().flat_map(|f| f.iter()).collect()
}
