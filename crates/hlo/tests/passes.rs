//! Each pass by text: before and after. `dce` follows every pass, so that only what is used remains.

use tnrs_hlo::passes::{cse, dce, fold, inline_composites, simplify};
use tnrs_hlo::text::{parse, print};
use tnrs_hlo::{verify, Func};

/// The text with values numbered in order.
fn normal(func: &Func) -> String {
    print(&parse(&print(func)).expect("printed text reads back"))
}

/// Parameters and body lines make the function; the last line is the return.
fn function(params: &str, body: &str) -> Func {
    let text = format!("func @f({params}) {{\n{body}\n}}");
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn check(pass: impl Fn(&mut Func), params: &str, before: &str, after: &str) {
    let mut func = function(params, before);
    pass(&mut func);
    dce(&mut func);
    verify(&func).unwrap_or_else(|e| panic!("{e}\n{}", print(&func)));
    assert_eq!(normal(&func), normal(&function(params, after)), "from {before}");
}

/// The pass leaves the body as it is.
fn unchanged(pass: impl Fn(&mut Func), params: &str, body: &str) {
    check(pass, params, body, body);
}

#[test]
fn dce_removes_what_no_result_needs() {
    check(
        |_| {},
        "%x: f32[2]",
        "%0 = negate %x : f32[2] %1 = abs %0 : f32[2] %2 = sqrt %x : f32[2] return %2",
        "%2 = sqrt %x : f32[2] return %2",
    );
}

#[test]
fn dce_keeps_all_results_of_a_needed_instruction() {
    unchanged(
        |_| {},
        "%x: f32[2], %i: i32[2]",
        "%0, %1 = sort %x, %i {dim=0, descending=false} : f32[2], i32[2] return %1",
    );
}

#[test]
fn cse_merges_equal_instructions_and_their_users() {
    check(
        cse,
        "%x: f32[2]",
        "%0 = exponential %x : f32[2] %1 = exponential %x : f32[2] %2 = negate %0 : f32[2] \
         %3 = negate %1 : f32[2] %4 = add %2, %3 : f32[2] return %4",
        "%0 = exponential %x : f32[2] %2 = negate %0 : f32[2] %4 = add %2, %2 : f32[2] return %4",
    );
}

#[test]
fn cse_tells_attributes_types_and_zeros_apart() {
    unchanged(
        cse,
        "%x: f32[2,2]",
        "%0 = reduce %x {kind=add, dims=[0]} : f32[2] %1 = reduce %x {kind=add, dims=[1]} : f32[2] \
         %2 = convert %x : f64[2,2] %3 = convert %x : i32[2,2] \
         %4 = constant {value=0.0} : f32[2] %5 = constant {value=-0.0} : f32[2] return %0, %1, %2, %3, %4, %5",
    );
}

#[test]
fn fold_computes_constants() {
    check(
        fold,
        "%x: i32[2]",
        "%0 = constant {value=[1, 2]} : i32[2] %1 = constant {value=3} : i32[2] %2 = multiply %0, %1 : i32[2] \
         %3 = add %2, %x : i32[2] return %3",
        "%2 = constant {value=[3, 6]} : i32[2] %3 = add %2, %x : i32[2] return %3",
    );
}

#[test]
fn fold_keeps_splats_splat_at_any_size() {
    check(
        fold,
        "%x: f32[]",
        "%0 = constant {value=2.0} : f32[100000] %1 = negate %0 : f32[100000] %2 = convert %1 : i32[100000] return %2",
        "%2 = constant {value=-2} : i32[100000] return %2",
    );
}

#[test]
fn fold_leaves_large_results_and_composites() {
    unchanged(
        fold,
        "%x: f32[]",
        "%0 = constant {value=2.0} : f32[1] %1 = broadcast_in_dim %0 {dims=[0]} : f32[100000] \
         %2 = constant {value=1.0} : f32[2] %3 = composite.silu %2 : f32[2] return %1, %3",
    );
}

#[test]
fn simplify_drops_neutral_operands() {
    check(
        simplify,
        "%x: f32[2], %n: i32[2], %p: i1[2]",
        "%one = constant {value=1.0} : f32[2] %mz = constant {value=-0.0} : f32[2] %z = constant {value=0.0} : f32[2] \
         %0 = multiply %x, %one : f32[2] %1 = divide %0, %one : f32[2] %2 = add %mz, %1 : f32[2] \
         %3 = subtract %2, %z : f32[2] \
         %zi = constant {value=0} : i32[2] %4 = add %n, %zi : i32[2] %5 = xor %zi, %4 : i32[2] \
         %6 = shift_left %5, %zi : i32[2] \
         %t = constant {value=true} : i1[2] %7 = and %t, %p : i1[2] return %3, %6, %7",
        "return %x, %n, %p",
    );
}

#[test]
fn simplify_keeps_what_changes_nan_or_minus_zero() {
    unchanged(
        simplify,
        "%x: f32[2], %c: complex<f32>[2]",
        "%z = constant {value=0.0} : f32[2] %mz = constant {value=-0.0} : f32[2] %0 = add %x, %z : f32[2] \
         %1 = multiply %x, %z : f32[2] %2 = subtract %x, %mz : f32[2] %3 = subtract %x, %x : f32[2] \
         %one = constant {value=(1.0, 0.0)} : complex<f32>[2] %4 = multiply %c, %one : complex<f32>[2] \
         return %0, %1, %2, %3, %4",
    );
}

#[test]
fn simplify_absorbs_integer_zeros() {
    check(
        simplify,
        "%n: i32[2]",
        "%z = constant {value=0} : i32[2] %0 = multiply %n, %z : i32[2] %1 = and %z, %n : i32[2] return %0, %1",
        "%z = constant {value=0} : i32[2] return %z, %z",
    );
}

#[test]
fn simplify_undoes_pairs() {
    check(
        simplify,
        "%x: f32[2], %p: i1[2], %y: f32[2]",
        "%0 = negate %x : f32[2] %1 = negate %0 : f32[2] %2 = not %p : i1[2] %3 = not %2 : i1[2] \
         %4 = abs %x : f32[2] %5 = abs %4 : f32[2] %6 = complex %x, %y : complex<f32>[2] %7 = imag %6 : f32[2] \
         %8 = maximum %x, %x : f32[2] return %1, %3, %5, %7, %8",
        "%4 = abs %x : f32[2] return %x, %p, %4, %y, %x",
    );
}

#[test]
fn simplify_decides_selects() {
    check(
        simplify,
        "%p: i1[2], %x: f32[2], %y: f32[2]",
        "%t = constant {value=true} : i1[] %0 = select %t, %x, %y : f32[2] %1 = select %p, %y, %y : f32[2] return %0, %1",
        "return %x, %y",
    );
}

#[test]
fn simplify_drops_reductions_of_single_elements_except_float_sums() {
    check(
        simplify,
        "%x: f32[2,1]",
        "%0 = reduce %x {kind=maximum, dims=[1]} : f32[2] %1 = reduce %x {kind=add, dims=[1]} : f32[2] return %0, %1",
        "%0 = reshape %x : f32[2] %1 = reduce %x {kind=add, dims=[1]} : f32[2] return %0, %1",
    );
}

#[test]
fn simplify_shortens_exact_conversions() {
    check(
        simplify,
        "%x: bf16[2], %n: i8[2]",
        "%0 = convert %x : f32[2] %1 = convert %0 : bf16[2] %2 = convert %0 : f64[2] %3 = convert %n : i32[2] \
         %4 = convert %3 : ui8[2] return %1, %2, %4",
        "%2 = convert %x : f64[2] %4 = convert %n : ui8[2] return %x, %2, %4",
    );
}

#[test]
fn simplify_keeps_conversions_that_round_or_saturate() {
    unchanged(
        simplify,
        "%x: f32[2], %n: i16[2]",
        "%0 = convert %x : bf16[2] %1 = convert %0 : f32[2] %2 = convert %n : f32[2] %3 = convert %2 : ui8[2] return %1, %3",
    );
}

#[test]
fn simplify_composes_transposes() {
    check(
        simplify,
        "%x: f32[2,3,4]",
        "%0 = transpose %x {perm=[2,0,1]} : f32[4,2,3] %1 = transpose %0 {perm=[1,2,0]} : f32[2,3,4] \
         %2 = transpose %0 {perm=[2,0,1]} : f32[3,4,2] return %1, %2",
        "%2 = transpose %x {perm=[1,2,0]} : f32[3,4,2] return %x, %2",
    );
}

#[test]
fn simplify_makes_transposes_of_single_dims_reshapes() {
    check(
        simplify,
        "%x: f32[2,1,4]",
        "%0 = transpose %x {perm=[1,0,2]} : f32[1,2,4] %1 = reshape %0 : f32[8] return %1",
        "%1 = reshape %x : f32[8] return %1",
    );
}

#[test]
fn simplify_composes_broadcasts_and_resizes_splats() {
    check(
        simplify,
        "%x: f32[2]",
        "%0 = broadcast_in_dim %x {dims=[1]} : f32[3,2] %1 = broadcast_in_dim %0 {dims=[0,2]} : f32[3,4,2] \
         %2 = transpose %1 {perm=[2,1,0]} : f32[2,4,3] \
         %3 = constant {value=5.0} : f32[] %4 = broadcast_in_dim %3 {dims=[]} : f32[3] %5 = reshape %4 : f32[1,3] \
         %6 = broadcast_in_dim %x {dims=[1]} : f32[1,2] return %2, %5, %6",
        "%2 = broadcast_in_dim %x {dims=[0]} : f32[2,4,3] %5 = constant {value=5.0} : f32[1,3] \
         %6 = reshape %x : f32[1,2] return %2, %5, %6",
    );
}

#[test]
fn simplify_composes_slices() {
    check(
        simplify,
        "%x: f32[20]",
        "%0 = slice %x {start=[2], limit=[19], stride=[3]} : f32[6] %1 = slice %0 {start=[1], limit=[6], stride=[2]} : f32[3] \
         %2 = slice %x {start=[0], limit=[20], stride=[1]} : f32[20] return %1, %2",
        "%1 = slice %x {start=[5], limit=[18], stride=[6]} : f32[3] return %1, %x",
    );
}

#[test]
fn simplify_drops_empty_moves() {
    check(
        simplify,
        "%x: f32[2,1], %e: f32[0,1], %v: f32[]",
        "%0 = pad %x, %v {low=[0,0], high=[0,0], interior=[0,0]} : f32[2,1] %1 = reverse %0 {dims=[1]} : f32[2,1] \
         %2 = concatenate %1, %e {dim=0} : f32[2,1] %3 = reverse %2 {dims=[0]} : f32[2,1] \
         %4 = reverse %3 {dims=[0]} : f32[2,1] return %4",
        "return %x",
    );
}

#[test]
fn simplify_puts_transposes_into_dot_general() {
    check(
        simplify,
        "%x: f32[3,2], %y: f32[5,4,3]",
        "%0 = transpose %x {perm=[1,0]} : f32[2,3] %1 = transpose %y {perm=[2,0,1]} : f32[3,5,4] \
         %2 = dot_general %0, %1 {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]} : f32[2,5,4] return %2",
        "%2 = dot_general %x, %y {lhs_batch=[], rhs_batch=[], lhs_contract=[0], rhs_contract=[2]} : f32[2,5,4] return %2",
    );
}

#[test]
fn simplify_keeps_a_transpose_that_reorders_free_dims() {
    unchanged(
        simplify,
        "%x: f32[3], %y: f32[5,4,3]",
        "%1 = transpose %y {perm=[2,1,0]} : f32[3,4,5] \
         %2 = dot_general %x, %1 {lhs_batch=[], rhs_batch=[], lhs_contract=[0], rhs_contract=[0]} : f32[4,5] return %2",
    );
}

#[test]
fn inline_composites_replaces_those_that_are_not_kept() {
    let func = function(
        "%x: f32[2]",
        "%0 = composite.silu %x : f32[2] %1 = composite.softmax %0 {dim=0, log=false} : f32[2] return %1",
    );
    let inlined = inline_composites(&func, &|_, _, c| c.name() == "softmax").unwrap();
    verify(&inlined).expect("inlining keeps functions valid");
    let wanted = function(
        "%x: f32[2]",
        "%0 = logistic %x : f32[2] %1 = multiply %x, %0 : f32[2] \
         %2 = composite.softmax %1 {dim=0, log=false} : f32[2] return %2",
    );
    assert_eq!(normal(&inlined), normal(&wanted));
}

#[test]
fn inline_composites_reaches_those_inside_a_decomposition() {
    let func = function(
        "%q: f32[1,1,2,2], %s: ui64[], %o: ui64[]",
        "%0, %1 = composite.sdpa %q, %q, %q, %s, %o {scale=1.0, causal=false, bias=false, dropout=0.5} : f32[1,1,2,2], f32[1,1,2] \
         return %0, %1",
    );
    let inlined = inline_composites(&func, &|_, _, _| false).unwrap();
    assert!(!print(&inlined).contains("composite"));
    assert!(print(&inline_composites(&func, &|_, _, c| c.name() == "philox").unwrap())
        .contains("composite.philox"));
}
