//! Figures by metric, and numbers as they are stored in rows of many.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::rollup::Metric;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::insight::counter::Counter;

/// What happened in some time, by metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures([i64; Metric::ALL.len()]);

impl Figures {
    /// Adds to a figure.
    pub fn add(&mut self, metric: Metric, value: i64) {
        self.0[metric as usize] += value;
    }

    /// Adds the figures of another time.
    pub fn add_all(&mut self, others: &Self) {
        for (sum, value) in self.0.iter_mut().zip(others.0) {
            *sum += value;
        }
    }

    /// A figure.
    pub fn get(&self, metric: Metric) -> i64 {
        self.0[metric as usize]
    }
}

/// What is stored of some days.
pub(crate) struct Stored {
    /// Days and their figures, from counters that were folded.
    pub(crate) days: Vec<(i64, Vec<u8>)>,
    /// Counters that are not folded, and their values.
    pub(crate) counters: Vec<(String, i64)>,
}

/// Reads the rows of a table of days, from one day on and up to another, and the counters whose names are from one text on
/// and before another. It is one statement, so that what is folded meanwhile is found once.
pub(crate) async fn stored(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (table, counter): (&'static str, Counter),
    (first, last): (i64, i64),
    (from, to): (&str, &str),
) -> Result<Stored> {
    let rows = rx
        .all(
            format!(
                "select day, figures, cast(null as text), 0 from {table} \
                 where project_id = $1 and day >= $2 and day <= $3 \
                 union all select 0, null, name, cast(sum(value) as {{int}}) from counters \
                 where project_id = $1 and kind = $4 and name >= $5 and name < $6 group by name"
            ),
            args![project, first, last, counter.as_str(), from, to],
            |r| {
                Ok((
                    r.get::<i64>(0)?,
                    r.get::<Option<Vec<u8>>>(1)?,
                    r.get::<Option<String>>(2)?,
                    r.get::<i64>(3)?,
                ))
            },
        )
        .await?;
    let mut stored = Stored { days: Vec::new(), counters: Vec::new() };
    for (day, figures, name, value) in rows {
        stored.days.extend(figures.map(|figures| (day, figures)));
        stored.counters.extend(name.map(|name| (name, value)));
    }
    Ok(stored)
}

/// Appends a number in LEB128.
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number in LEB128 from the front; `None` where there is none.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Appends a number whose sign is the last bit.
pub(crate) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, ((number << 1) ^ (number >> 63)) as u64);
}

/// Takes what [`put_signed`] appended from the front; `None` where there is no number.
pub(crate) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let number = take(bytes)?;
    Some(((number >> 1) as i64) ^ -((number & 1) as i64))
}
