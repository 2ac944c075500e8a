//! Random texts and random programs.

use tnrs_hlo::passes::{cse, dce, fold, inline_composites, simplify};
use tnrs_hlo::text::{case, parse, print};
use tnrs_hlo::{
    interpret, names, verify, Builder, CompareDir, Composite, DotDims, Func, HloError, Literal, ReduceKind,
    Scalar, TensorType, Value,
};
use tnrs_types::DType;

/// A small deterministic generator (Knuth's MMIX multiplier), so that a failure repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

#[test]
fn damaged_text_is_refused_or_valid_and_never_a_panic() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hlo/cases");
    let mut functions = vec![];
    for entry in std::fs::read_dir(folder).expect("the folder of cases") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("readable");
        let cases = case::parse(&text).expect("valid cases");
        functions.extend(cases.iter().map(|c| print(&c.func)));
    }
    let mut random = Random(1);
    let inserts = [b'0', b'9', b'-', b'%', b'[', b']', b',', b'{', b'}', b':', b' ', b'f', b'.'];
    let (mut refused, mut valid) = (0, 0);
    for round in 0..30_000 {
        let mut bytes = functions[round % functions.len()].clone().into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.pick(&inserts),
                1 => bytes.insert(at, random.pick(&inserts)),
                2 => drop(bytes.remove(at)),
                _ => {
                    let other = random.below(bytes.len());
                    bytes.swap(at, other);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match parse(&text) {
            Err(_) => refused += 1,
            Ok(func) => {
                valid += 1;
                verify(&func).unwrap_or_else(|e| panic!("{e}\n{text}"));
            }
        }
    }
    assert!(refused > 10_000 && valid > 100, "{refused} refused, {valid} valid");
}

/// A random instruction on values of the function; an error leaves the function as it was.
fn step(b: &mut Builder, values: &[Value], r: &mut Random) -> Result<Value, HloError> {
    let (x, y) = (r.pick(values), r.pick(values));
    let ty = b.ty(x).clone();
    let rank = ty.rank() as i64;
    match r.below(17) {
        0..=2 => b.unary(r.pick(names::UNARY).0, x),
        3..=5 => {
            let kind = r.pick(names::BINARY).0;
            b.binary(kind, x, y).or_else(|_| b.binary(kind, x, x))
        }
        6 => {
            let number = r.pick(&[0.0, -0.0, 1.0, -1.0, 2.5, f64::NAN, f64::INFINITY]);
            let c = b.splat_like(x, number)?;
            let kind = r.pick(names::BINARY).0;
            if r.below(2) == 0 {
                b.binary(kind, x, c)
            } else {
                b.binary(kind, c, x)
            }
        }
        7 => b.convert(x, r.pick(DType::ALL)),
        8 => {
            let mut perm: Vec<i64> = (0..rank).collect();
            for i in (1..perm.len()).rev() {
                perm.swap(i, r.below(i + 1));
            }
            b.transpose(x, &perm)
        }
        9 => {
            let sizes: &[i64] = r.pick(&[&[6][..], &[2, 3], &[3, 1, 2], &[1, 6], &[4], &[2, 2, 1]]);
            b.reshape(x, sizes)
        }
        10 => {
            let mut sizes = ty.dims.to_vec();
            sizes.insert(0, r.below(3) as i64);
            let sizes = if r.below(2) == 0 { sizes } else { ty.dims.to_vec() };
            b.broadcast_to(x, &sizes)
        }
        11 => {
            let start: Vec<i64> = ty.dims.iter().map(|&n| r.below(n as usize + 1) as i64).collect();
            let stride: Vec<i64> = ty.dims.iter().map(|_| 1 + r.below(2) as i64).collect();
            let start = if r.below(3) == 0 { vec![0; start.len()] } else { start };
            b.slice(x, &start, &ty.dims, &stride)
        }
        12 => {
            let kind = r.pick(names::REDUCE).0;
            let dims: Vec<i64> = (0..rank).filter(|_| r.below(2) == 0).collect();
            b.reduce(kind, x, &dims)
        }
        13 => {
            let dir = r.pick(&[CompareDir::Eq, CompareDir::Lt, CompareDir::Ge]);
            let p = b.compare(dir, x, x)?;
            b.select(p, x, y).or_else(|_| b.select(p, x, x))
        }
        14 => b.reverse(x, &(0..rank).filter(|_| r.below(2) == 0).collect::<Vec<_>>()),
        15 => {
            let dims = DotDims {
                lhs_contract: (0..rank).take(1).collect(),
                rhs_contract: (0..rank).take(1).collect(),
                ..DotDims::default()
            };
            b.dot_general(x, y, dims, ty.dtype)
        }
        _ => b.concatenate(&[x, y], 0).or_else(|_| {
            let cumulative = Composite::Cumulative { dim: 0, kind: ReduceKind::Maximum };
            Ok(b.composite(cumulative, &[x], &[ty])?[0])
        }),
    }
}

