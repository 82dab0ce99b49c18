//! Tests of many cells at once, without a branch for each.
//!
//! Of integers, which stand in their cells, what passes a test is a range or all but a range. Of all other values of a
//! column mostly few pass, as where a text is asked for, or few fail. So 64 cells are compared with two bounds and a few
//! cells, which a compiler makes vector instructions of.

use super::bits::{WORD, pack};
use super::cell::{INTEGER, INTEGERS, TYPE};
use crate::filter::evaluate::is_same;
use crate::filter::tree::Comparison;

/// A cell that is never in a column.
const NO_CELL: u32 = 16;
/// How many values that are no integers a scan compares with.
const FEW: usize = 4;

/// A test of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum NumberTest {
    /// All pass, or none.
    All(bool),
    Equal(f64),
    NotEqual(f64),
    Compare(Comparison, f64),
}

impl NumberTest {
    pub(super) fn holds(self, number: f64) -> bool {
        match self {
            Self::All(holds) => holds,
            Self::Equal(wanted) => is_same(number, wanted),
            Self::NotEqual(unwanted) => !is_same(number, unwanted),
            Self::Compare(comparison, other) => comparison.holds(&number, &other),
        }
    }

    /// A range of integers, by its first and last, and whether those in it pass, or all others.
    fn integers(self) -> ([i32; 2], bool) {
        let lowest = -INTEGERS;
        let (first, last, inside) = match self {
            Self::All(holds) => (lowest, INTEGERS, holds),
            Self::Equal(number) => (number.ceil(), number.floor(), true),
            Self::NotEqual(number) => (number.ceil(), number.floor(), false),
            Self::Compare(Comparison::Greater, number) => (number.floor() + 1.0, INTEGERS, true),
            Self::Compare(Comparison::GreaterOrEqual, number) => (number.ceil(), INTEGERS, true),
            Self::Compare(Comparison::Less, number) => (lowest, number.ceil() - 1.0, true),
            Self::Compare(Comparison::LessOrEqual, number) => (lowest, number.floor(), true),
        };
        ([first, last].map(|bound| bound.clamp(lowest, INTEGERS) as i32), inside)
    }
}

/// A test that looks at many cells at once.
#[derive(Debug)]
pub(super) struct Scan {
    integers: [i32; 2],
    /// Whether the integers between these pass, or all others.
    inside: bool,
    cells: [u32; FEW],
    /// Whether these cells pass, of those that are no integers, or all others.
    listed: bool,
}

impl Scan {
    /// A scan for numbers that pass a test; of the values that are no integers it is given whether each passes. `None`
    /// where neither few of them pass nor few fail.
    pub(super) fn new(test: NumberTest, others: impl Iterator<Item = (u32, bool)>) -> Option<Self> {
        let mut lists = [[NO_CELL; FEW]; 2];
        let mut found = [0; 2];
        for (cell, holds) in others {
            let (list, found) = (&mut lists[usize::from(holds)], &mut found[usize::from(holds)]);
            if let Some(place) = list.get_mut(*found) {
                *place = cell;
            }
            *found += 1;
        }
        let listed = found[1] <= FEW;
        if !listed && found[0] > FEW {
            return None;
        }
        let (integers, inside) = test.integers();
        Some(Self { integers, inside, cells: lists[usize::from(listed)], listed })
    }

    /// The cells that pass, the first in the lowest bit.
    #[expect(clippy::needless_bitwise_bool, reason = "`&&` would be a branch for each cell")]
    pub(super) fn word(&self, cells: &[u32; WORD]) -> u64 {
        let ([first, last], [a, b, c, d]) = (self.integers, self.cells);
        let mut flags = [0; WORD];
        for (flag, cell) in flags.iter_mut().zip(cells) {
            let number = cell.cast_signed() >> 2;
            let is_integer = cell & TYPE == INTEGER;
            let passes = ((first <= number) & (number <= last)) == self.inside;
            let is_listed = (*cell == a) | (*cell == b) | (*cell == c) | (*cell == d);
            *flag = u8::from((is_integer & passes) | (!is_integer & (is_listed == self.listed)));
        }
        pack(&flags)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = f64> {
        let whole = prop_oneof![
            -4_i32..4,
            Just(i32::MAX),
            (-(1 << 29)..(1 << 29)),
            Just((1 << 29) - 1),
            Just(1 - (1 << 29))
        ];
        (whole, prop_oneof![Just(0.0), Just(0.5), Just(-0.25)])
            .prop_map(|(whole, part)| f64::from(whole) + part)
    }

    fn test() -> impl Strategy<Value = NumberTest> {
        use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let comparison = prop::sample::select(vec![Greater, GreaterOrEqual, Less, LessOrEqual]);
        let number =
            || prop_oneof![4 => number(), 1 => prop::sample::select(vec![f64::MAX, f64::MIN, 1e10, -1e10])];
        prop_oneof![
            any::<bool>().prop_map(NumberTest::All),
            number().prop_map(NumberTest::Equal),
            number().prop_map(NumberTest::NotEqual),
            (comparison, number()).prop_map(|(comparison, number)| NumberTest::Compare(comparison, number)),
        ]
    }

    proptest! {
        #[test]
        fn a_scan_finds_what_passes(
            test in test(),
            cells in prop::collection::vec(prop_oneof![number().prop_map(Ok), (0_u32..9).prop_map(Err)], WORD),
            holds in prop::collection::vec(any::<bool>(), 9),
        ) {
            let other = |place: u32| place << 2 | 3;
            let integer = |number: f64| ((number.trunc().clamp(1.0 - INTEGERS, INTEGERS - 1.0)) as i32) << 2;
            let codes: Vec<u32> = cells.iter().map(|cell| match cell {
                Ok(number) => integer(*number).cast_unsigned() | INTEGER,
                Err(place) => other(*place),
            }).collect();
            let scan = Scan::new(test, (0..9).map(|place| (other(place), holds[place as usize]))).unwrap();
            let found = scan.word(codes.as_slice().try_into().unwrap());
            for (at, cell) in cells.iter().enumerate() {
                let wanted = match cell {
                    Ok(number) => test.holds(f64::from(integer(*number) >> 2)),
                    Err(place) => holds[*place as usize],
                };
                prop_assert_eq!(found >> at & 1 == 1, wanted, "{:?} of {:?}", cell, test);
            }
        }
    }

    #[test]
    fn many_that_pass_and_many_that_fail_are_not_scanned_for() {
        let others = |count: u32| (0..count).map(|cell| (cell << 2 | 3, cell % 2 == 0));
        assert!(Scan::new(NumberTest::All(true), others(9)).is_some());
        assert!(Scan::new(NumberTest::All(true), others(10)).is_none());
    }
}
