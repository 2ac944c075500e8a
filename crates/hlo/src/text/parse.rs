//! Reads our text form. Any text gives a verified function or an error, never a panic.

use std::collections::HashMap;

use smallvec::SmallVec;
use tnrs_types::{DType, Dims, Scalar};

use super::attr::{op_of, Attr, Read};
use super::lexer::{Lexer, Token};
use super::ParseError;
use crate::{Builder, Func, TensorType, Value};

/// Greatest number of elements of a type in text; sums and products of sizes stay far from overflow.
const MAX_ELEMENTS: i64 = 1 << 40;
/// Greatest rank of a type in text.
const MAX_RANK: usize = 32;

/// Reads one function.
pub fn parse(text: &str) -> Result<Func, ParseError> {
    let mut lexer = Lexer::new(text);
    let func = function(&mut lexer)?;
    match lexer.next() {
        Token::End => Ok(func),
        other => Err(lexer.error(format!("expected the end, found {other:?}"))),
    }
}

/// Reads a function and leaves what follows it.
pub fn function(l: &mut Lexer) -> Result<Func, ParseError> {
    l.keyword("func")?;
    let name = match l.next() {
        Token::Symbol(name) => name,
        other => return Err(l.error(format!("expected a function name, found {other:?}"))),
    };
    let mut b = Builder::new(name);
    let mut scope = HashMap::new();
    l.expect('(')?;
    while !l.accept(')') {
        let name = l.value()?;
        l.expect(':')?;
        let ty = tensor_type(l)?;
        let v = b.param(ty);
        define(l, &mut scope, name, v)?;
        if !l.accept(',') && l.peek() != Token::Punct(')') {
            return Err(l.error("expected ',' or ')'"));
        }
    }
    l.expect('{')?;
    loop {
        match l.peek() {
            Token::Value(_) => instruction(l, &mut b, &mut scope)?,
            _ => {
                l.keyword("return")?;
                let results = operands(l, &scope)?;
                l.expect('}')?;
                return Ok(b.finish(&results));
            }
        }
    }
}

type Scope<'a> = HashMap<&'a str, Value>;

fn define<'a>(l: &Lexer, scope: &mut Scope<'a>, name: &'a str, v: Value) -> Result<(), ParseError> {
    match scope.insert(name, v) {
        None => Ok(()),
        Some(_) => Err(l.error(format!("%{name} is defined twice"))),
    }
}

fn operands(l: &mut Lexer, scope: &Scope) -> Result<SmallVec<[Value; 4]>, ParseError> {
    let mut list = SmallVec::new();
    while let Token::Value(name) = l.peek() {
        l.next();
        let v = scope.get(name);
        list.push(*v.ok_or_else(|| l.error(format!("%{name} is not defined")))?);
        if !l.accept(',') {
            break;
        }
    }
    Ok(list)
}

fn instruction<'a>(l: &mut Lexer<'a>, b: &mut Builder, scope: &mut Scope<'a>) -> Result<(), ParseError> {
    let mut names: SmallVec<[&str; 2]> = SmallVec::new();
    names.push(l.value()?);
    while l.accept(',') {
        names.push(l.value()?);
    }
    l.expect('=')?;
    let mnemonic = l.word()?;
    let operands = operands(l, scope)?;
    let attrs = attributes(l)?;
    l.expect(':')?;
    let mut types: SmallVec<[TensorType; 2]> = SmallVec::new();
    types.push(tensor_type(l)?);
    while l.accept(',') {
        types.push(tensor_type(l)?);
    }
    if types.len() != names.len() {
        return Err(l.error(format!("{} results, {} types", names.len(), types.len())));
    }
    let op = op_of(mnemonic, Read(attrs), &types).map_err(|e| l.error(e))?;
    let results = b.add_op(op, &operands, &types).map_err(|e| l.error(e.to_string()))?;
    if results.len() != types.len() || results.iter().zip(&types).any(|(v, t)| b.ty(*v) != t) {
        let found: Vec<String> = results.iter().map(|v| b.ty(*v).to_string()).collect();
        return Err(l.error(format!("{mnemonic} gives {}", found.join(", "))));
    }
    for (name, v) in names.iter().zip(results) {
        define(l, scope, name, v)?;
    }
    Ok(())
}

fn attributes(l: &mut Lexer) -> Result<Vec<(String, Attr)>, ParseError> {
    let mut list = Vec::new();
    if !l.accept('{') {
        return Ok(list);
    }
    while !l.accept('}') {
        let name = l.word()?.to_owned();
        l.expect('=')?;
        list.push((name, attribute(l)?));
        if !l.accept(',') && l.peek() != Token::Punct('}') {
            return Err(l.error("expected ',' or '}'"));
        }
    }
    Ok(list)
}

/// A number, a list of numbers, or a name.
pub fn attribute(l: &mut Lexer) -> Result<Attr, ParseError> {
    match l.peek() {
        Token::Punct('[') => {
            l.next();
            let mut list = Vec::new();
            while !l.accept(']') {
                list.push(scalar(l)?);
                if !l.accept(',') && l.peek() != Token::Punct(']') {
                    return Err(l.error("expected ',' or ']'"));
                }
            }
            Ok(Attr::Many(list))
        }
        Token::Word(w) if number(w).is_none() => {
            l.next();
            Ok(Attr::Name(w.to_owned()))
        }
        _ => Ok(Attr::One(scalar(l)?)),
    }
}

fn scalar(l: &mut Lexer) -> Result<Scalar, ParseError> {
    if l.accept('(') {
        let re = scalar(l)?.to_f64();
        l.expect(',')?;
        let im = scalar(l)?.to_f64();
        l.expect(')')?;
        return Ok(Scalar::Complex(re, im));
    }
    let word = l.word()?;
    number(word).ok_or_else(|| l.error(format!("'{word}' is no number")))
}

fn number(word: &str) -> Option<Scalar> {
    if let Ok(b) = word.parse() {
        return Some(Scalar::Bool(b));
    }
    if let Ok(i) = word.parse() {
        return Some(Scalar::Int(i));
    }
    if let Ok(u) = word.parse() {
        return Some(Scalar::UInt(u));
    }
    if let Some(hex) = word.strip_prefix("0x") {
        let u = u64::from_str_radix(hex, 16).ok()?;
        return Some(i64::try_from(u).map_or(Scalar::UInt(u), Scalar::Int));
    }
    word.parse().ok().map(Scalar::Float)
}

/// A type such as `f32[2,3]`.
pub fn tensor_type(l: &mut Lexer) -> Result<TensorType, ParseError> {
    let name = l.word()?;
    let dtype = DType::ALL.iter().find(|d| d.hlo_name() == name);
    let dtype = *dtype.ok_or_else(|| l.error(format!("no element type is called '{name}'")))?;
    l.expect('[')?;
    let mut dims = Dims::new();
    let mut elements = 1i64;
    while !l.accept(']') {
        let size = l.word()?;
        let size: i64 = size.parse().map_err(|_| l.error(format!("'{size}' is no size")))?;
        let fits = (0..=1 << 31).contains(&size) && dims.len() < MAX_RANK;
        elements = elements.saturating_mul(size.max(1));
        if !fits || elements > MAX_ELEMENTS {
            return Err(l.error("the type is too large"));
        }
        dims.push(size);
        if !l.accept(',') && l.peek() != Token::Punct(']') {
            return Err(l.error("expected ',' or ']'"));
        }
    }
    Ok(TensorType { dtype, dims })
}
