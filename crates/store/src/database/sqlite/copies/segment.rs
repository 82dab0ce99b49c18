//! What follows a snapshot: the pages that transactions changed, each once, as they were after the last of them.
//!
//! A segment is one object or several in a row, so that none is larger than a few megabytes. Only the last one of a
//! segment says that the transactions end there. Its name sorts by its number and says by when they were committed.

use mailwright_core::time::Timestamp;
use serde_json::{Value, json};

use super::frames::Place;
use crate::database::error::{Error, Result};

/// Pages of one object: 4 MB.
pub(super) const PAGES: usize = 1024;

/// What an object says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The unbroken line of copies that it belongs to.
    pub generation: String,
    /// Its number, one more than that of the object before it.
    pub sequence: u64,
    /// Whether transactions end with it.
    pub is_last: bool,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Pages of the database afterwards.
    pub database_pages: u32,
    /// Everything that was committed before this moment is in it, or in an object before it.
    pub complete_until: Timestamp,
    /// Nothing in it was committed after this moment.
    pub committed_by: Timestamp,
    /// Where in the log its transactions end.
    pub place: Option<Place>,
}

/// The name of an object of a segment, as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The number of the object.
    pub sequence: u64,
    /// By when what is in it was committed.
    pub committed_by: Timestamp,
    /// Whether transactions end with it.
    pub is_last: bool,
}

impl Name {
    /// Reads a name.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (sequence, time, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let name = Self {
            sequence: sequence.parse().ok()?,
            committed_by: Timestamp(time.parse().ok()?),
            is_last: kind == "end",
        };
        (parts.next().is_none() && name.to_string() == text).then_some(name)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_last { "end" } else { "part" };
        write!(f, "{:012}-{:015}-{kind}", self.sequence, self.committed_by.0)
    }
}

impl Head {
    /// The name of the object.
    pub fn name(&self) -> Name {
        Name { sequence: self.sequence, committed_by: self.committed_by, is_last: self.is_last }
    }

    fn to_json(&self) -> Value {
        json!({
            "generation": self.generation, "sequence": self.sequence, "isLast": self.is_last,
            "pageBytes": self.page_bytes, "databasePages": self.database_pages,
            "completeUntil": self.complete_until.0, "committedBy": self.committed_by.0,
            "place": self.place.map(Place::to_json),
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        Some(Self {
            generation: value["generation"].as_str()?.to_owned(),
            sequence: value["sequence"].as_u64()?,
            is_last: value["isLast"].as_bool()?,
            page_bytes: usize::try_from(value["pageBytes"].as_u64()?).ok()?,
            database_pages: u32::try_from(value["databasePages"].as_u64()?).ok()?,
            complete_until: Timestamp(value["completeUntil"].as_i64()?),
            committed_by: Timestamp(value["committedBy"].as_i64()?),
            place: Place::from_json(&value["place"]),
        })
    }
}

/// The bytes of an object: a line that says what it is, and the pages, each after its number.
pub(super) fn encode(head: &Head, pages: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = head.to_json().to_string().into_bytes();
    bytes.reserve(1 + pages.len() * (4 + head.page_bytes));
    bytes.push(b'\n');
    for (number, page) in pages {
        bytes.extend(number.to_be_bytes());
        bytes.extend(page);
    }
    bytes
}

/// Reads an object: what it is, and the pages with their numbers.
pub fn decode(bytes: &[u8]) -> Result<(Head, impl Iterator<Item = (u32, &[u8])>)> {
    let damaged =
        || Error::Unusable("a segment is damaged: it is not of the form that this program reads".into());
    let line = memchr::memchr(b'\n', bytes).ok_or_else(damaged)?;
    let (head, rest) = bytes.split_at(line);
    let head =
        serde_json::from_slice(head).ok().and_then(|head| Head::from_json(&head)).ok_or_else(damaged)?;
    let rest = rest.get(1..).unwrap_or_default();
    let one = 4 + head.page_bytes;
    if !rest.len().is_multiple_of(one) {
        return Err(damaged());
    }
    let pages = rest.chunks_exact(one).filter_map(|part| {
        let (number, page) = part.split_first_chunk::<4>()?;
        Some((u32::from_be_bytes(*number), page))
    });
    Ok((head, pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_as_it_was_written() {
        let place = Place { salts: [1, u32::MAX], frame: 7, checksum: [3, 4] };
        let head = Head {
            generation: "g".into(),
            sequence: 12,
            is_last: true,
            page_bytes: 512,
            database_pages: 9,
            complete_until: Timestamp(5),
            committed_by: Timestamp(6),
            place: Some(place),
        };
        let bytes = encode(&head, &[(1, vec![10; 512]), (9, vec![11; 512])]);
        let (found, pages) = decode(&bytes).unwrap();
        assert_eq!(found, head);
        let pages: Vec<_> = pages.map(|(number, page)| (number, page[0], page.len())).collect();
        assert_eq!(pages, [(1, 10, 512), (9, 11, 512)]);
        assert!(decode(&bytes[..bytes.len() - 1]).is_err());
        assert!(decode(b"no line").is_err() && decode(b"{}\n").is_err());
    }

    #[test]
    fn names_sort_by_their_numbers() {
        let name = |sequence, is_last| Name { sequence, committed_by: Timestamp(1_700_000_000_000), is_last };
        assert_eq!(name(9, true).to_string(), "000000000009-001700000000000-end");
        assert!(name(9, true).to_string() < name(10, false).to_string());
        for name in [name(0, false), name(1 << 32, true)] {
            assert_eq!(Name::parse(&name.to_string()), Some(name));
        }
        for text in ["", "9-1-end", "000000000009-001700000000000-last", "000000000009-001700000000000-end-x"]
        {
            assert_eq!(Name::parse(text), None, "{text}");
        }
    }
}
