//! Attributes of ops, as a list of named values: what both text forms share.

use tnrs_types::{Dims, Scalar};

use super::attr_composite;
use crate::custom::Target;
use crate::names::{name_of, BINARY, COMPARE, FFT, REDUCE, SCATTER, UNARY};
use crate::{ConvAttrs, ConvDims, CustomCall, DotDims, GatherDims, Literal, Op, ScatterDims, TensorType};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// A number.
    One(Scalar),
    /// Numbers.
    Many(Vec<Scalar>),
    /// A name.
    Name(String),
}

impl Attr {
    /// An integer.
    pub fn int(i: i64) -> Attr {
        Attr::One(Scalar::Int(i))
    }

    /// A list of integers.
    pub fn ints(dims: &[i64]) -> Attr {
        Attr::Many(dims.iter().map(|d| Scalar::Int(*d)).collect())
    }
}

/// Named attributes, in order.
pub type Attrs = Vec<(&'static str, Attr)>;

/// Attributes of an op, in the order in which they are written. Constants have none here.
pub fn attrs_of(op: &Op) -> Attrs {
    let (int, ints) = (Attr::int, |d: &Dims| Attr::ints(d));
    let name = |n: &str| Attr::Name(n.to_owned());
    match op {
        Op::Compare(dir) => vec![("direction", name(name_of(COMPARE, dir)))],
        Op::Iota { dim } | Op::Concatenate { dim } => vec![("dim", int(*dim))],
        Op::BroadcastInDim { dims } | Op::Reverse { dims } => vec![("dims", ints(dims))],
        Op::Transpose { perm } => vec![("perm", ints(perm))],
        Op::Slice { start, limit, stride } => {
            vec![("start", ints(start)), ("limit", ints(limit)), ("stride", ints(stride))]
        }
        Op::Pad { low, high, interior } => {
            vec![("low", ints(low)), ("high", ints(high)), ("interior", ints(interior))]
        }
        Op::DotGeneral(d) => vec![
            ("lhs_batch", ints(&d.lhs_batch)),
            ("rhs_batch", ints(&d.rhs_batch)),
            ("lhs_contract", ints(&d.lhs_contract)),
            ("rhs_contract", ints(&d.rhs_contract)),
        ],
        Op::Convolution(a) => conv_attrs(a),
        Op::Reduce { kind, dims } => vec![("kind", name(name_of(REDUCE, kind))), ("dims", ints(dims))],
        Op::Gather(d) => vec![
            ("offset_dims", ints(&d.offset_dims)),
            ("collapsed_slice_dims", ints(&d.collapsed_slice_dims)),
            ("start_index_map", ints(&d.start_index_map)),
            ("index_vector_dim", int(d.index_vector_dim)),
            ("slice_sizes", ints(&d.slice_sizes)),
        ],
        Op::Scatter { kind, dims: d } => vec![
            ("kind", name(name_of(SCATTER, kind))),
            ("update_window_dims", ints(&d.update_window_dims)),
            ("inserted_window_dims", ints(&d.inserted_window_dims)),
            ("scatter_dims_to_operand_dims", ints(&d.scatter_dims_to_operand_dims)),
            ("index_vector_dim", int(d.index_vector_dim)),
        ],
        Op::Sort { dim, descending } => {
            vec![("dim", int(*dim)), ("descending", Attr::One(Scalar::Bool(*descending)))]
        }
        Op::Fft { kind, length } => vec![("kind", name(name_of(FFT, kind))), ("length", ints(length))],
        Op::Composite(c) => attr_composite::attrs_of(c),
        Op::CustomCall(c) => c.attrs().map(|(name, value)| (name, Attr::One(value))).collect(),
        Op::Constant(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Select
        | Op::Clamp
        | Op::Convert
        | Op::BitcastConvert
        | Op::Reshape
        | Op::DynamicSlice
        | Op::DynamicUpdateSlice => vec![],
    }
}

fn conv_attrs(a: &ConvAttrs) -> Attrs {
    let d = &a.dims;
    let with_two = |x: i64, y: i64, rest: &Dims| {
        let mut all = Dims::from_slice(&[x, y]);
        all.extend_from_slice(rest);
        Attr::ints(&all)
    };
    let flips = a.window_reversal.iter().map(|f| Scalar::Bool(*f));
    vec![
        ("input", with_two(d.input_batch, d.input_feature, &d.input_spatial)),
        ("kernel", with_two(d.kernel_input_feature, d.kernel_output_feature, &d.kernel_spatial)),
        ("output", with_two(d.output_batch, d.output_feature, &d.output_spatial)),
        ("strides", Attr::ints(&a.window_strides)),
        ("low", Attr::ints(&a.padding_low)),
        ("high", Attr::ints(&a.padding_high)),
        ("lhs_dilation", Attr::ints(&a.lhs_dilation)),
        ("rhs_dilation", Attr::ints(&a.rhs_dilation)),
        ("reversal", Attr::Many(flips.collect())),
        ("feature_groups", Attr::int(a.feature_group_count)),
        ("batch_groups", Attr::int(a.batch_group_count)),
    ]
}

/// Attributes read from text; each may be taken once.
pub struct Read(pub Vec<(String, Attr)>);

/// Why attributes do not make an op.
pub type Problem = String;

impl Read {
    fn take(&mut self, name: &str) -> Result<Attr, Problem> {
        let at = self.0.iter().position(|(n, _)| n == name);
        let at = at.ok_or_else(|| format!("attribute '{name}' is missing"))?;
        Ok(self.0.swap_remove(at).1)
    }

    /// A number.
    pub fn number(&mut self, name: &str) -> Result<Scalar, Problem> {
        match self.take(name)? {
            Attr::One(s) => Ok(s),
            other => Err(format!("attribute '{name}' is no number: {other:?}")),
        }
    }

    /// A real number.
    pub fn float(&mut self, name: &str) -> Result<f64, Problem> {
        Ok(self.number(name)?.to_f64())
    }

    /// A truth value.
    pub fn bool(&mut self, name: &str) -> Result<bool, Problem> {
        match self.number(name)? {
            Scalar::Bool(b) => Ok(b),
            other => Err(format!("attribute '{name}' is no truth value: {other:?}")),
        }
    }

    /// An integer of any size.
    pub fn int(&mut self, name: &str) -> Result<i64, Problem> {
        match self.number(name)? {
            Scalar::Int(i) => Ok(i),
            other => Err(format!("attribute '{name}' is no integer: {other:?}")),
        }
    }

    /// A dim or size: an integer that sums and products in inference cannot overflow with.
    pub fn dim(&mut self, name: &str) -> Result<i64, Problem> {
        bounded(name, Scalar::Int(self.int(name)?))
    }

    /// Dims or sizes.
    pub fn dims(&mut self, name: &str) -> Result<Dims, Problem> {
        match self.take(name)? {
            Attr::Many(list) => list.iter().map(|s| bounded(name, *s)).collect(),
            other => Err(format!("attribute '{name}' is no list: {other:?}")),
        }
    }

    fn bools(&mut self, name: &str) -> Result<Vec<bool>, Problem> {
        match self.take(name)? {
            Attr::Many(list) => list
                .iter()
                .map(|s| match s {
                    Scalar::Bool(b) => Ok(*b),
                    other => Err(format!("attribute '{name}' holds {other:?}")),
                })
                .collect(),
            other => Err(format!("attribute '{name}' is no list: {other:?}")),
        }
    }

    /// A name.
    pub fn name(&mut self, name: &str) -> Result<String, Problem> {
        match self.take(name)? {
            Attr::Name(n) => Ok(n),
            other => Err(format!("attribute '{name}' is no name: {other:?}")),
        }
    }

    /// The member of a table that a name attribute names.
    pub fn member<T: Copy>(&mut self, name: &str, table: &[(T, &'static str)]) -> Result<T, Problem> {
        let wanted = self.name(name)?;
        find(table, &wanted).ok_or_else(|| format!("attribute '{name}' cannot be '{wanted}'"))
    }
}

fn bounded(name: &str, s: Scalar) -> Result<i64, Problem> {
    match s {
        Scalar::Int(i) if i.abs() <= 1 << 31 => Ok(i),
        other => Err(format!("attribute '{name}' is out of range: {other:?}")),
    }
}

fn find<T: Copy>(table: &[(T, &'static str)], name: &str) -> Option<T> {
    table.iter().find(|(_, n)| *n == name).map(|(m, _)| *m)
}

/// The op of a mnemonic with its attributes; all of them must be used.
pub fn op_of(mnemonic: &str, mut read: Read, types: &[TensorType]) -> Result<Op, Problem> {
    let r = &mut read;
    let op = if let Some(kind) = find(UNARY, mnemonic) {
        Op::Unary(kind)
    } else if let Some(kind) = find(BINARY, mnemonic) {
        Op::Binary(kind)
    } else if let Some(name) = mnemonic.strip_prefix("composite.") {
        Op::Composite(attr_composite::composite_of(name, r)?)
    } else if let Some(name) = mnemonic.strip_prefix("custom_call.") {
        Op::CustomCall(Box::new(custom_call_of(name, r)?))
    } else {
        plain(mnemonic, r, types)?
    };
    match read.0.first() {
        Some((name, _)) => Err(format!("{mnemonic} has no attribute '{name}'")),
        None => Ok(op),
    }
}

fn custom_call_of(name: &str, r: &mut Read) -> Result<CustomCall, Problem> {
    let target = Target::find(name).ok_or_else(|| format!("no routine is called '{name}'"))?;
    let attrs: Vec<Scalar> = target.attrs.iter().map(|a| r.number(a)).collect::<Result<_, _>>()?;
    CustomCall::new(name, &attrs).map_err(|e| e.to_string())
}

fn plain(mnemonic: &str, r: &mut Read, types: &[TensorType]) -> Result<Op, Problem> {
    Ok(match mnemonic {
        "constant" => {
            let ty = types.first().ok_or("constant has no result type")?;
            Op::Constant(match r.take("value")? {
                Attr::One(s) => Literal::Splat(ty.clone(), s),
                Attr::Many(list) => Literal::from_scalars(ty, &list)
                    .ok_or_else(|| format!("{} elements given for {ty}", list.len()))?,
                Attr::Name(n) => return Err(format!("'{n}' is no constant")),
            })
        }
        "iota" => Op::Iota { dim: r.dim("dim")? },
        "compare" => Op::Compare(r.member("direction", COMPARE)?),
        "select" => Op::Select,
        "clamp" => Op::Clamp,
        "convert" => Op::Convert,
        "bitcast_convert" => Op::BitcastConvert,
        "broadcast_in_dim" => Op::BroadcastInDim { dims: r.dims("dims")? },
        "reshape" => Op::Reshape,
        "transpose" => Op::Transpose { perm: r.dims("perm")? },
        "slice" => Op::Slice { start: r.dims("start")?, limit: r.dims("limit")?, stride: r.dims("stride")? },
        "dynamic_slice" => Op::DynamicSlice,
        "dynamic_update_slice" => Op::DynamicUpdateSlice,
        "pad" => Op::Pad { low: r.dims("low")?, high: r.dims("high")?, interior: r.dims("interior")? },
        "concatenate" => Op::Concatenate { dim: r.dim("dim")? },
        "reverse" => Op::Reverse { dims: r.dims("dims")? },
        "dot_general" => Op::DotGeneral(DotDims {
            lhs_batch: r.dims("lhs_batch")?,
            rhs_batch: r.dims("rhs_batch")?,
            lhs_contract: r.dims("lhs_contract")?,
            rhs_contract: r.dims("rhs_contract")?,
        }),
        "convolution" => Op::Convolution(Box::new(conv_of(r)?)),
        "reduce" => Op::Reduce { kind: r.member("kind", REDUCE)?, dims: r.dims("dims")? },
        "gather" => Op::Gather(Box::new(GatherDims {
            offset_dims: r.dims("offset_dims")?,
            collapsed_slice_dims: r.dims("collapsed_slice_dims")?,
            start_index_map: r.dims("start_index_map")?,
            index_vector_dim: r.dim("index_vector_dim")?,
            slice_sizes: r.dims("slice_sizes")?,
        })),
        "scatter" => Op::Scatter {
            kind: r.member("kind", SCATTER)?,
            dims: Box::new(ScatterDims {
                update_window_dims: r.dims("update_window_dims")?,
                inserted_window_dims: r.dims("inserted_window_dims")?,
                scatter_dims_to_operand_dims: r.dims("scatter_dims_to_operand_dims")?,
                index_vector_dim: r.dim("index_vector_dim")?,
            }),
        },
        "fft" => Op::Fft { kind: r.member("kind", FFT)?, length: r.dims("length")? },
        "sort" => Op::Sort { dim: r.dim("dim")?, descending: r.bool("descending")? },
        other => return Err(format!("no op is called '{other}'")),
    })
}

fn conv_of(r: &mut Read) -> Result<ConvAttrs, Problem> {
    let mut roles = |name: &str| -> Result<(i64, i64, Dims), Problem> {
        match r.dims(name)?.as_slice() {
            [a, b, rest @ ..] => Ok((*a, *b, Dims::from_slice(rest))),
            _ => Err(format!("attribute '{name}' needs two dims or more")),
        }
    };
    let (input_batch, input_feature, input_spatial) = roles("input")?;
    let (kernel_input_feature, kernel_output_feature, kernel_spatial) = roles("kernel")?;
    let (output_batch, output_feature, output_spatial) = roles("output")?;
    Ok(ConvAttrs {
        dims: ConvDims {
            input_batch,
            input_feature,
            input_spatial,
            kernel_input_feature,
            kernel_output_feature,
            kernel_spatial,
            output_batch,
            output_feature,
            output_spatial,
        },
        window_strides: r.dims("strides")?,
        padding_low: r.dims("low")?,
        padding_high: r.dims("high")?,
        lhs_dilation: r.dims("lhs_dilation")?,
        rhs_dilation: r.dims("rhs_dilation")?,
        window_reversal: r.bools("reversal")?,
        feature_group_count: r.dim("feature_groups")?,
        batch_group_count: r.dim("batch_groups")?,
    })
}
