//! Special functions: modified Bessel functions of the first kind, scaled erfc, zeta, polygamma, incomplete gamma.
//!
//! The tables are Chebyshev coefficients (of T₀, T₁, …) of the function named above each, computed from its values at
//! the Chebyshev nodes with 40 digits and cut where they fall below the precision of f64.

use std::f64::consts::FRAC_1_SQRT_2;

use tnrs_types::{DType, Scalar};

use crate::helpers::{apply, map, Domain, Lowered};
use crate::rules::unary;
use crate::{Ctx, Expr, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::i0", |cx| map(cx, [0], Domain::Float, |[x]| i0e(x) * x.abs().exp())),
    Row::new("aten::special_modified_bessel_i0", |cx| {
        map(cx, [0], Domain::Float, |[x]| i0e(x) * x.abs().exp())
    }),
    Row::new("aten::special_i0e", |cx| map(cx, [0], Domain::Float, |[x]| i0e(x))),
    Row::new("aten::special_i1", |cx| map(cx, [0], Domain::Float, |[x]| i1e(x) * x.abs().exp())),
    Row::new("aten::special_modified_bessel_i1", |cx| {
        map(cx, [0], Domain::Float, |[x]| i1e(x) * x.abs().exp())
    }),
    Row::new("aten::special_i1e", |cx| map(cx, [0], Domain::Float, |[x]| i1e(x))),
    Row::new("aten::special_erfcx", |cx| map(cx, [0], Domain::Float, |[x]| erfcx(x))),
    Row::new("aten::special_log_ndtr", |cx| map(cx, [0], Domain::Float, |[x]| log_ndtr(x))),
    Row::new("aten::special_zeta", |cx| {
        map(cx, [0, 1], Domain::Float, |[s, q]| s.math().elementwise("zeta", &[], &[s, q]))
    }),
    Row::new("aten::polygamma", polygamma),
    // PyTorch has no meta kernel for it.
    Row::new("aten::mvlgamma", mvlgamma).infer_by_rule(),
    Row::new("aten::igamma", |cx| {
        map(cx, [0, 1], Domain::Float, |[a, x]| a.math().elementwise("igamma", &[], &[a, x]))
    }),
    Row::new("aten::igammac", |cx| {
        map(cx, [0, 1], Domain::Float, |[a, x]| a.math().elementwise("igammac", &[], &[a, x]))
    }),
];

/// Clenshaw's recurrence: Σ cₖ Tₖ(t), without the last coefficients where the type does not hold what they add.
pub(super) fn chebyshev<'m>(t: Expr<'m>, coefficients: &[f64]) -> Expr<'m> {
    let least = if t.dtype() == DType::F64 { 0.0 } else { 1e-10 * coefficients[0].abs() };
    let count = coefficients.iter().rposition(|c| c.abs() > least).unwrap_or(0);
    let (zero, twice) = (t.int(0), t + t);
    let (mut b1, mut b2) = (zero, zero);
    for &c in coefficients[1..=count].iter().rev() {
        (b1, b2) = (twice * b1 - (b2 - c), b1);
    }
    t * b1 - (b2 - coefficients[0])
}

