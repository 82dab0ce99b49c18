//! The inverse cosine transform (ITU-T T.81, A.3.3), after Loeffler, Ligtenberg and Moschytz (ICASSP 1989), in whole
//! numbers: the same on every machine.

use std::num::Wrapping;

use super::block::Block;

type Eight = [Wrapping<i32>; 8];

/// The samples of a block. What hostile coefficients overflow is wrong, but the same everywhere.
pub(super) fn samples_of(block: &Block, factors: &[i32; 64]) -> [u8; 64] {
    if block.iter().skip(1).all(|coefficient| *coefficient == 0) {
        let mean = Wrapping(i32::from(block[0])) * Wrapping(factors[0]) + Wrapping(4);
        return [((mean.0 >> 3).clamp(-128, 127) + 128) as u8; 64];
    }
    let mut rows = [[Wrapping(0_i32); 8]; 8];
    for ((row, coefficients), factors) in
        rows.iter_mut().zip(block.as_chunks::<8>().0).zip(factors.as_chunks::<8>().0)
    {
        for ((value, coefficient), factor) in row.iter_mut().zip(coefficients).zip(factors) {
            *value = Wrapping(i32::from(*coefficient)) * Wrapping(*factor);
        }
    }
    let columns = transposed(&rows).map(|column| one_way(column, Wrapping(512), 10));
    let rows = transposed(&columns).map(|row| one_way(row, Wrapping(65_536 + (128 << 17)), 17));
    let mut samples = [0; 64];
    for (sample, value) in samples.iter_mut().zip(rows.as_flattened()) {
        *sample = value.0.clamp(0, 255) as u8;
    }
    samples
}

fn transposed(rows: &[Eight; 8]) -> [Eight; 8] {
    std::array::from_fn(|x| std::array::from_fn(|y| rows[y][x]))
}

/// A factor in units of 1/4096.
const fn fixed(thousandth: f64) -> Wrapping<i32> {
    Wrapping((thousandth * 4_096.0 + if thousandth < 0.0 { -0.5 } else { 0.5 }) as i32)
}

/// The transform of eight values, after Loeffler, Ligtenberg and Moschytz (ICASSP 1989).
#[inline]
fn one_way(values: Eight, round: Wrapping<i32>, shift: usize) -> Eight {
    let [v0, v1, v2, v3, v4, v5, v6, v7] = values;
    let z = (v2 + v6) * fixed(0.541_196_1);
    let (even2, even3) = (z + v6 * fixed(-1.847_759_065), z + v2 * fixed(0.765_366_865));
    let (even0, even1) = ((v0 + v4) << 12, (v0 - v4) << 12);
    let x0 = even0 + even3 + round;
    let x3 = even0 - even3 + round;
    let x1 = even1 + even2 + round;
    let x2 = even1 - even2 + round;
    let (sum3, sum4) = (v7 + v3, v5 + v1);
    let z5 = (sum3 + sum4) * fixed(1.175_875_602);
    let z1 = z5 + (v7 + v1) * fixed(-0.899_976_223);
    let z2 = z5 + (v5 + v3) * fixed(-2.562_915_447);
    let z3 = sum3 * fixed(-1.961_570_560);
    let z4 = sum4 * fixed(-0.390_180_644);
    let t0 = v7 * fixed(0.298_631_336) + z1 + z3;
    let t1 = v5 * fixed(2.053_119_869) + z2 + z4;
    let t2 = v3 * fixed(3.072_711_026) + z2 + z3;
    let t3 = v1 * fixed(1.501_321_110) + z1 + z4;
    [x0 + t3, x1 + t2, x2 + t1, x3 + t0, x3 - t0, x2 - t1, x1 - t2, x0 - t3].map(|value| value >> shift)
}

/// The samples of a block at half its size, of the coarse fourth of its coefficients.
pub(super) fn quarter_of(block: &Block, factors: &[i32; 64]) -> [u8; 16] {
    let value = |y: usize, x: usize| Wrapping(i32::from(block[y * 8 + x])) * Wrapping(factors[y * 8 + x]);
    let columns: [Four; 4] = std::array::from_fn(|x| {
        one_way_of_four([value(0, x), value(1, x), value(2, x), value(3, x)], Wrapping(512), 10)
    });
    let mut samples = [0; 16];
    for (y, line) in samples.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        // a fourth (T.81, A.3.3), of four times 4096 units; and 128 is added
        let row = one_way_of_four(columns.map(|column| column[y]), Wrapping((1 << 15) + (128 << 16)), 16);
        *line = row.map(|value| value.0.clamp(0, 255) as u8);
    }
    samples
}

type Four = [Wrapping<i32>; 4];

/// The transform of four values.
#[inline]
fn one_way_of_four([v0, v1, v2, v3]: Four, round: Wrapping<i32>, shift: usize) -> Four {
    let half = fixed(std::f64::consts::FRAC_1_SQRT_2);
    let (even0, even1) = ((v0 + v2) * half + round, (v0 - v2) * half + round);
    let (more, less) = (fixed(0.923_879_533), fixed(0.382_683_432));
    let (odd0, odd1) = (v1 * more + v3 * less, v1 * less - v3 * more);
    [even0 + odd0, even1 + odd1, even1 - odd1, even0 - odd0].map(|value| value >> shift)
}
