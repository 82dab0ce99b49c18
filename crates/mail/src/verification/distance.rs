//! How far a text is from the one that was meant, counted in mistakes of the hand on a keyboard.

/// What a mistake costs. Two that are common together cost less than one that is not.
const DOUBLED: u32 = 5;
const TRANSPOSED: u32 = 6;
/// A letter that went two places too far, as in `icould` for `icloud`.
const MOVED: u32 = 10;
/// A letter that was left out, one beside the right one, and one that came along with its neighbour.
const SLIPPED: u32 = 8;
/// A letter more that no neighbour brought along.
const ADDED: u32 = 12;
/// A letter for another that looks different and is elsewhere on the keyboard.
const REPLACED: u32 = 14;
/// People see the first letter: a mistake there costs so much more.
const AT_FIRST: u32 = 4;

/// The longest text that is compared, in bytes: longer ones are no mistake for any provider's name.
pub(super) const MAX_TEXT: usize = 32;

/// The rows of the keyboard, and how far each is moved to the right, in quarters of a key.
const ROWS: [(&[u8], i32); 4] =
    [(b"1234567890-", -2), (b"qwertyuiop", 0), (b"asdfghjkl", 1), (b"zxcvbnm", 3)];

/// Characters that look alike, or change places between keyboards.
const ALIKE: [(u8, u8); 8] = [
    (b'0', b'o'),
    (b'1', b'l'),
    (b'1', b'i'),
    (b'5', b's'),
    (b'3', b'e'),
    (b'y', b'z'),
    (b'i', b'l'),
    (b'u', b'v'),
];

/// Whether the first letter counts more than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Weighs,
    Equal,
}

/// What it costs to make `typed` of `meant`, at most [`u32::MAX`] when one of them is longer than [`MAX_TEXT`]. 0 if they
/// are equal. Both are ASCII in lower case.
pub(super) fn distance(typed: &str, meant: &str, first: First) -> u32 {
    if typed.len() > MAX_TEXT || meant.len() > MAX_TEXT {
        return u32::MAX;
    }
    let typed = Text(typed.as_bytes());
    let meant = Text(meant.as_bytes());
    let extra = if first == First::Weighs { AT_FIRST } else { 0 };
    // costs[i % ROWS_KEPT][j]: the first i letters typed for the first j letters meant
    let mut costs = [[u32::MAX / 2; MAX_TEXT + 1]; ROWS_KEPT];
    for i in 0..=typed.0.len() {
        for j in 0..=meant.0.len() {
            let cost = step(&costs, typed, meant, (i, j), extra);
            if let Some(cell) = costs.get_mut(i % ROWS_KEPT).and_then(|row| row.get_mut(j)) {
                *cell = cost;
            }
        }
    }
    cell(&costs, typed.0.len(), meant.0.len())
}

/// A step looks back three letters at most.
const ROWS_KEPT: usize = 4;

type Costs = [[u32; MAX_TEXT + 1]; ROWS_KEPT];

/// The least cost of one cell from those before it.
fn step(costs: &Costs, typed: Text<'_>, meant: Text<'_>, (i, j): (usize, usize), extra: u32) -> u32 {
    if (i, j) == (0, 0) {
        return 0;
    }
    let mut best = u32::MAX / 2;
    if let (Some(t), Some(m)) = (typed.before(i), meant.before(j)) {
        let at_first = if j == 1 { extra } else { 0 };
        let cost = match t == m {
            true => 0,
            false if is_near(t, m) => SLIPPED + at_first,
            false => REPLACED + at_first,
        };
        best = best.min(cell(costs, i - 1, j - 1) + cost);
    }
    if let Some(t) = typed.before(i) {
        let at_first = if i == 1 { extra } else { 0 };
        best = best.min(cell(costs, i - 1, j) + typed.cost_of_more(i, t) + at_first);
    }
    if let Some(m) = meant.before(j) {
        let at_first = if j == 1 { extra } else { 0 };
        let is_double = meant.before(j - 1) == Some(m) || meant.before(j + 1) == Some(m);
        let cost = if is_double { DOUBLED } else { SLIPPED };
        best = best.min(cell(costs, i, j - 1) + cost + at_first);
    }
    best.min(changed_places(costs, typed, meant, (i, j)))
}

