//! Parts of columns as bytes, so that columns outlive a process.
//!
//! A part is the contacts between two ids. Its ids are 16 bytes each, behind a byte that tells the format. Of each column
//! it has:
//!
//! * of values, each value once and then the place of each row's value among them, in one byte or two;
//! * of times, a bit for each row that has one, and then these, eight bytes each;
//! * of flags, a bit for each row.
//!
//! Numbers are little-endian. Whoever reads a part checks it: bytes that are wrong are refused, and the columns are read
//! from the contacts instead.

use std::collections::BTreeMap;

use super::bits::Bits;
use super::cells::Cells;
use super::{Aspect, Column, Columns, NEVER};
use crate::filter::evaluate::Scalar;
use crate::ids::ContactId;

/// Most contacts of a part: the place of a value takes two bytes.
const MOST_ROWS: usize = 1 << 16;
/// The format of all parts. Other ones are refused.
const FORMAT: u8 = 1;
/// Bytes of an id.
const ID: usize = 16;
/// Bits of a byte.
const BITS: usize = 8;

const MISSING: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const OTHER: u8 = 3;
const INTEGER: u8 = 4;
const NUMBER: u8 = 5;
const TEXT: u8 = 6;

/// The contacts between two ids, and what they have in some columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredPart {
    /// The ids, in their order.
    pub ids: Vec<u8>,
    /// The columns.
    pub columns: BTreeMap<Aspect, Vec<u8>>,
}

impl StoredPart {
    /// How many contacts there are.
    pub fn contacts(&self) -> usize {
        self.ids.len() / ID
    }
}

/// The bytes of a part are wrong, or do not fit in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a part of the columns is corrupt, or too large")]
pub struct Corrupt;

impl Columns {
    /// How many contacts there are from an id on, up to another one.
    pub fn count_between(&self, first: ContactId, end: Option<ContactId>) -> usize {
        self.rows_between(first, end).len()
    }

    /// The id at which a part of so many contacts ends that begins with an id, unless there are no more before `end`.
    pub fn end_of(&self, first: ContactId, end: Option<ContactId>, contacts: usize) -> Option<ContactId> {
        self.rows_between(first, end).get(contacts).map(|row| self.ids[*row])
    }

    /// The contacts from an id on, up to another one, in all columns. `None` if they are more than a part can have.
    pub fn part(&self, first: ContactId, end: Option<ContactId>) -> Option<StoredPart> {
        let rows = self.rows_between(first, end);
        if rows.len() > MOST_ROWS {
            return None;
        }
        let mut ids = Vec::with_capacity(1 + rows.len() * ID);
        ids.push(FORMAT);
        for row in &rows {
            ids.extend_from_slice(self.ids[*row].as_uuid().as_bytes());
        }
        let columns = self.by_aspect.iter().map(|(aspect, column)| (aspect.clone(), column.stored(&rows)));
        Some(StoredPart { ids, columns: columns.collect() })
    }

    /// Adds a part behind all contacts. Columns of which it has nothing stay empty there. After an error the columns are
    /// of no use.
    pub fn append(&mut self, part: &StoredPart) -> Result<(), Corrupt> {
        let (&format, ids) = part.ids.split_first().ok_or(Corrupt)?;
        let (ids, []) = ids.as_chunks::<ID>() else { return Err(Corrupt) };
        if format != FORMAT || ids.len() > MOST_ROWS {
            return Err(Corrupt);
        }
        let mut last = self.ids.last().copied();
        for id in ids.iter().map(|id| ContactId::from_bytes(*id)) {
            if last.is_some_and(|last| last >= id) {
                return Err(Corrupt);
            }
            last = Some(id);
            self.ids.push(id);
        }
        self.present.extend(ids.iter().map(|_| true));
        for (aspect, column) in &mut self.by_aspect {
            let bytes = part.columns.get(aspect).map(|bytes| Bytes(bytes));
            column.append(bytes, ids.len()).ok_or(Corrupt)?;
        }
        Ok(())
    }

    /// Makes room for so many contacts more.
    pub fn reserve(&mut self, contacts: usize) {
        self.ids.reserve_exact(contacts);
        self.by_aspect.values_mut().for_each(|column| match column {
            Column::Cells(cells) => cells.reserve(contacts),
            Column::Times(times) => times.reserve_exact(contacts),
            Column::Flags(_) => {}
        });
    }

    fn rows_between(&self, first: ContactId, end: Option<ContactId>) -> Vec<usize> {
        let from = self.ids.partition_point(|id| *id < first);
        let to = end.map_or(self.ids.len(), |end| self.ids.partition_point(|id| *id < end));
        (from..to).filter(|row| self.present.get(*row)).collect()
    }
}

