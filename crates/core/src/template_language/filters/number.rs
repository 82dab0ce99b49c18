//! Filters on numbers. A value that is not a number counts as 0. A result that overflows becomes a fraction, and a
//! result that is no number (a division by zero) is nil.

use std::cmp::Ordering;

use super::super::number::Num;
use super::super::value::Val;
use super::Call;

pub(super) fn plus<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    calculated(call, i128::checked_add, |a, b| a + b)
}

pub(super) fn minus<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    calculated(call, i128::checked_sub, |a, b| a - b)
}

pub(super) fn times<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    calculated(call, i128::checked_mul, |a, b| a * b)
}

/// Two whole numbers divide to a whole number, rounded down, as in Liquid.
pub(super) fn divided_by<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    calculated(call, floor_div, |a, b| a / b)
}

/// The remainder has the sign of the divisor, as in Liquid.
pub(super) fn modulo<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let remainder = |a: i128, b: i128| a.checked_sub(floor_div(a, b)?.checked_mul(b)?);
    calculated(call, remainder, |a, b| a - (a / b).floor() * b)
}

fn floor_div(a: i128, b: i128) -> Option<i128> {
    let inexact = a.checked_rem(b)? != 0;
    Some(a.checked_div(b)? - i128::from(inexact && (a < 0) != (b < 0)))
}

pub(super) fn abs<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    changed(call, |int| Num::Int(int.saturating_abs()), f64::abs)
}

pub(super) fn ceil<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    whole(call, f64::ceil)
}

pub(super) fn floor<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    whole(call, f64::floor)
}

/// `round: 2`: to so many digits behind the point.
pub(super) fn round<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let digits = call.int_argument(0, 0).clamp(0, 15);
    if digits == 0 {
        return whole(call, f64::round);
    }
    let scale = 10_f64.powi(digits as i32);
    changed(call, Num::Int, |float| {
        let scaled = (float * scale).round() / scale;
        // So large a number has no digits there to round.
        if scaled.is_finite() { scaled } else { float }
    })
}

pub(super) fn at_least<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    bounded(call, Ordering::Less)
}

pub(super) fn at_most<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    bounded(call, Ordering::Greater)
}

/// The input, or the argument if the input is on the `wrong` side of it.
fn bounded<'r>(call: &Call<'_, 'r>, wrong: Ordering) -> Val<'r> {
    let input = Val::from(input(call));
    let bound = Val::from(argument(call));
    if input.compare(&bound) == Some(wrong) { bound } else { input }
}

fn input(call: &Call<'_, '_>) -> Num {
    call.input.number().unwrap_or(Num::Int(0))
}

fn argument(call: &Call<'_, '_>) -> Num {
    call.arguments.first().and_then(Val::number).unwrap_or(Num::Int(0))
}

fn calculated<'r>(
    call: &Call<'_, 'r>,
    ints: impl Fn(i128, i128) -> Option<i128>,
    floats: impl Fn(f64, f64) -> f64,
) -> Val<'r> {
    let (a, b) = (input(call), argument(call));
    let exact = match (a, b) {
        (Num::Int(a), Num::Int(b)) => ints(a, b),
        _ => None,
    };
    exact.map_or_else(|| Val::float(floats(a.float(), b.float())), Val::Int)
}

fn changed<'r>(call: &Call<'_, 'r>, int: impl Fn(i128) -> Num, float: impl Fn(f64) -> f64) -> Val<'r> {
    match input(call) {
        Num::Int(value) => int(value).into(),
        Num::Float(value) => Val::float(float(value)),
    }
}

fn whole<'r>(call: &Call<'_, 'r>, round: impl Fn(f64) -> f64) -> Val<'r> {
    match input(call) {
        Num::Int(value) => Val::Int(value),
        // The cast saturates; numbers beyond its range are whole already.
        Num::Float(value) if value.abs() < 1e36 => Val::Int(round(value) as i128),
        Num::Float(value) => Val::float(value),
    }
}
