//! Attributes of composites.

use std::collections::BTreeSet;
use std::sync::Mutex;

use tnrs_types::{Raises, Scalar};

use super::attr::{Attr, Attrs, Problem, Read};
use crate::names::{name_of, REDUCE};
use crate::Composite;

const RAISES: &[(Raises, &str)] = &[(Raises::Index, "index"), (Raises::Runtime, "runtime")];

/// Attributes, in the order in which they are written.
pub fn attrs_of(c: &Composite) -> Attrs {
    let int = |i: &i64| Attr::int(*i);
    let flag = |b: &bool| Attr::One(Scalar::Bool(*b));
    let real = |f: &f64| Attr::One(Scalar::Float(*f));
    match c {
        Composite::Gelu { tanh } | Composite::GeluGrad { tanh } => vec![("tanh", flag(tanh))],
        Composite::Silu
        | Composite::SiluGrad
        | Composite::Philox
        | Composite::Compact
        | Composite::Nonzero => vec![],
        Composite::Softmax { dim, log } | Composite::SoftmaxGrad { dim, log } => {
            vec![("dim", int(dim)), ("log", flag(log))]
        }
        Composite::LayerNorm { axis, eps, weight, bias } => {
            vec![("axis", int(axis)), ("eps", real(eps)), ("weight", flag(weight)), ("bias", flag(bias))]
        }
        Composite::RmsNorm { axis, eps, weight } => {
            vec![("axis", int(axis)), ("eps", real(eps)), ("weight", flag(weight))]
        }
        Composite::LayerNormGrad { axis, weight } | Composite::RmsNormGrad { axis, weight } => {
            vec![("axis", int(axis)), ("weight", flag(weight))]
        }
        Composite::Sdpa { scale, causal, bias, dropout } => vec![
            ("scale", real(scale)),
            ("causal", flag(causal)),
            ("bias", flag(bias)),
            ("dropout", real(dropout)),
        ],
        Composite::SdpaGrad { scale, causal, bias, dropout, bias_grad } => vec![
            ("scale", real(scale)),
            ("causal", flag(causal)),
            ("bias", flag(bias)),
            ("dropout", real(dropout)),
            ("bias_grad", flag(bias_grad)),
        ],
        Composite::AdamStep { beta1, beta2, weight_decay, eps, decoupled, amsgrad, maximize, scaled } => {
            vec![
                ("beta1", real(beta1)),
                ("beta2", real(beta2)),
                ("weight_decay", real(weight_decay)),
                ("eps", real(eps)),
                ("decoupled", flag(decoupled)),
                ("amsgrad", flag(amsgrad)),
                ("maximize", flag(maximize)),
                ("scaled", flag(scaled)),
            ]
        }
        Composite::SgdStep { weight_decay, momentum, dampening, nesterov, maximize, first_step, scaled } => {
            vec![
                ("weight_decay", real(weight_decay)),
                ("momentum", real(momentum)),
                ("dampening", real(dampening)),
                ("nesterov", flag(nesterov)),
                ("maximize", flag(maximize)),
                ("first_step", flag(first_step)),
                ("scaled", flag(scaled)),
            ]
        }
        Composite::ArgReduce { dim, max } => vec![("dim", int(dim)), ("max", flag(max))],
        Composite::Cumulative { dim, kind } => {
            vec![("dim", int(dim)), ("kind", Attr::Name(name_of(REDUCE, kind).to_owned()))]
        }
        Composite::MaxPool { kernel, stride, padding, dilation } => vec![
            ("kernel", Attr::ints(kernel)),
            ("stride", Attr::ints(stride)),
            ("padding", Attr::ints(padding)),
            ("dilation", Attr::ints(dilation)),
        ],
        Composite::CheckIndex { lo, hi, site, dim, raises } => vec![
            ("lo", int(lo)),
            ("hi", int(hi)),
            ("site", Attr::Name((*site).to_owned())),
            ("dim", int(dim)),
            ("raises", Attr::Name(name_of(RAISES, raises).to_owned())),
        ],
        // The text form has no strings.
        Composite::Assert { message } => {
            vec![("message", Attr::ints(&message.bytes().map(i64::from).collect::<Vec<_>>()))]
        }
    }
}

