//! Writes a function as an MLIR module of the StableHLO dialect, in MLIR's generic form.
//!
//! The entry is `@main`. A composite becomes `stablehlo.composite` with its decomposition as a private function, and
//! the functions that StableHLO lacks are CHLO ops.
mod constant;
mod op;
mod region;

use std::fmt::Write;

use crate::{Builder, Composite, Func, TensorType, Value};

/// A verified function as a StableHLO module.
pub fn stablehlo(func: &Func) -> String {
    let mut functions = vec![];
    let mut pending = vec![("public @main".to_owned(), func.clone())];
    let mut composites = 0;
    while let Some((name, func)) = pending.pop() {
        let mut writer = Writer { out: String::new(), temporaries: 0, composites, pending: vec![] };
        writer.function(&name, &func);
        composites = writer.composites;
        pending.append(&mut writer.pending);
        functions.push(writer.out);
    }
    format!("module {{\n{}}}\n", functions.concat())
}

/// Writes one function; composites that it meets wait in `pending`.
struct Writer {
    out: String,
    temporaries: usize,
    composites: usize,
    pending: Vec<(String, Func)>,
}

/// A value of the text with its type.
#[derive(Clone)]
struct Name {
    text: String,
    ty: TensorType,
}

impl Writer {
    fn function(&mut self, name: &str, func: &Func) {
        let named = |v: &Value| Name { text: format!("%v{}", v.0), ty: func.ty(*v).clone() };
        let params: Vec<String> =
            func.params.iter().map(named).map(|n| format!("{}: {}", n.text, tensor(&n.ty))).collect();
        let results: Vec<Name> = func.results.iter().map(named).collect();
        let types: Vec<String> = results.iter().map(|n| tensor(&n.ty)).collect();
        let _ = writeln!(self.out, "  func.func {name}({}) -> ({}) {{", params.join(", "), types.join(", "));
        for instr in &func.instrs {
            let operands: Vec<Name> = instr.operands.iter().map(named).collect();
            let outputs: Vec<Name> = instr.results.iter().map(named).collect();
            self.instruction(&instr.op, &operands, &outputs);
        }
        self.generic("func.return", &results, "", "", &[]);
        self.out.push_str("  }\n");
    }

    /// One operation in generic form. `attrs` are the properties, without braces.
    fn generic(&mut self, op: &str, x: &[Name], attrs: &str, region: &str, results: &[Name]) {
        let list = |names: &[Name]| {
            let each: Vec<&str> = names.iter().map(|n| n.text.as_str()).collect();
            each.join(", ")
        };
        let types = |names: &[Name]| {
            let each: Vec<String> = names.iter().map(|n| tensor(&n.ty)).collect();
            each.join(", ")
        };
        let equals = if results.is_empty() { "" } else { " = " };
        let properties = if attrs.is_empty() { String::new() } else { format!(" <{{{attrs}}}>") };
        let region = if region.is_empty() { String::new() } else { format!(" ({{\n{region}    }})") };
        let _ = writeln!(
            self.out,
            "    {}{equals}\"{op}\"({}){properties}{region} : ({}) -> ({})",
            list(results),
            list(x),
            types(x),
            types(results)
        );
    }

    /// A fresh name of a type.
    fn temporary(&mut self, ty: TensorType) -> Name {
        self.temporaries += 1;
        Name { text: format!("%t{}", self.temporaries), ty }
    }

    /// A private function that computes a composite; gives its symbol.
    fn decomposition(&mut self, c: &Composite, x: &[Name], results: &[Name]) -> String {
        let mut b = Builder::new(c.name());
        let params: Vec<Value> = x.iter().map(|n| b.param(n.ty.clone())).collect();
        let types: Vec<TensorType> = results.iter().map(|n| n.ty.clone()).collect();
        let values = c.decompose(&mut b, &params, &types).expect("a verified composite decomposes");
        self.composites += 1;
        let symbol = format!("@{}_{}", c.name(), self.composites);
        self.pending.push((format!("private {symbol}"), b.finish(&values)));
        symbol
    }
}

/// A type as MLIR writes it.
fn tensor(ty: &TensorType) -> String {
    let mut text = "tensor<".to_owned();
    for d in &ty.dims {
        let _ = write!(text, "{d}x");
    }
    text + ty.dtype.hlo_name() + ">"
}
