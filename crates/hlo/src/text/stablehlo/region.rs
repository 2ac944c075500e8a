//! Ops with a body: `reduce`, `scatter`, `sort`.

use std::fmt::Write;

use tnrs_types::{DType, ReduceKind, Scalar, ScatterKind};

use super::{constant, Name, Writer};
use crate::names::binary;
use crate::{body, neutral, Literal, TensorType};

/// A block with scalar arguments `%a`, `%b`, … of these types, and its lines.
fn block(types: &[DType], lines: &str) -> String {
    let args: Vec<String> =
        types.iter().enumerate().map(|(i, t)| format!("%b{i}: tensor<{}>", t.hlo_name())).collect();
    format!("    ^bb0({}):\n{lines}", args.join(", "))
}

fn give_back(value: &str, ty: DType) -> String {
    format!("      \"stablehlo.return\"({value}) : (tensor<{}>) -> ()\n", ty.hlo_name())
}

/// `%b0 op %b1`.
fn fold(op: &str, dtype: DType) -> String {
    let t = dtype.hlo_name();
    let line =
        format!("      %r = \"stablehlo.{op}\"(%b0, %b1) : (tensor<{t}>, tensor<{t}>) -> tensor<{t}>\n");
    block(&[dtype, dtype], &(line + &give_back("%r", dtype)))
}

impl Writer {
    /// `reduce`; reduced floats are converted to f32 around it.
    pub(super) fn reduce(&mut self, kind: ReduceKind, dims: &str, x: &Name, result: &Name) {
        let math = x.ty.dtype.opmath();
        let wide = self.converted(x, math);
        let start = self.temporary(TensorType::new(math, &[]));
        let value = Literal::Splat(start.ty.clone(), neutral(kind, math));
        let attrs = format!("value = {}", constant::dense(&value));
        self.generic("stablehlo.constant", &[], &attrs, "", std::slice::from_ref(&start));
        let total = if math == x.ty.dtype {
            result.clone()
        } else {
            self.temporary(TensorType { dtype: math, dims: result.ty.dims.clone() })
        };
        let region = fold(binary(body(kind)).0, math);
        let attrs = format!("dimensions = {dims}");
        let outputs = [total.clone()];
        self.generic("stablehlo.reduce", &[wide, start], &attrs, &region, &outputs);
        if math != x.ty.dtype {
            self.generic("stablehlo.convert", &[total], "", "", std::slice::from_ref(result));
        }
    }

    /// The value in another element type.
    pub(super) fn converted(&mut self, x: &Name, dtype: DType) -> Name {
        if x.ty.dtype == dtype {
            return x.clone();
        }
        let wide = self.temporary(TensorType { dtype, dims: x.ty.dims.clone() });
        let (from, to) = ([x.clone()], [wide.clone()]);
        self.generic("stablehlo.convert", &from, "", "", &to);
        wide
    }

    /// `convert`. XLA makes NaN of what is beyond the range of float8_e4m3fn; here it becomes the greatest number.
    pub(super) fn convert(&mut self, x: &Name, result: &Name) {
        const GREATEST: i64 = 448;
        let from = x.ty.dtype;
        // float8_e4m3fnuz ends at 240, and cannot even hold the bound.
        let wider = (from.is_float() && from != DType::F8E4M3FNUZ) || (from.is_int() && from.size() > 1);
        let operand = if wider && result.ty.dtype == DType::F8E4M3FN {
            let [low, high] = [-GREATEST, GREATEST].map(|bound| {
                let bound = if from.is_unsigned() { bound.max(0) } else { bound };
                let name = self.temporary(TensorType::new(from, &[]));
                let attrs = format!(
                    "value = {}",
                    constant::dense(&Literal::Splat(name.ty.clone(), Scalar::Int(bound)))
                );
                self.generic("stablehlo.constant", &[], &attrs, "", std::slice::from_ref(&name));
                name
            });
            let clamped = self.temporary(x.ty.clone());
            let operands = [low, x.clone(), high];
            self.generic("stablehlo.clamp", &operands, "", "", std::slice::from_ref(&clamped));
            clamped
        } else {
            x.clone()
        };
        self.generic("stablehlo.convert", &[operand], "", "", std::slice::from_ref(result));
    }

    /// The body of `scatter`: `%b0` is the element, `%b1` the update.
    pub(super) fn scatter_body(kind: ScatterKind, dtype: DType) -> String {
        match kind {
            ScatterKind::Set => block(&[dtype, dtype], &give_back("%b1", dtype)),
            ScatterKind::Add => fold("add", dtype),
            ScatterKind::Multiply => fold("multiply", dtype),
            ScatterKind::Maximum => fold("maximum", dtype),
            ScatterKind::Minimum => fold("minimum", dtype),
        }
    }

    /// The comparator of `sort`: whether `%b0` goes before `%b1`, with NaN greatest.
    pub(super) fn sort_body(x: &[Name], descending: bool) -> String {
        let key = x[0].ty.dtype;
        let t = key.hlo_name();
        let types: Vec<DType> = x.iter().flat_map(|n| [n.ty.dtype, n.ty.dtype]).collect();
        let mut lines = String::new();
        let mut compare = |name: &str, direction: &str, a: &str, b: &str| {
            let _ = writeln!(
                lines,
                "      {name} = \"stablehlo.compare\"({a}, {b}) <{{comparison_direction = \
                 #stablehlo<comparison_direction {direction}>}}> : (tensor<{t}>, tensor<{t}>) -> tensor<i1>"
            );
        };
        let direction = if descending { "GT" } else { "LT" };
        compare("%before", direction, "%b0", "%b1");
        let verdict = if key.is_float() {
            let (greater, lesser) = if descending { ("%b0", "%b1") } else { ("%b1", "%b0") };
            compare("%nan", "NE", greater, greater);
            compare("%number", "EQ", lesser, lesser);
            let logic = "(tensor<i1>, tensor<i1>) -> tensor<i1>";
            let _ = writeln!(lines, "      %only = \"stablehlo.and\"(%nan, %number) : {logic}");
            let _ = writeln!(lines, "      %any = \"stablehlo.or\"(%before, %only) : {logic}");
            "%any"
        } else {
            "%before"
        };
        block(&types, &(lines + &give_back(verdict, DType::Bool)))
    }
}
