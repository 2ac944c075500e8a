//! Text cases: a function with arguments and the results that every executor must give.
//!
//! After a function, each `args` starts a run and each `want` ends it. A list fills a tensor in row-major order, a
//! number fills it whole:
//! ```text
//! func @add(%x: f32[2], %y: f32[2]) {
//!   %0 = add %x, %y : f32[2]
//!   return %0
//! }
//! args [1, 2] 0.5
//! want [1.5, 2.5]
//! ```

use super::attr::Attr;
use super::lexer::{Lexer, Token};
use super::parse::{attribute, function};
use super::ParseError;
use crate::{Func, Literal, TensorType};

/// One function with its runs.
#[derive(Clone, Debug)]
pub struct Case {
    /// The function; its name is the case's.
    pub func: Func,
    /// Arguments and wanted results of each run.
    pub runs: Vec<(Vec<Literal>, Vec<Literal>)>,
}

/// Reads all cases of a file.
pub fn parse(text: &str) -> Result<Vec<Case>, ParseError> {
    let mut l = Lexer::new(text);
    let mut cases = Vec::new();
    while l.peek() != Token::End {
        let func = function(&mut l)?;
        let params: Vec<TensorType> = func.params.iter().map(|v| func.ty(*v).clone()).collect();
        let results: Vec<TensorType> = func.results.iter().map(|v| func.ty(*v).clone()).collect();
        let mut runs = Vec::new();
        while l.peek() == Token::Word("args") {
            l.next();
            let args = literals(&mut l, &params)?;
            l.keyword("want")?;
            runs.push((args, literals(&mut l, &results)?));
        }
        if runs.is_empty() {
            return Err(l.error(format!("case {} has no run", func.name)));
        }
        cases.push(Case { func, runs });
    }
    Ok(cases)
}

fn literals(l: &mut Lexer, types: &[TensorType]) -> Result<Vec<Literal>, ParseError> {
    let mut list = Vec::new();
    for ty in types {
        list.push(match attribute(l)? {
            Attr::One(s) => Literal::Splat(ty.clone(), s).to_dense(),
            Attr::Many(each) => Literal::from_scalars(ty, &each)
                .ok_or_else(|| l.error(format!("{} elements for {ty}", each.len())))?,
            Attr::Name(n) => return Err(l.error(format!("'{n}' is no tensor"))),
        });
    }
    Ok(list)
}