impl Column {
    fn stored(&self, rows: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Cells(cells) => write_cells(cells, rows, &mut out),
            Self::Times(times) => {
                write_bits(rows.iter().map(|row| times[*row] != NEVER), &mut out);
                let times = rows.iter().map(|row| times[*row]).filter(|time| *time != NEVER);
                times.for_each(|time| out.extend(time.to_le_bytes()));
            }
            Self::Flags(flags) => write_bits(rows.iter().map(|row| flags.get(*row)), &mut out),
        }
        out
    }

    /// Adds rows; `None` where the bytes are wrong or a value does not fit in.
    fn append(&mut self, stored: Option<Bytes<'_>>, rows: usize) -> Option<()> {
        let Some(mut stored) = stored else {
            match self {
                Self::Cells(cells) => _ = cells.extend(&[Scalar::Missing], &vec![0; rows]),
                Self::Times(times) => times.resize(times.len() + rows, NEVER),
                Self::Flags(flags) => flags.extend((0..rows).map(|_| false)),
            }
            return Some(());
        };
        match self {
            Self::Cells(cells) => read_cells(cells, &mut stored, rows)?,
            Self::Times(times) => {
                let mut has_one = Bits::none(0);
                has_one.extend(stored.bits(rows)?);
                for row in 0..rows {
                    times.push(if has_one.get(row) { i64::from_le_bytes(stored.array()?) } else { NEVER });
                }
            }
            Self::Flags(flags) => flags.extend(stored.bits(rows)?),
        }
        stored.0.is_empty().then_some(())
    }
}

fn write_cells(cells: &Cells, rows: &[usize], out: &mut Vec<u8>) {
    let (values, places) = cells.distinct(rows);
    out.extend((values.len() as u32).to_le_bytes());
    for value in &values {
        match *value {
            Scalar::Missing => out.push(MISSING),
            Scalar::Bool(false) => out.push(FALSE),
            Scalar::Bool(true) => out.push(TRUE),
            Scalar::Other => out.push(OTHER),
            Scalar::Number(number) if f64::from(number as i32).to_bits() == number.to_bits() => {
                out.push(INTEGER);
                out.extend((number as i32).to_le_bytes());
            }
            Scalar::Number(number) => {
                out.push(NUMBER);
                out.extend(number.to_le_bytes());
            }
            Scalar::Text(text) => {
                out.push(TEXT);
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }
        }
    }
    if values.len() <= usize::from(u8::MAX) + 1 {
        out.extend(places.iter().map(|place| *place as u8));
    } else {
        for place in places {
            out.extend(place.to_le_bytes());
        }
    }
}

fn read_cells(cells: &mut Cells, stored: &mut Bytes<'_>, rows: usize) -> Option<()> {
    let count = u32::from_le_bytes(stored.array()?) as usize;
    let mut values = Vec::with_capacity(count.min(MOST_ROWS));
    for _ in 0..count {
        let [kind] = stored.array()?;
        values.push(match kind {
            MISSING => Scalar::Missing,
            FALSE => Scalar::Bool(false),
            TRUE => Scalar::Bool(true),
            OTHER => Scalar::Other,
            INTEGER => Scalar::Number(f64::from(i32::from_le_bytes(stored.array()?))),
            NUMBER => Scalar::Number(f64::from_le_bytes(stored.array()?)),
            TEXT => {
                let bytes = u32::from_le_bytes(stored.array()?) as usize;
                Scalar::Text(std::str::from_utf8(stored.take(bytes)?).ok()?)
            }
            _ => return None,
        });
    }
    let places: Vec<u16> = if count <= usize::from(u8::MAX) + 1 {
        stored.take(rows)?.iter().map(|place| u16::from(*place)).collect()
    } else {
        let (places, _) = stored.take(2 * rows)?.as_chunks();
        places.iter().map(|place| u16::from_le_bytes(*place)).collect()
    };
    cells.extend(&values, &places).then_some(())
}

fn write_bits(rows: impl ExactSizeIterator<Item = bool>, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + rows.len().div_ceil(BITS), 0);
    for (row, value) in rows.enumerate() {
        out[begin + row / BITS] |= u8::from(value) << (row % BITS);
    }
}

