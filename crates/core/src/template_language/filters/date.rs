//! The filter `date`.

use jiff::civil::Time;
use jiff::fmt::strtime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::super::number::Num;
use super::super::value::Val;
use super::Call;

/// The longest format. A directive can ask for 255 characters, so a long format could ask for very many.
const MAX_FORMAT: usize = 200;

/// `date: "%d.%m.%Y"`: a date in ISO 8601 or in Unix seconds, in the format of `strftime`. A date with an offset is
/// shown in it, others in UTC. What is not a date, or a format that is not one, leaves the input as it is.
///
/// There is no `now`: rendering reads no clock.
pub(super) fn date<'r>(call: &Call<'_, 'r>) -> Val<'r> {
    let format = call.text_argument(0, "");
    let moment = match (&call.input, call.input.number()) {
        (_, Some(seconds)) => from_seconds(seconds),
        (Val::Str(text) | Val::Markup(text), None) => from_text(text.trim()),
        _ => None,
    };
    let shown =
        moment.filter(|_| format.len() <= MAX_FORMAT).and_then(|at| strtime::format(&*format, &at).ok());
    shown.map_or_else(|| call.input.clone(), Val::string)
}

fn from_seconds(seconds: Num) -> Option<Zoned> {
    let timestamp = match seconds {
        Num::Int(whole) => Timestamp::from_second(whole.try_into().ok()?).ok()?,
        // To the millisecond, which is what a float can hold.
        Num::Float(float) => Timestamp::from_millisecond((float * 1000.0).round() as i64).ok()?,
    };
    Some(timestamp.to_zoned(TimeZone::UTC))
}

fn from_text(text: &str) -> Option<Zoned> {
    let pieces = Pieces::parse(text).ok()?;
    let zone = pieces.to_numeric_offset().map_or(TimeZone::UTC, Offset::to_time_zone);
    pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight())).to_zoned(zone).ok()
}
