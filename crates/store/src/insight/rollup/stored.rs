//! The figures of a day as they are stored: for each that is not zero its place and its value, as numbers in LEB128. The
//! place is that of the metric, times the quarters of a day, and the quarter.

use std::collections::BTreeMap;

use mailwright_core::rollup::{Metric, Quarter};

use crate::insight::figures::{put, put_signed, take, take_signed};

pub(super) fn encode(day: i64, sums: &BTreeMap<(Quarter, Metric), i64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for ((quarter, metric), value) in sums.iter().filter(|(_, value)| **value != 0) {
        let place = metric.code() * Quarter::A_DAY + (quarter.0 - Quarter::first_of_day(day).0);
        put(&mut bytes, place as u64);
        put_signed(&mut bytes, *value);
    }
    bytes
}

/// Reads what [`encode`] wrote. Metrics that this program does not know are left out; `None` for what nobody wrote.
pub(super) fn decode(day: i64, mut bytes: &[u8]) -> Option<Vec<(Quarter, Metric, i64)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let place = i64::try_from(take(&mut bytes)?).ok()?;
        let value = take_signed(&mut bytes)?;
        let quarter = Quarter(Quarter::first_of_day(day).0 + place % Quarter::A_DAY);
        if let Some(metric) = Metric::from_code(place / Quarter::A_DAY) {
            found.push((quarter, metric, value));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        let day = 20_782;
        let first = Quarter::first_of_day(day);
        let mut sums = BTreeMap::new();
        for (nth, metric) in Metric::ALL.into_iter().enumerate() {
            for (slot, value) in
                [(0, 1), (1, -1), (50, 0), (95, i64::MAX), (94, i64::MIN), (7, nth as i64 * 1000)]
            {
                sums.insert((Quarter(first.0 + slot), metric), value);
            }
        }
        let mut read: BTreeMap<_, _> = decode(day, &encode(day, &sums))
            .unwrap()
            .into_iter()
            .map(|(quarter, metric, value)| ((quarter, metric), value))
            .collect();
        sums.retain(|_, value| *value != 0);
        read.retain(|_, value| *value != 0);
        assert_eq!(read, sums);
        assert!(read.keys().all(|(quarter, _)| quarter.day() == day));
        assert_eq!(decode(day, &[]), Some(Vec::new()));
        for bad in [&[0x80][..], &[1], &[0xff; 30]] {
            assert_eq!(decode(day, bad), None, "{bad:?}");
        }
    }
}