/// The least cost of one cell whose last letters are the right ones in another order.
fn changed_places(costs: &Costs, typed: Text<'_>, meant: Text<'_>, (i, j): (usize, usize)) -> u32 {
    let mut best = u32::MAX / 2;
    if let (Some([a, b]), Some(meant)) = (typed.last(i), meant.last(j))
        && [b, a] == meant
        && a != b
    {
        best = best.min(cell(costs, i - 2, j - 2) + TRANSPOSED);
    }
    if let (Some([a, b, c]), Some(meant)) = (typed.last(i), meant.last(j))
        && ([c, a, b] == meant || [b, c, a] == meant)
    {
        best = best.min(cell(costs, i - 3, j - 3) + MOVED);
    }
    best
}

fn cell(costs: &Costs, i: usize, j: usize) -> u32 {
    costs.get(i % ROWS_KEPT).and_then(|row| row.get(j)).copied().unwrap_or(u32::MAX / 2)
}

/// The bytes of a text.
#[derive(Clone, Copy)]
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    /// The byte before this place.
    fn before(self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|at| self.0.get(at)).copied()
    }

    /// The last bytes before this place.
    fn last<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at.checked_sub(N)?..at)?.try_into().ok()
    }

    /// What it costs that the byte before this place is there, though it was not meant.
    fn cost_of_more(self, at: usize, byte: u8) -> u32 {
        let (left, right) = (self.before(at - 1), self.before(at + 1));
        if left == Some(byte) {
            DOUBLED
        } else if left.is_some_and(|left| is_near(left, byte))
            || right.is_some_and(|right| is_near(right, byte))
        {
            SLIPPED
        } else {
            ADDED
        }
    }
}

/// Whether two keys are beside each other, or two characters look alike.
fn is_near(a: u8, b: u8) -> bool {
    let alike = ALIKE.iter().any(|&pair| pair == (a, b) || pair == (b, a));
    let beside = || {
        let (Some((x, row)), Some((u, other))) = (place(a), place(b)) else { return false };
        (x - u).abs() <= 4 && (row - other).abs() <= 1
    };
    a != b && (alike || beside())
}

/// Where a key is: quarters of a key from the left, and its row.
fn place(key: u8) -> Option<(i32, i32)> {
    ROWS.iter().enumerate().find_map(|(row, (keys, moved))| {
        let at = memchr::memchr(key, keys)?;
        Some((at as i32 * 4 + moved, row as i32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(typed: &str, meant: &str) -> u32 {
        distance(typed, meant, First::Weighs)
    }

    #[test]
    fn each_mistake_has_its_cost() {
        for (typed, meant, cost) in [
            ("gmail", "gmail", 0),
            ("gmaill", "gmail", DOUBLED),
            ("yaho", "yahoo", DOUBLED),
            ("gmial", "gmail", TRANSPOSED),
            ("mgail", "gmail", TRANSPOSED),
            ("gmal", "gmail", SLIPPED),
            ("gmsil", "gmail", SLIPPED),
            ("gmnail", "gmail", SLIPPED),
            ("g0ogle", "google", SLIPPED),
            ("gmailx", "gmail", ADDED),
            ("gmaix", "gmail", REPLACED),
            ("fmail", "gmail", SLIPPED + AT_FIRST),
            ("mail", "gmail", SLIPPED + AT_FIRST),
            ("", "ab", 2 * SLIPPED + AT_FIRST),
            ("icould", "icloud", MOVED),
            ("iclodu", "icloud", TRANSPOSED),
        ] {
            assert_eq!(of(typed, meant), cost, "{typed} for {meant}");
        }
        assert_eq!(distance("xom", "com", First::Equal), SLIPPED);
        assert_eq!(of(&"a".repeat(40), "aol"), u32::MAX);
    }

    proptest::proptest! {
        #[test]
        fn it_is_zero_for_equal_texts_alone(a in "[a-z0-9.-]{0,12}", b in "[a-z0-9.-]{0,12}") {
            proptest::prop_assert_eq!(of(&a, &b) == 0, a == b);
        }
    }
}
