//! Every labelled constraint refuses a program that violates it and nothing before it. A test is named by its label.

use tnrs_hlo::text::parse;
use tnrs_hlo::{verify, Func, HloError, Instr, Op, TensorType, UnaryKind, Value};
use tnrs_types::DType;

macro_rules! refuses {
    ($($label:ident: $params:literal, $body:literal;)*) => {
        $(
            #[test]
            fn $label() {
                let text = format!("func @f({}) {{ {} return %0 }}", $params, $body);
                let error = parse(&text).expect_err("the constraint must refuse this").to_string();
                let wanted = concat!("constraint ", stringify!($label), " does not hold");
                assert!(error.contains(wanted), "{error}");
            }
        )*
        /// Labels that have a test by [`refuses`].
        const LABELS: &[&str] = &[$(stringify!($label),)*];
    };
}

refuses! {
    add_c1: "%x: f32[2], %y: f32[3]", "%0 = add %x, %y : f32[1]";
    and_c1: "%x: i32[2], %y: i64[2]", "%0 = and %x, %y : f32[1]";
    atan2_c1: "%x: f32[2], %y: f32[]", "%0 = atan2 %x, %y : f32[1]";
    complex_c1: "%x: f32[2], %y: f64[2]", "%0 = complex %x, %y : f32[1]";
    divide_c1: "%x: f32[2], %y: f32[1]", "%0 = divide %x, %y : f32[1]";
    maximum_c1: "%x: f32[2], %y: i32[2]", "%0 = maximum %x, %y : f32[1]";
    minimum_c1: "%x: f32[2], %y: f32[2,1]", "%0 = minimum %x, %y : f32[1]";
    multiply_c1: "%x: f32[2], %y: bf16[2]", "%0 = multiply %x, %y : f32[1]";
    or_c1: "%x: i1[2], %y: i8[2]", "%0 = or %x, %y : f32[1]";
    power_c1: "%x: f32[2], %y: f32[3]", "%0 = power %x, %y : f32[1]";
    remainder_c1: "%x: f32[2], %y: f32[3]", "%0 = remainder %x, %y : f32[1]";
    shift_left_c1: "%x: i32[2], %y: i8[2]", "%0 = shift_left %x, %y : f32[1]";
    shift_right_arithmetic_c1: "%x: i32[2], %y: i8[2]", "%0 = shift_right_arithmetic %x, %y : f32[1]";
    shift_right_logical_c1: "%x: i32[2], %y: i8[2]", "%0 = shift_right_logical %x, %y : f32[1]";
    subtract_c1: "%x: f32[2], %y: f32[3]", "%0 = subtract %x, %y : f32[1]";
    xor_c1: "%x: i32[2], %y: i32[3]", "%0 = xor %x, %y : f32[1]";
    fft_c1: "%x: complex<f32>[4]", "%0 = fft %x {kind=FFT, length=[4, 4]} : f32[1]";
    fft_c2: "%x: f32[4]", "%0 = fft %x {kind=FFT, length=[4]} : f32[1]";
    fft_c3: "%x: complex<f32>[1,1,1,1]", "%0 = fft %x {kind=FFT, length=[1, 1, 1, 1]} : f32[1]";
    fft_c4: "%x: f32[2,4]", "%0 = fft %x {kind=RFFT, length=[3]} : f32[1]";
    fft_c5: "%x: complex<f32>[2,4]", "%0 = fft %x {kind=IRFFT, length=[4]} : f32[1]";
    compare_c1: "%x: f32[2], %y: i32[2]", "%0 = compare %x, %y {direction=EQ} : f32[1]";
    compare_c2: "%x: f32[2], %y: f32[3]", "%0 = compare %x, %y {direction=EQ} : f32[1]";
    compare_c3: "%x: complex<f32>[2]", "%0 = compare %x, %x {direction=LT} : f32[1]";
    select_c1: "%p: i1[3], %x: f32[2]", "%0 = select %p, %x, %x : f32[1]";
    select_c2: "%p: i1[2], %x: f32[2], %y: f64[2]", "%0 = select %p, %x, %y : f32[1]";
    clamp_c1: "%a: f32[3], %x: f32[2], %b: f32[]", "%0 = clamp %a, %x, %b : f32[1]";
    clamp_c2: "%a: f32[], %x: f32[2], %b: f32[3]", "%0 = clamp %a, %x, %b : f32[1]";
    clamp_c3: "%a: f64[], %x: f32[2], %b: f32[]", "%0 = clamp %a, %x, %b : f32[1]";
    transpose_c2: "%x: f32[2,2]", "%0 = transpose %x {perm=[0,0]} : f32[1]";
    slice_c2: "%x: f32[2]", "%0 = slice %x {start=[0,0], limit=[2], stride=[1]} : f32[1]";
    slice_c3: "%x: f32[2]", "%0 = slice %x {start=[0], limit=[3], stride=[1]} : f32[1]";
    slice_c4: "%x: f32[2]", "%0 = slice %x {start=[0], limit=[2], stride=[0]} : f32[1]";
    dynamic_update_slice_c2: "%x: f32[2], %u: f64[1], %i: i32[]", "%0 = dynamic_update_slice %x, %u, %i : f32[1]";
    dynamic_update_slice_c3: "%x: f32[2], %u: f32[1,1], %i: i32[]", "%0 = dynamic_update_slice %x, %u, %i : f32[1]";
    dynamic_update_slice_c4: "%x: f32[2], %u: f32[1], %i: i32[]", "%0 = dynamic_update_slice %x, %u, %i, %i : f32[1]";
    dynamic_update_slice_c5: "%x: f32[2], %u: f32[1], %i: f32[]", "%0 = dynamic_update_slice %x, %u, %i : f32[1]";
    dynamic_update_slice_c6: "%x: f32[2], %u: f32[3], %i: i32[]", "%0 = dynamic_update_slice %x, %u, %i : f32[1]";
    pad_c1: "%x: f32[2], %v: f64[]", "%0 = pad %x, %v {low=[0], high=[0], interior=[0]} : f32[1]";
    pad_c2: "%x: f32[2], %v: f32[]", "%0 = pad %x, %v {low=[0,0], high=[0], interior=[0]} : f32[1]";
    pad_c3: "%x: f32[2], %v: f32[]", "%0 = pad %x, %v {low=[0], high=[0], interior=[-1]} : f32[1]";
    pad_c4: "%x: f32[2], %v: f32[]", "%0 = pad %x, %v {low=[-2], high=[-1], interior=[0]} : f32[1]";
    concatenate_c1: "%x: f32[2], %y: f64[2]", "%0 = concatenate %x, %y {dim=0} : f32[1]";
    concatenate_c2: "%x: f32[2,2], %y: f32[2,3]", "%0 = concatenate %x, %y {dim=0} : f32[1]";
    concatenate_c3: "", "%0 = concatenate {dim=0} : f32[1]";
    concatenate_c4: "%x: f32[2]", "%0 = concatenate %x {dim=1} : f32[1]";
    reverse_c2: "%x: f32[2]", "%0 = reverse %x {dims=[0,0]} : f32[1]";
    reverse_c3: "%x: f32[2]", "%0 = reverse %x {dims=[-1]} : f32[1]";
    dot_general_c1: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[0], rhs_batch=[], lhs_contract=[1], rhs_contract=[1]} : f32[1]";
    dot_general_c2: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[]} : f32[1]";
    dot_general_c3: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[1], rhs_batch=[0], lhs_contract=[1], rhs_contract=[1]} : f32[1]";
    dot_general_c4: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[0], rhs_batch=[1], lhs_contract=[1], rhs_contract=[1]} : f32[1]";
    dot_general_c5: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[2], rhs_batch=[0], lhs_contract=[1], rhs_contract=[1]} : f32[1]";
    dot_general_c6: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[], rhs_batch=[], lhs_contract=[2], rhs_contract=[1]} : f32[1]";
    dot_general_c7: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[0], rhs_batch=[2], lhs_contract=[1], rhs_contract=[1]} : f32[1]";
    dot_general_c8: "%x: f32[2,2]", "%0 = dot_general %x, %x {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[-1]} : f32[1]";
    dot_general_c9: "%x: f32[2,3]", "%0 = dot_general %x, %x {lhs_batch=[0], rhs_batch=[1], lhs_contract=[], rhs_contract=[]} : f32[1]";
    dot_general_c10: "%x: f32[2,3]", "%0 = dot_general %x, %x {lhs_batch=[], rhs_batch=[], lhs_contract=[0], rhs_contract=[1]} : f32[1]";
    convolution_c1: "%x: f32[1,1,3], %w: f32[1,1]", "%0 = convolution %x, %w {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c2: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1,1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c3: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[0], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c4: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0,0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c5: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c6: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[0], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c7: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c8: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[-1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c9: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c10: "%x: f32[3,1,3], %w: f32[2,1,1]", "%0 = convolution %x, %w {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=2} : f32[1]";
    convolution_c11: "%x: f32[1,3,3], %w: f32[2,1,1]", "%0 = convolution %x, %w {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=2, batch_groups=1} : f32[1]";
    convolution_c12: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c13: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,1], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c14: "%x: f32[1,2,3], %w: f32[1,1,3]", "%0 = convolution %x, %w {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c15: "%x: f32[2,1,3], %w: f32[3,1,1]", "%0 = convolution %x, %w {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=2} : f32[1]";
    convolution_c16: "%x: f32[1,2,3], %w: f32[3,1,1]", "%0 = convolution %x, %w {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=2, batch_groups=1} : f32[1]";
    convolution_c17: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c18: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,3], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c19: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c20: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,0,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1]";
    convolution_c21: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=0, batch_groups=1} : f32[1]";
    convolution_c22: "%x: f32[1,1,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=0} : f32[1]";
    convolution_c23: "%x: f32[2,2,3]", "%0 = convolution %x, %x {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=2, batch_groups=2} : f32[1]";
    reduce_c4: "%x: f32[2]", "%0 = reduce %x {kind=add, dims=[1]} : f32[1]";
    reduce_c5: "%x: f32[2]", "%0 = reduce %x {kind=add, dims=[0,0]} : f32[1]";
    reduce_c6: "%x: f32[2]", "%0 = reduce %x {kind=xor, dims=[0]} : f32[1]";
    sort_c1: "", "%0 = sort {dim=0, descending=false} : f32[1]";
    sort_c3: "%x: f32[2], %y: f32[3]", "%0 = sort %x, %y {dim=0, descending=false} : f32[1]";
    sort_c4: "%x: f32[2]", "%0 = sort %x {dim=1, descending=false} : f32[1]";
    sort_c5: "%x: complex<f32>[2]", "%0 = sort %x {dim=0, descending=false} : f32[1]";
    gather_c1: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c2: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=2, slice_sizes=[1,2]} : f32[1]";
    gather_i2: "%x: f32[3,2], %i: f32[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c3: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0,1], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c4: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[2,1], collapsed_slice_dims=[], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c5: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[2], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c6: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[], collapsed_slice_dims=[0,0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,1]} : f32[1]";
    gather_c7: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[], collapsed_slice_dims=[1,0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,1]} : f32[1]";
    gather_c8: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[2], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c9: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[2,2]} : f32[1]";
    gather_c18: "%x: f32[3,2], %i: i64[2,2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0,0], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c19: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[2], index_vector_dim=1, slice_sizes=[1,2]} : f32[1]";
    gather_c20: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1]} : f32[1]";
    gather_c21: "%x: f32[3,2], %i: i64[2]", "%0 = gather %x, %i {offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,3]} : f32[1]";
    scatter_c2: "%x: f32[3,2], %i: i64[2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_i2: "%x: f32[3,2], %i: f32[2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c4: "%x: f32[3,2], %i: i64[2], %u: f32[3,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c6: "%x: f32[3,2], %i: i64[2], %u: f64[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c7: "%x: f32[3,2], %i: i64[2], %u: f32[2,2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[2,1], inserted_window_dims=[], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c8: "%x: f32[3,2], %i: i64[2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[2], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c9: "%x: f32[3,2], %i: i64[2], %u: f32[2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[], inserted_window_dims=[0,0], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c10: "%x: f32[3,2], %i: i64[2], %u: f32[2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[], inserted_window_dims=[1,0], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c11: "%x: f32[3,2], %i: i64[2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[2], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    scatter_c19: "%x: f32[3,2], %i: i64[2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0,1], index_vector_dim=1} : f32[1]";
    scatter_c20: "%x: f32[3,2], %i: i64[2,2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0,0], index_vector_dim=1} : f32[1]";
    scatter_c21: "%x: f32[3,2], %i: i64[2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[2], index_vector_dim=1} : f32[1]";
    scatter_c22: "%x: f32[3,2], %i: i64[2], %u: f32[2,2]", "%0 = scatter %x, %i, %u {kind=add, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=2} : f32[1]";
    scatter_c23: "%x: complex<f32>[3], %i: i64[2,1], %u: complex<f32>[2]", "%0 = scatter %x, %i, %u {kind=maximum, update_window_dims=[], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1} : f32[1]";
    iota_c1: "", "%0 = iota {dim=1} : f32[2]";
    convert_c1: "%x: f32[2]", "%0 = convert %x : f64[3]";
    bitcast_convert_c1: "%x: f32[2]", "%0 = bitcast_convert %x : i16[2]";
    bitcast_convert_c2: "%x: f64[2]", "%0 = bitcast_convert %x : complex<f32>[2]";
    broadcast_in_dim_c1: "%x: f32[2]", "%0 = broadcast_in_dim %x {dims=[0]} : f64[2]";
    broadcast_in_dim_c2: "%x: f32[2]", "%0 = broadcast_in_dim %x {dims=[0,1]} : f32[2,2]";
    broadcast_in_dim_c3: "%x: f32[2]", "%0 = broadcast_in_dim %x {dims=[2]} : f32[2,2]";
    broadcast_in_dim_c4: "%x: f32[2,2]", "%0 = broadcast_in_dim %x {dims=[0,0]} : f32[2,2]";
    broadcast_in_dim_c5: "%x: f32[2]", "%0 = broadcast_in_dim %x {dims=[0]} : f32[3,2]";
    reshape_c1: "%x: f32[2]", "%0 = reshape %x : f64[2]";
    reshape_c2: "%x: f32[2]", "%0 = reshape %x : f32[3]";
    dynamic_slice_c1: "%x: f32[2], %i: i32[]", "%0 = dynamic_slice %x, %i : f64[1]";
    dynamic_slice_c2: "%x: f32[2], %i: i32[]", "%0 = dynamic_slice %x, %i, %i : f32[1]";
    dynamic_slice_c3: "%x: f32[2,2], %i: i32[], %j: i64[]", "%0 = dynamic_slice %x, %i, %j : f32[1,1]";
    dynamic_slice_c4: "%x: f32[2], %i: i32[]", "%0 = dynamic_slice %x, %i : f32[3]";
    dot_general_c13: "%x: f32[2,2], %y: f64[2,2]",
        "%0 = dot_general %x, %y {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]} : f32[2,2]";
    convolution_c27: "%x: f32[1,1,3], %w: f64[1,1,3]",
        "%0 = convolution %x, %w {input=[0,1,2], kernel=[1,0,2], output=[0,1,2], strides=[1], low=[0], high=[0], lhs_dilation=[1], rhs_dilation=[1], reversal=[false], feature_groups=1, batch_groups=1} : f32[1,1,1]";
    composite_c1: "%x: i32[2]", "%0 = composite.silu %x : i32[2]";
    composite_c2: "%x: f32[2], %y: f32[3]", "%0 = composite.silu_grad %x, %y : f32[2]";
    composite_c3: "%x: f32[2]", "%0 = composite.silu %x : f32[3]";
}

fn label_of(error: HloError) -> &'static str {
    match error {
        HloError::Constraint { label, .. } => label,
        other => panic!("{other}"),
    }
}

#[test]
fn constant_c1() {
    let ty = TensorType::new(DType::F32, &[2]);
    let literal = tnrs_hlo::Literal::Dense(ty, vec![0; 7].into());
    let error = tnrs_hlo::Builder::new("f").constant(literal);
    assert_eq!(label_of(error.expect_err("7 bytes")), "constant_c1");
}

/// `negate` of value 0 into value 1, twice.
fn two_negations(first: [u32; 2], second: [u32; 2]) -> Func {
    let instr = |[from, to]: [u32; 2]| Instr {
        op: Op::Unary(UnaryKind::Negate),
        operands: [Value(from)].into_iter().collect(),
        results: [Value(to)].into_iter().collect(),
    };
    Func {
        name: "f".into(),
        types: vec![TensorType::new(DType::F32, &[2]); 3],
        params: vec![Value(0)],
        instrs: vec![instr(first), instr(second)],
        results: vec![Value(2)],
    }
}

#[test]
fn func_ssa() {
    assert_eq!(verify(&two_negations([0, 1], [1, 2])), Ok(()));
    for (first, second) in
        [([0, 1], [0, 1]), ([2, 1], [1, 2]), ([0, 0], [0, 2]), ([0, 9], [0, 2]), ([9, 1], [1, 2])]
    {
        let error = verify(&two_negations(first, second));
        assert_eq!(label_of(error.expect_err("not in SSA form")), "func_ssa");
    }
}

#[test]
fn result_type() {
    let mut func = two_negations([0, 1], [1, 2]);
    func.types[2] = TensorType::new(DType::F64, &[2]);
    assert_eq!(label_of(verify(&func).expect_err("f64")), "result_type");
}

#[test]
fn operands_and_results_are_counted() {
    let mut func = two_negations([0, 1], [1, 2]);
    func.instrs[0].operands.push(Value(0));
    assert_eq!(label_of(verify(&func).expect_err("two operands")), "operands");
    let mut b = tnrs_hlo::Builder::new("f");
    let error = b.add_op(Op::Iota { dim: 0 }, &[], &[]);
    assert_eq!(label_of(error.expect_err("no type")), "results");
}

#[test]
fn element_types_without_the_function_are_refused() {
    for text in [
        "func @f(%x: i32[2]) { %0 = sqrt %x : i32[2] return %0 }",
        "func @f(%x: i1[2]) { %0 = subtract %x, %x : i1[2] return %0 }",
        "func @f(%x: f32[2]) { %0 = and %x, %x : f32[2] return %0 }",
        "func @f(%x: complex<f32>[2]) { %0 = maximum %x, %x : complex<f32>[2] return %0 }",
        "func @f(%x: ui8[2]) { %0 = abs %x : ui8[2] return %0 }",
        "func @f(%x: f32[2]) { %0 = popcnt %x : f32[2] return %0 }",
    ] {
        let error = parse(text).expect_err("unsupported").to_string();
        assert!(error.contains("is not supported for"), "{error}");
    }
}

#[test]
fn every_label_in_the_source_has_a_test() {
    let mut missing = vec![];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/infer");
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("readable");
        for word in text.split('"').skip(1).step_by(2) {
            let constraint = word.rsplit_once("_c").or_else(|| word.rsplit_once("_i"));
            let is_label = constraint.is_some_and(|(_, n)| n.parse::<u32>().is_ok());
            let known = LABELS.contains(&word);
            if is_label && !known && word != "constant_c1" {
                missing.push(word.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