/// Bytes that are read from the front.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let (taken, left) = self.0.split_at_checked(bytes)?;
        self.0 = left;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn bits(&mut self, rows: usize) -> Option<impl ExactSizeIterator<Item = bool> + 'b> {
        let bytes = self.take(rows.div_ceil(BITS))?;
        Some((0..rows).map(move |row| bytes[row / BITS] >> (row % BITS) & 1 == 1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::{Value as Json, json};
    use uuid::Uuid;

    use super::super::Fact;
    use super::*;
    use crate::filter::DataPath;
    use crate::time::Timestamp;

    fn id(number: usize) -> ContactId {
        ContactId::from(Uuid::from_u128(number as u128 + 1))
    }

    fn aspects() -> BTreeSet<Aspect> {
        let path = DataPath::new("a");
        [Aspect::Data(path), Aspect::Email, Aspect::Event("e".to_owned()), Aspect::Subscribed].into()
    }

    type Person = (Json, Option<i64>, bool);

    fn people() -> impl Strategy<Value = Vec<Option<Person>>> {
        let value = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Json::from),
            (-9i64..9).prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            "[a-cä]{0,3}".prop_map(Json::from),
            Just(json!([1])),
        ];
        let person = (value, proptest::option::of(any::<i32>().prop_map(i64::from)), any::<bool>());
        proptest::collection::vec(proptest::option::of(person), 0..700)
    }

    fn columns_of(people: &[Option<Person>]) -> Columns {
        let mut columns = Columns::new();
        columns.add_columns(&aspects());
        for (number, person) in people.iter().enumerate() {
            put(&mut columns, number, person.as_ref());
        }
        columns
    }

    fn put(columns: &mut Columns, number: usize, person: Option<&Person>) {
        let Some((value, time, flag)) = person else { return columns.remove(id(number)) };
        columns.add(id(number));
        for aspect in aspects() {
            let fact = match &aspect {
                Aspect::Data(_) => Fact::Value(Some(value)),
                Aspect::Email => Fact::Text(&format!("{number}@example.com")),
                Aspect::Subscribed => Fact::Flag(*flag),
                _ => Fact::Time(time.map(Timestamp)),
            };
            columns.set(id(number), &aspect, fact);
        }
    }

    proptest! {
        #[test]
        fn what_is_stored_comes_back(
            before in people(), people in people(), cuts in proptest::collection::btree_set(0usize..700, 0..4),
        ) {
            let mut columns = columns_of(&before);
            people.iter().enumerate().for_each(|(number, person)| put(&mut columns, number, person.as_ref()));
            let mut read = Columns::new();
            read.add_columns(&aspects());
            let bounds: Vec<ContactId> = std::iter::once(ContactId::from(Uuid::nil())).chain(cuts.into_iter().map(id)).collect();
            for (at, first) in bounds.iter().enumerate() {
                let part = columns.part(*first, bounds.get(at + 1).copied()).unwrap();
                prop_assert_eq!(part.ids.len() - 1, ID * columns.count_between(*first, bounds.get(at + 1).copied()));
                prop_assert_eq!(read.append(&part), Ok(()));
            }
            prop_assert_eq!(read.part(bounds[0], None), columns.part(bounds[0], None));
            // and can be changed as the ones before
            for (number, person) in before.iter().enumerate() {
                put(&mut columns, number, person.as_ref());
                put(&mut read, number, person.as_ref());
            }
            prop_assert_eq!(read.part(bounds[0], None), columns.part(bounds[0], None));
        }

        #[test]
        fn wrong_bytes_are_refused(people in people(), cut in any::<proptest::sample::Index>(), byte in any::<u8>()) {
            let columns = columns_of(&people);
            let whole = columns.part(id(0), None).unwrap();
            prop_assume!(whole.ids.len() > 1);
            for aspect in aspects() {
                let bytes = &whole.columns[&aspect];
                let mut wrong = whole.clone();
                let at = cut.index(bytes.len());
                wrong.columns.insert(aspect.clone(), bytes[..at].to_vec());
                prop_assert_eq!(empty().append(&wrong), Err(Corrupt), "{:?} cut", aspect);
                let mut changed = bytes.clone();
                changed[at] = byte;
                wrong.columns.insert(aspect, changed);
                let _ = empty().append(&wrong); // whatever it is, nothing panics
            }
        }
    }

    fn empty() -> Columns {
        let mut columns = Columns::new();
        columns.add_columns(&aspects());
        columns
    }

    #[test]
    fn parts_out_of_order_and_of_other_formats_are_refused() {
        let columns = columns_of(&vec![Some((json!(1), None, true)); 4]);
        let one = columns.part(id(0), Some(id(2))).unwrap();
        let other = columns.part(id(2), None).unwrap();
        let mut read = empty();
        assert_eq!(read.append(&other), Ok(()));
        assert_eq!(read.append(&one), Err(Corrupt));
        let mut newer = one.clone();
        newer.ids[0] = FORMAT + 1;
        assert_eq!(empty().append(&newer), Err(Corrupt));
        assert_eq!(columns.end_of(id(0), None, 3), Some(id(3)));
        assert_eq!(columns.end_of(id(0), Some(id(2)), 2), None);
    }

    #[test]
    fn more_contacts_than_a_part_can_have_are_no_part() {
        let mut columns = Columns::new();
        for number in 0..=MOST_ROWS {
            columns.add(id(number));
        }
        assert_eq!(columns.part(id(0), None), None);
        assert_eq!(columns.part(id(0), Some(id(MOST_ROWS))).unwrap().contacts(), MOST_ROWS);
    }
}