/// e⁻|x| I₀(x).
pub(super) fn i0e(x: Expr<'_>) -> Expr<'_> {
    let a = x.abs();
    let near = chebyshev(a / 4.0 - 1.0, &I0_NEAR);
    let far = chebyshev(16.0 / a.max(8.0) - 1.0, &I0_FAR) / a.sqrt();
    a.le(8.0).select(near, far)
}

/// e⁻|x| I₁(x).
pub(super) fn i1e(x: Expr<'_>) -> Expr<'_> {
    let a = x.abs();
    let near = x * chebyshev(a / 4.0 - 1.0, &I1_NEAR);
    let far = chebyshev(16.0 / a.max(8.0) - 1.0, &I1_FAR) / a.sqrt();
    a.le(8.0).select(near, x.lt(0.0).select(-far, far))
}

/// eˣ² erfc(x), by erfcx(−x) = 2eˣ² − erfcx(x) below 0.
fn erfcx(x: Expr<'_>) -> Expr<'_> {
    let a = x.abs();
    let t = a.is_inf().select(1.0, (a - 4.0) / (a + 4.0));
    let positive = chebyshev(t, &ERFCX) / (a + 1.0);
    x.lt(0.0).select((x * x).exp() * 2.0 - positive, positive)
}

/// ln Φ(x), below −1 through erfcx, where Φ itself would underflow.
fn log_ndtr(x: Expr<'_>) -> Expr<'_> {
    let t = x * FRAC_1_SQRT_2;
    let tail = (erfcx(-t) * 0.5).log() - t * t;
    let general = (-(t.erfc() * 0.5)).log1p();
    x.lt(-1.0).select(tail, general)
}

/// The n-th derivative of digamma.
fn polygamma(cx: &mut Ctx) -> Lowered {
    let n = cx.int(0)?;
    if n < 0 {
        return Err(crate::LowerError::runtime("polygamma(n, x) does not support negative n."));
    }
    let v = apply(cx, [1], Domain::Float, |[x]| match n {
        0 => unary::digamma(x),
        _ => x.math().elementwise("polygamma", &[Scalar::Int(n)], &[x]),
    })?;
    cx.finish(v)
}

/// More terms than this make a program that is not worth compiling.
const MOST_TERMS: i64 = 1 << 12;

/// ln Γₚ(x) = p(p − 1)/4 ln π + Σⱼ ln Γ(x − j/2), j from 0 to p − 1.
fn mvlgamma(cx: &mut Ctx) -> Lowered {
    let p = cx.int(1)?;
    if p < 1 {
        return Err(crate::LowerError::runtime("p has to be greater than or equal to 1"));
    }
    if cx.tensor(0)?.ty.dtype == DType::Bool {
        return Err(crate::LowerError::runtime("The input tensor may not be a boolean tensor."));
    }
    // One step a term.
    if p > MOST_TERMS {
        return Err(crate::LowerError::unsupported(format!("mvlgamma of {p} terms")));
    }
    let common = Domain::Float.common(cx.promoted(&[0])?);
    let v = apply(cx, [0], Domain::Float, |[x]| {
        let sum = (1..p).fold(x.lgamma(), |sum, j| sum + (x - j as f64 / 2.0).lgamma());
        sum + (p * (p - 1)) as f64 / 4.0 * std::f64::consts::PI.ln()
    })?;
    Ok(cx.cast(v, common)?.into())
}

/// e⁻ˣ I₀(x) on [0, 8], in t = x/4 − 1.
const I0_NEAR: [f64; 30] = [
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
    3.3307945188222384e-17,
    -4.4153416464793395e-18,
];
/// √x e⁻ˣ I₀(x) on [8, ∞), in t = 16/x − 1.
const I0_FAR: [f64; 25] = [
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.461222867697461e-17,
    4.46562142029676e-17,
    -4.830504485944182e-18,
    -7.233180487874754e-18,
];
/// e⁻ˣ I₁(x)/x on [0, 8], in t = x/4 − 1.
const I1_NEAR: [f64; 29] = [
    0.12629359322181682,
    -0.17641651835783406,
    0.1026436586898471,
    -0.05294598120809499,
    0.024726449030626516,
    -0.010564084894626197,
    0.004156422944312888,
    -0.0015135724506312532,
    0.0005122859561685758,
    -0.00016176081582589674,
    4.781565107550054e-05,
    -1.3273163656039436e-05,
    3.4702513081376785e-06,
    -8.568720264695455e-07,
    2.0032947535521353e-07,
    -4.445059128796328e-08,
    9.381537386495773e-09,
    -1.8872497517228294e-09,
    3.625590281552117e-10,
    -6.663489723502027e-11,
    1.1736186298890901e-11,
    -1.9839743977649436e-12,
    3.223793365945575e-13,
    -5.042185504727912e-14,
    7.600684294735408e-15,
    -1.1055969477353862e-15,
    1.5536319577362005e-16,
    -2.111421214358166e-17,
    2.7779141127610464e-18,
];
/// √x e⁻ˣ I₁(x) on [8, ∞), in t = 16/x − 1.
const I1_FAR: [f64; 27] = [
    0.38928811750914005,
    -0.009761097491361469,
    -0.00011058893876262371,
    -3.882564808877691e-06,
    -2.512236237870209e-07,
    -2.6314688468895196e-08,
    -3.835380385964237e-09,
    -5.589743462196584e-10,
    -1.8974958123505413e-11,
    3.2526035830154884e-11,
    1.4125807436613782e-11,
    2.0356285441470896e-12,
    -7.198551776245908e-13,
    -4.0835511110921974e-13,
    -2.1015418427726643e-14,
    4.272440016711951e-14,
    1.0420276984128802e-14,
    -3.8144030724370075e-15,
    -1.8803547755107825e-15,
    3.3082023109209285e-16,
    2.96262899764595e-16,
    -3.209525921993424e-17,
    -4.6503053684893586e-17,
    4.414348323071708e-18,
    7.517296310842105e-18,
    -9.314178867326884e-19,
    -1.242193275194891e-18,
];
/// (1 + x) erfcx(x) on [0, ∞), in t = (x − 4)/(x + 4).
const ERFCX: [f64; 25] = [
    0.7377924971155532,
    -0.21817361893805362,
    0.049503721225762784,
    -0.0025726982280633707,
    -0.004193339501765898,
    0.0025732881485069263,
    -0.0009545378786467943,
    0.00026047574753294394,
    -5.3142109585007945e-05,
    7.433019050177042e-06,
    -4.310600135961552e-07,
    -8.666784461850291e-08,
    2.444129931617036e-08,
    -1.3958179331627473e-09,
    -4.6292579264676443e-10,
    9.158432127526939e-11,
    4.099661454135434e-12,
    -3.107092638312008e-12,
    1.0859225472109777e-13,
    9.315628668137369e-14,
    -8.659869830664084e-15,
    -2.8218395496347422e-15,
    4.038719989002884e-16,
    9.254027468667993e-17,
    -1.663872484298646e-17,
];
