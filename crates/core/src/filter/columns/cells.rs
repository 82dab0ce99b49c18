//! The values of a custom field, or of another text, four bytes for each row.
//!
//! Numbers and texts that do not stand in a cell themselves ([`cell`](super::cell)) are stored once each. So a test looks
//! at each text of a column once, however many rows have it.

use std::collections::HashMap;

use super::bits::Bits;
use super::cell::{INTEGER, INTEGERS, NUMBER, SPECIAL, TEXT, TYPE};
use super::scan::{NumberTest, Scan};
use super::texts::Texts;
use crate::filter::evaluate::Scalar;

/// The values that are not in a table of their own, in the order of their cells.
const SPECIALS: [Scalar<'static>; 4] =
    [Scalar::Missing, Scalar::Bool(false), Scalar::Bool(true), Scalar::Other];

/// A column of values.
#[derive(Debug, Default)]
pub(super) struct Cells {
    rows: Vec<u32>,
    numbers: Numbers,
    texts: Texts,
}

impl Cells {
    /// So many rows without a value.
    pub(super) fn new(rows: usize) -> Self {
        Self { rows: vec![0; rows], ..Self::default() }
    }

    /// Makes room for so many more rows at the end.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.rows.reserve_exact(rows);
    }

    /// Makes room for a row, which has no value.
    pub(super) fn insert(&mut self, row: usize) {
        self.rows.insert(row, 0);
    }

    /// Sets the value of a row. Returns whether there was room for it.
    pub(super) fn set(&mut self, row: usize, value: Scalar<'_>) -> bool {
        let before = self.rows[row];
        // first, so that a text that stays is not taken away in between
        let (cell, fits) = match self.cell(value, 1) {
            Some(cell) => (cell, true),
            None => (0, false),
        };
        self.rows[row] = cell;
        match before & TYPE {
            NUMBER => self.numbers.take(before >> 2),
            TEXT => self.texts.take(before >> 2),
            _ => {}
        }
        fits
    }

    /// Keeps these rows; all others have no value.
    pub(super) fn keep(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row]).collect();
    }

    /// The values of some rows, each once, and the place of each row's value among them.
    pub(super) fn distinct(&self, rows: &[usize]) -> (Vec<Scalar<'_>>, Vec<u16>) {
        let (mut values, mut places) = (Vec::new(), HashMap::new());
        let of_rows = rows.iter().map(|row| {
            let cell = self.rows[*row];
            *places.entry(cell).or_insert_with(|| {
                values.push(self.value(cell));
                (values.len() - 1) as u16
            })
        });
        let of_rows = of_rows.collect();
        (values, of_rows)
    }

    /// Adds rows that have these values, in the order of their places. Returns whether there was room for them; nothing
    /// is added where a place is wrong.
    pub(super) fn extend(&mut self, values: &[Scalar<'_>], places: &[u16]) -> bool {
        let mut uses = vec![0; values.len()];
        for place in places {
            match uses.get_mut(usize::from(*place)) {
                Some(uses) => *uses += 1,
                None => return false,
            }
        }
        let mut fits = true;
        let cells = values.iter().zip(uses).map(|(value, uses)| {
            let cell = if uses > 0 { self.cell(*value, uses) } else { Some(0) };
            fits &= cell.is_some();
            cell.unwrap_or(0)
        });
        let cells: Vec<u32> = cells.collect();
        self.rows.extend(places.iter().map(|place| cells[usize::from(*place)]));
        fits
    }

    fn value(&self, cell: u32) -> Scalar<'_> {
        match cell & TYPE {
            INTEGER => Scalar::Number(f64::from(cell.cast_signed() >> 2)),
            NUMBER => Scalar::Number(self.numbers.values[(cell >> 2) as usize]),
            TEXT => Scalar::Text(self.texts.get(cell >> 2)),
            _ => SPECIALS[(cell >> 2) as usize],
        }
    }

    /// The cell of a value that so many more rows have.
    fn cell(&mut self, value: Scalar<'_>, rows: u32) -> Option<u32> {
        let (kind, number) = match value {
            Scalar::Missing => (SPECIAL, 0),
            Scalar::Bool(value) => (SPECIAL, 1 + u32::from(value)),
            Scalar::Other => (SPECIAL, 3),
            Scalar::Number(number) if number.fract() == 0.0 && number.abs() < INTEGERS => {
                (INTEGER, (number as i32) as u32)
            }
            Scalar::Number(number) => (NUMBER, self.numbers.add(number, rows)),
            Scalar::Text(text) => (TEXT, self.texts.add(text, rows)?),
        };
        (kind == INTEGER || number < 1 << 30).then_some(number << 2 | kind)
    }

    /// Those of some rows whose value passes a test: `test` of numbers, `holds` of everything else.
    pub(super) fn retain(
        &self,
        within: &Bits,
        test: NumberTest,
        mut holds: impl FnMut(Scalar<'_>) -> bool,
    ) -> Bits {
        let specials = SPECIALS.map(&mut holds);
        let numbers: Vec<bool> = self.numbers.values.iter().map(|number| test.holds(*number)).collect();
        let texts = (0..self.texts.numbers()).map(|number| holds(Scalar::Text(self.texts.get(number))));
        let texts: Vec<bool> = texts.collect();
        let others =
            of_kind(SPECIAL, &specials).chain(of_kind(NUMBER, &numbers)).chain(of_kind(TEXT, &texts));
        if let Some(scan) = Scan::new(test, others) {
            return within.retain_by(&self.rows, |cells| scan.word(cells));
        }
        within.retain_of(&self.rows, |cell| match cell & TYPE {
            INTEGER => test.holds(f64::from(cell.cast_signed() >> 2)),
            NUMBER => numbers[(cell >> 2) as usize],
            TEXT => texts[(cell >> 2) as usize],
            _ => specials[(cell >> 2) as usize],
        })
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<u32>() + self.numbers.bytes() + self.texts.bytes()
    }
}

