//! One op at a time.

use tnrs_types::{CompareDir, DType, UnaryKind};

use super::{constant, Name, Writer};
use crate::names::{name_of, COMPARE, FFT};
use crate::text::attr::{attrs_of, Attr};
use crate::text::print::scalar;
use crate::{Composite, ConvAttrs, CustomCall, Op, TensorType};

fn array(dims: &[i64]) -> String {
    if dims.is_empty() {
        return "array<i64>".to_owned();
    }
    format!("array<i64: {}>", list(dims))
}

fn list(dims: &[i64]) -> String {
    let each: Vec<String> = dims.iter().map(i64::to_string).collect();
    each.join(", ")
}

fn direction(dir: CompareDir) -> String {
    let name = name_of(COMPARE, &dir);
    format!("comparison_direction = #stablehlo<comparison_direction {name}>")
}

impl Writer {
    pub(super) fn instruction(&mut self, op: &Op, x: &[Name], results: &[Name]) {
        let mut plain = |name: &str, attrs: String| {
            self.generic(&format!("stablehlo.{name}"), x, &attrs, "", results);
        };
        match op {
            Op::Constant(l) => plain("constant", format!("value = {}", constant::dense(l))),
            Op::Iota { dim } => plain("iota", format!("iota_dimension = {dim} : i64")),
            Op::Unary(kind) => self.unary(*kind, &x[0], &results[0]),
            Op::Compare(dir) => plain("compare", direction(*dir)),
            Op::Binary(_)
            | Op::Select
            | Op::Clamp
            | Op::BitcastConvert
            | Op::Reshape
            | Op::DynamicUpdateSlice => plain(op.name(), String::new()),
            Op::Convert => self.convert(&x[0], &results[0]),
            Op::BroadcastInDim { dims } => {
                plain("broadcast_in_dim", format!("broadcast_dimensions = {}", array(dims)))
            }
            Op::Transpose { perm } => plain("transpose", format!("permutation = {}", array(perm))),
            Op::Slice { start, limit, stride } => plain(
                "slice",
                format!(
                    "start_indices = {}, limit_indices = {}, strides = {}",
                    array(start),
                    array(limit),
                    array(stride)
                ),
            ),
            Op::DynamicSlice => {
                plain("dynamic_slice", format!("slice_sizes = {}", array(&results[0].ty.dims)))
            }
            Op::Pad { low, high, interior } => plain(
                "pad",
                format!(
                    "edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
                    array(low),
                    array(high),
                    array(interior)
                ),
            ),
            Op::Concatenate { dim } => plain("concatenate", format!("dimension = {dim} : i64")),
            Op::Reverse { dims } => plain("reverse", format!("dimensions = {}", array(dims))),
            Op::DotGeneral(d) => plain(
                "dot_general",
                format!(
                    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{}], \
                     rhs_batching_dimensions = [{}], lhs_contracting_dimensions = [{}], \
                     rhs_contracting_dimensions = [{}]>",
                    list(&d.lhs_batch),
                    list(&d.rhs_batch),
                    list(&d.lhs_contract),
                    list(&d.rhs_contract)
                ),
            ),
            Op::Convolution(a) => plain("convolution", convolution(a)),
            Op::Reduce { kind, dims } => self.reduce(*kind, &array(dims), &x[0], &results[0]),
            Op::Gather(d) => plain(
                "gather",
                format!(
                    "dimension_numbers = #stablehlo.gather<offset_dims = [{}], \
                     collapsed_slice_dims = [{}], start_index_map = [{}], index_vector_dim = {}>, \
                     indices_are_sorted = false, slice_sizes = {}",
                    list(&d.offset_dims),
                    list(&d.collapsed_slice_dims),
                    list(&d.start_index_map),
                    d.index_vector_dim,
                    array(&d.slice_sizes)
                ),
            ),
            Op::Scatter { kind, dims: d } => {
                let attrs = format!(
                    "indices_are_sorted = false, scatter_dimension_numbers = \
                     #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}], \
                     scatter_dims_to_operand_dims = [{}], index_vector_dim = {}>, \
                     unique_indices = false",
                    list(&d.update_window_dims),
                    list(&d.inserted_window_dims),
                    list(&d.scatter_dims_to_operand_dims),
                    d.index_vector_dim
                );
                let body = Self::scatter_body(*kind, x[0].ty.dtype);
                self.generic("stablehlo.scatter", x, &attrs, &body, results);
            }
            Op::Sort { dim, descending } => {
                let attrs = format!("dimension = {dim} : i64, is_stable = true");
                let body = Self::sort_body(x, *descending);
                self.generic("stablehlo.sort", x, &attrs, &body, results);
            }
            Op::Fft { kind, length } => plain(
                "fft",
                format!(
                    "fft_length = {}, fft_type = #stablehlo<fft_type {}>",
                    array(length),
                    name_of(FFT, kind)
                ),
            ),
            Op::Composite(c) => self.composite(c, x, results),
            Op::CustomCall(c) => self.custom_call(c, x, results),
        }
    }

    fn unary(&mut self, kind: UnaryKind, x: &Name, result: &Name) {
        let name = crate::names::unary(kind).0;
        let (operands, results) = ([x.clone()], [result.clone()]);
        match kind {
            UnaryKind::IsNan => {
                let twice = [x.clone(), x.clone()];
                self.generic("stablehlo.compare", &twice, &direction(CompareDir::Ne), "", &results);
            }
            // Neither dialect has it: sign(x)·floor(|x|) is exact, and keeps NaN, infinities and the sign of zero.
            UnaryKind::Trunc => {
                let magnitude = self.temporary(x.ty.clone());
                let whole = self.temporary(x.ty.clone());
                let sign = self.temporary(x.ty.clone());
                let one = |n: &Name| [n.clone()];
                self.generic("stablehlo.abs", &operands, "", "", &one(&magnitude));
                self.generic("stablehlo.floor", &one(&magnitude), "", "", &one(&whole));
                self.generic("stablehlo.sign", &operands, "", "", &one(&sign));
                self.generic("stablehlo.multiply", &[sign, whole], "", "", &results);
            }
            // The conjugate of a real number is itself, and so is its real part.
            UnaryKind::Conj if x.ty.dtype.is_float() => {
                self.generic("stablehlo.real", &operands, "", "", &results);
            }
            UnaryKind::Acos
            | UnaryKind::Acosh
            | UnaryKind::Asin
            | UnaryKind::Asinh
            | UnaryKind::Atan
            | UnaryKind::Atanh
            | UnaryKind::Conj
            | UnaryKind::Cosh
            | UnaryKind::Digamma
            | UnaryKind::Erf
            | UnaryKind::Erfc
            | UnaryKind::ErfInv
            | UnaryKind::IsInf
            | UnaryKind::Lgamma
            | UnaryKind::Sinh => {
                let op = format!("chlo.{name}");
                // XLA expands some CHLO ops only for floats of 16 bits or more.
                if x.ty.dtype.is_float() && x.ty.dtype.size() == 1 && x.ty == result.ty {
                    let wide = self.converted(x, DType::F32);
                    let total = self.temporary(wide.ty.clone());
                    self.generic(&op, &[wide], "", "", std::slice::from_ref(&total));
                    self.generic("stablehlo.convert", &[total], "", "", &results);
                } else {
                    self.generic(&op, &operands, "", "", &results);
                }
            }
            _ => self.generic(&format!("stablehlo.{name}"), &operands, "", "", &results),
        }
    }

    /// Attributes travel as a dictionary of the typed foreign-function interface.
    fn custom_call(&mut self, c: &CustomCall, x: &[Name], results: &[Name]) {
        let attrs: Vec<String> =
            c.attrs().map(|(name, value)| format!("{name} = {}", attribute(&Attr::One(value)))).collect();
        let attrs = format!(
            "api_version = 4 : i32, backend_config = {{{}}}, call_target_name = \"tnrs.{}\"",
            attrs.join(", "),
            c.name()
        );
        self.generic("stablehlo.custom_call", x, &attrs, "", results);
    }

    fn composite(&mut self, c: &Composite, x: &[Name], results: &[Name]) {
        let symbol = self.decomposition(c, x, results);
        let attrs: Vec<String> = attrs_of(&Op::Composite(c.clone()))
            .iter()
            .map(|(name, attr)| format!("{name} = {}", attribute(attr)))
            .collect();
        let attrs = format!(
            "composite_attributes = {{{}}}, decomposition = {symbol}, name = \"tnrs.{}\", version = 0 : i32",
            attrs.join(", "),
            c.name()
        );
        self.generic("stablehlo.composite", x, &attrs, "", results);
    }
}

