//! What a caller says about the memory of an executable's parameters and results.

use tnrs_types::{contiguous_strides, Dims};

/// How a parameter arrives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParamSpec {
    /// In memory, with these strides in elements; 0 repeats an element.
    Tensor {
        /// One stride per dim of the parameter, none negative.
        strides: Dims,
    },
    /// As the bytes of one number of the parameter's element type; the parameter has rank 0.
    Scalar,
}

/// How a result leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResultSpec {
    /// One stride per dim of the result, in elements; distinct elements have distinct addresses.
    pub strides: Dims,
    /// The result occupies the same memory, with the same layout, as this parameter.
    pub alias: Option<usize>,
    /// The result's memory may overlap any parameter's in any way: everything is read before it is written.
    pub overlap: bool,
}

impl ResultSpec {
    /// A fresh row-major result.
    pub fn dense(dims: &[i64]) -> Self {
        ResultSpec { strides: contiguous_strides(dims), alias: None, overlap: false }
    }
}

/// The memory of every parameter and result, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct CompileSpec {
    /// Parameters.
    pub params: Vec<ParamSpec>,
    /// Results.
    pub results: Vec<ResultSpec>,
}

impl CompileSpec {
    /// Row-major memory for every parameter and result of a function.
    pub fn dense(f: &tnrs_hlo::Func) -> Self {
        CompileSpec {
            params: f
                .params
                .iter()
                .map(|&v| ParamSpec::Tensor { strides: contiguous_strides(&f.ty(v).dims) })
                .collect(),
            results: f.results.iter().map(|&v| ResultSpec::dense(&f.ty(v).dims)).collect(),
        }
    }
}
