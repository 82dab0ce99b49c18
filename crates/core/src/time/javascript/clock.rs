//! The parts of a date as they are collected: day, time and zone.

/// The numbers of a date, in the order they were read in.
#[derive(Default)]
pub(super) struct Day {
    pub(super) numbers: Vec<i64>,
    pub(super) named_month: Option<i64>,
    pub(super) is_iso: bool,
}

impl Day {
    pub(super) fn add(&mut self, number: i64) -> Option<()> {
        (self.numbers.len() < 3).then(|| self.numbers.push(number))
    }

    /// Days since 1970. A day that its month does not have counts on into the next month.
    pub(super) fn days(&self) -> Option<i64> {
        let is_day = |number: i64| (1..=31).contains(&number);
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or(1);
        let first = *self.numbers.first()?;
        let (year, month, day) = match self.named_month {
            None if self.is_iso || !is_day(first) => (first, number(1), number(2)),
            None => (number(2), first, number(1)),
            Some(month) if is_day(first) => (number(1), month, first),
            Some(month) => (first, month, number(1)),
        };
        let year = match year {
            0..=49 if !self.is_iso => year + 2000,
            50..=99 if !self.is_iso => year + 1900,
            _ => year,
        };
        // the years that JavaScript has dates in
        let in_range = (-271_821..=275_760).contains(&year);
        (in_range && (1..=12).contains(&month) && is_day(day)).then(|| days_to_month(year, month) + day - 1)
    }
}

/// Days from 1970-01-01 to the first of a month, in the proleptic Gregorian calendar.
pub(super) fn days_to_month(year: i64, month: i64) -> i64 {
    // Years that begin in March have their leap day at the end.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Hour, minute, second and millisecond, as far as they were read.
#[derive(Default)]
pub(super) struct Time {
    pub(super) numbers: Vec<i64>,
    /// No more is expected.
    pub(super) is_final: bool,
    pub(super) meridiem: Option<i64>,
}

impl Time {
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn expects(&self, number: i64) -> bool {
        !self.is_final
            && match self.numbers.len() {
                1 | 2 => (0..60).contains(&number),
                3 => (0..1000).contains(&number),
                _ => false,
            }
    }

    pub(super) fn add(&mut self, number: i64) -> Option<()> {
        (!self.is_final && self.numbers.len() < 4).then(|| self.numbers.push(number))
    }

    pub(super) fn add_final(&mut self, number: i64) {
        self.numbers.push(number);
        self.is_final = true;
    }

    pub(super) fn millis(&self) -> Option<i64> {
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or(0);
        let (mut hour, minute, second, milli) = (number(0), number(1), number(2), number(3));
        if let Some(offset) = self.meridiem {
            if !(0..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + offset;
        }
        let in_day = hour < 24 && minute < 60 && second < 60 && milli < 1000;
        let is_end_of_day = (hour, minute, second, milli) == (24, 0, 0, 0);
        (in_day || is_end_of_day).then(|| ((hour * 60 + minute) * 60 + second) * 1000 + milli)
    }
}

/// How far the clock that was read is ahead of UTC.
#[derive(Default)]
pub(super) struct Zone {
    pub(super) sign: Option<i64>,
    pub(super) hour: Option<i64>,
    pub(super) minute: Option<i64>,
}

impl Zone {
    pub(super) fn set(&mut self, hours: i64) {
        *self = Self { sign: Some(if hours < 0 { -1 } else { 1 }), hour: Some(hours.abs()), minute: Some(0) };
    }

    pub(super) fn is_utc(&self) -> bool {
        self.hour == Some(0) && self.minute == Some(0)
    }

    pub(super) fn expects(&self, number: i64) -> bool {
        self.hour.is_some() && self.minute.is_none() && (0..60).contains(&number)
    }

    pub(super) fn offset_seconds(&self) -> Option<i64> {
        let seconds = self.hour.unwrap_or(0) * 3600 + self.minute.unwrap_or(0) * 60;
        match self.sign {
            None => Some(0),
            // the widest that V8 keeps in a small integer
            Some(sign) => (seconds < 1 << 30).then_some(sign * seconds),
        }
    }
}

/// The three digits after the point of a number that was written with `digits` digits.
pub(super) fn milliseconds(number: i64, digits: usize) -> i64 {
    match digits {
        1 => number * 100,
        2 => number * 10,
        _ => number / 10_i64.pow(digits.min(9) as u32 - 3),
    }
}