/// An attribute of a composite as MLIR writes it; floats by their bits.
fn attribute(attr: &Attr) -> String {
    use tnrs_types::Scalar;
    match attr {
        Attr::Name(n) => format!("\"{n}\""),
        Attr::One(Scalar::Float(f)) => format!("{:#018X} : f64", f.to_bits()).replace("0X", "0x"),
        Attr::One(Scalar::Bool(b)) => b.to_string(),
        Attr::One(s) => format!("{} : i64", scalar(*s)),
        Attr::Many(each) => {
            let each: Vec<String> = each.iter().map(|s| scalar(*s)).collect();
            format!("array<i64: {}>", each.join(", "))
        }
    }
}

/// `[b, f, 0, 1]`: the role of each dim.
fn roles(first: (&str, i64), second: (&str, i64), spatial: &[i64]) -> String {
    let mut names = vec![String::new(); spatial.len() + 2];
    names[first.1 as usize] = first.0.to_owned();
    names[second.1 as usize] = second.0.to_owned();
    for (i, &d) in spatial.iter().enumerate() {
        names[d as usize] = i.to_string();
    }
    format!("[{}]", names.join(", "))
}

fn convolution(a: &ConvAttrs) -> String {
    let d = &a.dims;
    let input = roles(("b", d.input_batch), ("f", d.input_feature), &d.input_spatial);
    let kernel = roles(("i", d.kernel_input_feature), ("o", d.kernel_output_feature), &d.kernel_spatial);
    let output = roles(("b", d.output_batch), ("f", d.output_feature), &d.output_spatial);
    let spatial = a.padding_low.len() as i64;
    let padding: Vec<i64> =
        (0..spatial as usize).flat_map(|i| [a.padding_low[i], a.padding_high[i]]).collect();
    let padding = crate::Literal::from_scalars(
        &TensorType::new(DType::I64, &[spatial, 2]),
        &padding.iter().map(|p| tnrs_types::Scalar::Int(*p)).collect::<Vec<_>>(),
    )
    .expect("two numbers a dim");
    let flips: Vec<String> = a.window_reversal.iter().map(bool::to_string).collect();
    let reversal =
        if flips.is_empty() { "array<i1>".to_owned() } else { format!("array<i1: {}>", flips.join(", ")) };
    format!(
        "batch_group_count = {} : i64, dimension_numbers = #stablehlo.conv<{input}x{kernel}->{output}>, \
         feature_group_count = {} : i64, lhs_dilation = {}, padding = {}, rhs_dilation = {}, \
         window_reversal = {reversal}, window_strides = {}",
        a.batch_group_count,
        a.feature_group_count,
        array(&a.lhs_dilation),
        constant::dense(&padding),
        array(&a.rhs_dilation),
        array(&a.window_strides)
    )
}