fn program(r: &mut Random) -> (Func, Vec<Literal>) {
    let mut b = Builder::new("random");
    let mut args = vec![];
    let mut values = vec![];
    for _ in 0..2 {
        let dtype =
            r.pick(&[DType::F32, DType::I32, DType::BF16, DType::Bool, DType::U8, DType::F64, DType::C64]);
        let ty = TensorType::new(dtype, r.pick(&[&[2, 3][..], &[6], &[2, 1, 3], &[]]));
        let numbers = [0.0, -0.0, 1.0, -2.5, 3.0, f64::NAN, f64::NEG_INFINITY, 100.0];
        let scalars: Vec<Scalar> = (0..ty.numel()).map(|_| Scalar::Float(r.pick(&numbers))).collect();
        values.push(b.param(ty.clone()));
        args.push(Literal::from_scalars(&ty, &scalars).expect("as many as elements"));
    }
    for _ in 0..14 {
        match step(&mut b, &values, r) {
            Ok(v) if b.ty(v).numel() < 200 && b.ty(v).rank() < 5 => values.push(v),
            _ => {}
        }
    }
    let results: Vec<Value> = (0..3).map(|_| values[values.len() - 1 - r.below(values.len())]).collect();
    let mut results = results;
    results.push(values[values.len() - 1]);
    (b.finish(&results), args)
}

/// Elements with every NaN alike, since a pass may keep one where arithmetic makes another.
fn bits(literals: &[Literal]) -> Vec<String> {
    literals.iter().map(|l| format!("{} {:?}", l.ty(), l.scalars())).collect()
}

#[test]
fn passes_keep_the_results_of_random_programs() {
    type Pass = (&'static str, fn(&mut Func));
    let passes: [Pass; 6] = [
        ("simplify", simplify),
        ("fold", fold),
        ("cse", cse),
        ("dce", dce),
        ("all", |f| {
            simplify(f);
            fold(f);
            cse(f);
            simplify(f);
            dce(f);
        }),
        ("inline", |f| *f = inline_composites(f, &|_, _, _| false).expect("composites decompose")),
    ];
    let (mut instructions, mut saved) = (0, 0);
    for seed in 0..3_000 {
        let (func, args) = program(&mut Random(seed));
        verify(&func).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let wanted = bits(&interpret(&func, &args));
        for (name, pass) in passes {
            let mut after = func.clone();
            pass(&mut after);
            let text = || format!("seed {seed}, {name}\n{}{}", print(&func), print(&after));
            verify(&after).unwrap_or_else(|e| panic!("{e}\n{}", text()));
            assert_eq!(bits(&interpret(&after, &args)), wanted, "{}", text());
            if name == "all" {
                instructions += func.instrs.len();
                saved += func.instrs.len() - after.instrs.len();
            }
        }
    }
    assert!(instructions > 20_000 && saved > 5_000, "{saved} of {instructions} saved");
}
