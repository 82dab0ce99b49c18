//! Figures by metric, and numbers as they are stored in rows of many.

use mailwright_core::rollup::Metric;

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
