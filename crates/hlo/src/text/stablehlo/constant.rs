//! Constants as `dense` attributes.

use std::fmt::Write;

use tnrs_types::{numel, DType};

use super::tensor;
use crate::interpret::{Element, Tensor};
use crate::Literal;

/// A literal as a typed attribute. Numbers are written as their bytes, so that no digit and no NaN is lost; MLIR reads
/// the bytes of one element as a splat. Truth values, which MLIR packs, are written as words.
pub fn dense(literal: &Literal) -> String {
    let ty = literal.ty();
    let body = if ty.numel() == 0 {
        String::new()
    } else if ty.dtype == DType::Bool {
        let flags = Tensor::from_literal(literal);
        match literal {
            Literal::Splat(..) => flags.data[0].bool().to_string(),
            Literal::Dense(..) => nested(&ty.dims, &flags.data),
        }
    } else {
        let mut bytes = vec![];
        match literal {
            Literal::Splat(_, value) => {
                Element::from_scalar(*value, ty.dtype).encode(ty.dtype, &mut bytes);
            }
            Literal::Dense(_, data) => bytes.extend_from_slice(data),
        }
        let mut text = "\"0x".to_owned();
        for b in bytes {
            let _ = write!(text, "{b:02X}");
        }
        text + "\""
    };
    format!("dense<{body}> : {}", tensor(ty))
}

fn nested(dims: &[i64], flags: &[Element]) -> String {
    let Some((_, inner)) = dims.split_first() else {
        return flags[0].bool().to_string();
    };
    let rows: Vec<String> = flags.chunks(numel(inner) as usize).map(|row| nested(inner, row)).collect();
    format!("[{}]", rows.join(", "))
}
