//! ln |Γ| in single precision.

use std::f64::consts::PI;

use super::{poly, poly2, wide};

/// ln |Γ(x)|; +inf at the poles and at ±inf. Errors of 1e-9 of itself, for negative x of 1e-9 absolute.
///
/// On [½, 5/2] it is (x − 1)(x − 2)·P(x); below, Γ(x) = Γ(x + 1)/x; above, Stirling's series (DLMF 5.11.1) at x + 6 and
/// the product of the six steps; negative arguments by reflection (DLMF 5.5.3). One logarithm serves all products.
#[inline(always)]
pub fn ln_gamma(x: f32) -> f32 {
    let v = f64::from(x);
    let negative = x < 0.0;
    let t = if negative { 1.0 - v } else { v };
    let (low, high) = (t < 0.5, t > 2.5);

    let a = if low { t + 1.0 } else { t };
    let p = poly2!(
        a - 1.5,
        0.483_128_950_529_978_34,
        -0.145_959_904_127_952_4,
        0.062_911_408_176_235_08,
        -0.031_307_999_804_068_76,
        0.016_796_735_730_514_635,
        -0.009_434_038_443_359_188,
        0.005_452_381_318_285_118,
        -0.003_146_786_948_911_339_6,
        0.001_878_285_562_644_150_4,
        -0.001_434_764_189_579_265_5,
        0.000_893_026_290_299_418_5,
        0.000_205_698_038_672_334_2,
        -0.000_155_548_659_973_257_64,
        -0.001_063_222_919_477_474_1,
        0.000_693_203_430_011_379_6,
        0.000_623_669_671_372_373_7,
        -0.000_408_205_095_758_591_3,
        -0.000_270_698_871_616_078_3,
        0.000_174_971_208_909_382_12
    );
    let middle = (a - 1.0) * (a - 2.0) * p;

    let far = t > 1e6;
    let z = if far { t } else { t + 6.0 };
    let inverse = 1.0 / z;
    let series = poly!(inverse * inverse, 1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0) * inverse;
    // ½ ln 2π.
    let stirling = (z - 0.5).mul_add(wide::ln(z), 0.918_938_533_204_672_7 - z) + series;
    // t(t + 5) and the like pair up: with h = t² + 5t the product is h(h + 4)(h + 6).
    let h = t * (t + 5.0);
    let steps = h * (h + 4.0) * (h + 6.0);
    let steps = if far { 1.0 } else { steps };

    let m = if high { stirling } else { middle };
    let b = if low { t } else { 1.0 };
    let b = if high { steps } else { b };
    // sin π(x − n) with n the nearest integer, without its sign.
    let (sine, _) = wide::sin_cos(PI * (v - v.round_ties_even()));
    let l = wide::ln(if negative { PI * b / sine.abs() } else { b });
    let y = if negative { l - m } else { m - l };
    if x.abs() == f32::INFINITY {
        f32::INFINITY
    } else {
        y as f32
    }
}