/// The composite of a name.
pub fn composite_of(name: &str, r: &mut Read) -> Result<Composite, Problem> {
    Ok(match name {
        "gelu" => Composite::Gelu { tanh: r.bool("tanh")? },
        "gelu_grad" => Composite::GeluGrad { tanh: r.bool("tanh")? },
        "silu" => Composite::Silu,
        "silu_grad" => Composite::SiluGrad,
        "softmax" => Composite::Softmax { dim: r.dim("dim")?, log: r.bool("log")? },
        "softmax_grad" => Composite::SoftmaxGrad { dim: r.dim("dim")?, log: r.bool("log")? },
        "layer_norm" => Composite::LayerNorm {
            axis: r.dim("axis")?,
            eps: r.float("eps")?,
            weight: r.bool("weight")?,
            bias: r.bool("bias")?,
        },
        "layer_norm_grad" => Composite::LayerNormGrad { axis: r.dim("axis")?, weight: r.bool("weight")? },
        "rms_norm" => {
            Composite::RmsNorm { axis: r.dim("axis")?, eps: r.float("eps")?, weight: r.bool("weight")? }
        }
        "rms_norm_grad" => Composite::RmsNormGrad { axis: r.dim("axis")?, weight: r.bool("weight")? },
        "sdpa" => Composite::Sdpa {
            scale: r.float("scale")?,
            causal: r.bool("causal")?,
            bias: r.bool("bias")?,
            dropout: r.float("dropout")?,
        },
        "sdpa_grad" => Composite::SdpaGrad {
            scale: r.float("scale")?,
            causal: r.bool("causal")?,
            bias: r.bool("bias")?,
            dropout: r.float("dropout")?,
            bias_grad: r.bool("bias_grad")?,
        },
        "philox" => Composite::Philox,
        "adam_step" => Composite::AdamStep {
            beta1: r.float("beta1")?,
            beta2: r.float("beta2")?,
            weight_decay: r.float("weight_decay")?,
            eps: r.float("eps")?,
            decoupled: r.bool("decoupled")?,
            amsgrad: r.bool("amsgrad")?,
            maximize: r.bool("maximize")?,
            scaled: r.bool("scaled")?,
        },
        "sgd_step" => Composite::SgdStep {
            weight_decay: r.float("weight_decay")?,
            momentum: r.float("momentum")?,
            dampening: r.float("dampening")?,
            nesterov: r.bool("nesterov")?,
            maximize: r.bool("maximize")?,
            first_step: r.bool("first_step")?,
            scaled: r.bool("scaled")?,
        },
        "arg_reduce" => Composite::ArgReduce { dim: r.dim("dim")?, max: r.bool("max")? },
        "cumulative" => Composite::Cumulative { dim: r.dim("dim")?, kind: r.member("kind", REDUCE)? },
        "max_pool" => Composite::MaxPool {
            kernel: r.dims("kernel")?,
            stride: r.dims("stride")?,
            padding: r.dims("padding")?,
            dilation: r.dims("dilation")?,
        },
        "compact" => Composite::Compact,
        "nonzero" => Composite::Nonzero,
        "check_index" => Composite::CheckIndex {
            lo: r.int("lo")?,
            hi: r.int("hi")?,
            site: intern(&r.name("site")?),
            dim: r.dim("dim")?,
            raises: r.member("raises", RAISES)?,
        },
        "assert" => {
            let bytes: Option<Vec<u8>> = r.dims("message")?.iter().map(|&b| u8::try_from(b).ok()).collect();
            let text = bytes.and_then(|b| String::from_utf8(b).ok()).ok_or("a message is UTF-8 bytes")?;
            Composite::Assert { message: intern(&text) }
        }
        other => return Err(format!("no composite is called '{other}'")),
    })
}

/// A name that lives as long as the process; each distinct name is kept once.
pub fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}
