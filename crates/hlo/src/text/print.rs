//! Writes our text form.

use std::fmt::Write;

use tnrs_types::Scalar;

use super::attr::{attrs_of, Attr};
use crate::{Func, Literal, Op, Value};

/// A function as text that [`super::parse`] reads back.
pub fn print(func: &Func) -> String {
    let mut out = String::new();
    let params: Vec<String> = func.params.iter().map(|v| format!("%{}: {}", v.0, func.ty(*v))).collect();
    let name = if func.name.is_empty() { "main" } else { &func.name };
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("func @{name}({}) {{", params.join(", ")));
    for instr in &func.instrs {
        let mut text = format!("  {} = {}", values(&instr.results), mnemonic(&instr.op));
        if !instr.operands.is_empty() {
            let _ = write!(text, " {}", values(&instr.operands));
        }
        let mut attrs = attrs_of(&instr.op);
        if let Op::Constant(literal) = &instr.op {
            attrs.push(("value", value_attr(literal)));
        }
        if !attrs.is_empty() {
            let each: Vec<String> =
                attrs.iter().map(|(name, attr)| format!("{name}={}", attribute(attr))).collect();
            let _ = write!(text, " {{{}}}", each.join(", "));
        }
        let types: Vec<String> = instr.results.iter().map(|v| func.ty(*v).to_string()).collect();
        let _ = write!(text, " : {}", types.join(", "));
        line(text);
    }
    line(format!("  return {}", values(&func.results)));
    line("}".to_owned());
    out
}

fn mnemonic(op: &Op) -> String {
    match op {
        Op::Composite(c) => format!("composite.{}", c.name()),
        Op::CustomCall(c) => format!("custom_call.{}", c.name()),
        plain => plain.name().to_owned(),
    }
}

fn values(list: &[Value]) -> String {
    let each: Vec<String> = list.iter().map(|v| format!("%{}", v.0)).collect();
    each.join(", ")
}

fn value_attr(literal: &Literal) -> Attr {
    match literal {
        Literal::Splat(_, s) => Attr::One(*s),
        Literal::Dense(..) => Attr::Many(literal.scalars()),
    }
}

fn attribute(attr: &Attr) -> String {
    match attr {
        Attr::One(s) => scalar(*s),
        Attr::Many(list) => {
            let each: Vec<String> = list.iter().map(|s| scalar(*s)).collect();
            format!("[{}]", each.join(", "))
        }
        Attr::Name(n) => n.clone(),
    }
}

/// A number that reads back as the same number.
pub fn scalar(s: Scalar) -> String {
    match s {
        Scalar::Bool(b) => b.to_string(),
        Scalar::Int(i) => i.to_string(),
        Scalar::UInt(u) => u.to_string(),
        Scalar::Float(f) if f.is_nan() => "nan".to_owned(),
        Scalar::Float(f) => format!("{f:?}"),
        Scalar::Complex(re, im) => format!("({}, {})", scalar(Scalar::Float(re)), scalar(Scalar::Float(im))),
    }
}