/// The cells of the values of a type, and what is known of each.
fn of_kind(kind: u32, holds: &[bool]) -> impl Iterator<Item = (u32, bool)> {
    holds.iter().zip(0..).map(move |(holds, number)| (number << 2 | kind, *holds))
}

/// Numbers that are no small integers, each stored once.
#[derive(Debug, Default)]
struct Numbers {
    values: Vec<f64>,
    /// How many cells have each.
    cells: Vec<u32>,
    free: Vec<u32>,
    by_value: HashMap<u64, u32>,
}

impl Numbers {
    fn add(&mut self, value: f64, cells: u32) -> u32 {
        if let Some(number) = self.by_value.get(&value.to_bits()) {
            self.cells[*number as usize] += cells;
            return *number;
        }
        let number = if let Some(number) = self.free.pop() {
            (self.values[number as usize], self.cells[number as usize]) = (value, cells);
            number
        } else {
            self.values.push(value);
            self.cells.push(cells);
            self.values.len() as u32 - 1
        };
        self.by_value.insert(value.to_bits(), number);
        number
    }

    fn take(&mut self, number: u32) {
        let cells = &mut self.cells[number as usize];
        *cells -= 1;
        if *cells == 0 {
            self.by_value.remove(&self.values[number as usize].to_bits());
            self.free.push(number);
        }
    }

    fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<f64>()
            + (self.cells.capacity() + self.free.capacity()) * size_of::<u32>()
            // a byte of control for each place
            + self.by_value.capacity() * (size_of::<(u64, u32)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back() {
        let values = [
            Scalar::Missing,
            Scalar::Bool(true),
            Scalar::Bool(false),
            Scalar::Other,
            Scalar::Number(0.0),
            Scalar::Number(-1.0),
            Scalar::Number(536_870_911.0),
            Scalar::Number(-536_870_911.0),
            Scalar::Number(536_870_912.0),
            Scalar::Number(-536_870_912.0),
            Scalar::Number(0.5),
            Scalar::Number(f64::MAX),
            Scalar::Text(""),
            Scalar::Text("a"),
        ];
        let mut cells = Cells::new(values.len());
        for turn in 0..3 {
            for row in 0..values.len() {
                assert!(cells.set(row, values[(row + turn) % values.len()]));
            }
            let mut all = Bits::none(values.len());
            (0..values.len()).for_each(|row| all.set(row, true));
            for wanted in values {
                let test = if let Scalar::Number(number) = wanted {
                    NumberTest::Equal(number)
                } else {
                    NumberTest::All(false)
                };
                let found = cells.retain(&all, test, |value| value == wanted);
                let rows: Vec<_> = found.backwards(usize::MAX).collect();
                let row = values.iter().position(|value| *value == wanted).unwrap();
                assert_eq!(rows, [(row + values.len() - turn) % values.len()], "{wanted:?} in turn {turn}");
            }
        }
        for row in 0..values.len() {
            cells.set(row, Scalar::Missing);
        }
        assert_eq!((cells.numbers.by_value.len(), cells.numbers.free.len()), (0, 4));
    }
}
