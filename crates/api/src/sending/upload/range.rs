//! Which part of a file a request asks for (RFC 9110 section 14).

use std::ops::Range;

/// What of a file is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// All of it. So it is for what cannot be read, other units, and several parts.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// A part that the file does not have.
    Beyond,
}

/// What a `Range` header asks for, of a file of so many bytes.
pub(super) fn asked(header: Option<&str>, size: u64) -> Asked {
    part(header.unwrap_or_default(), size).unwrap_or(Asked::Whole)
}

fn part(header: &str, size: u64) -> Option<Asked> {
    let (unit, spec) = header.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = spec.trim().split_once('-')?;
    if first.is_empty() {
        let length = number(last)?.min(size);
        return Some(if length == 0 { Asked::Beyond } else { Asked::Part(size - length..size) });
    }
    let first = number(first)?;
    let end = if last.is_empty() { size } else { number(last)?.saturating_add(1) };
    if end <= first && !last.is_empty() {
        return None;
    }
    Some(if first >= size { Asked::Beyond } else { Asked::Part(first..end.min(size)) })
}

/// A number of digits alone; the greatest where it has too many.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_read_and_everything_else_is_the_whole() {
        for (header, expected) in [
            ("bytes=0-0", Asked::Part(0..1)),
            ("bytes=2-5", Asked::Part(2..6)),
            ("Bytes = 2-5", Asked::Part(2..6)),
            ("bytes=2-", Asked::Part(2..10)),
            ("bytes=-3", Asked::Part(7..10)),
            ("bytes=-30", Asked::Part(0..10)),
            ("bytes=8-99", Asked::Part(8..10)),
            ("bytes=0-18446744073709551615", Asked::Part(0..10)),
            ("bytes=0-99999999999999999999999", Asked::Part(0..10)),
            ("bytes=10-", Asked::Beyond),
            ("bytes=10-12", Asked::Beyond),
            ("bytes=99999999999999999999999-", Asked::Beyond),
            ("bytes=-0", Asked::Beyond),
            ("bytes=5-2", Asked::Whole),
            ("bytes=", Asked::Whole),
            ("bytes=-", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=+1-2", Asked::Whole),
            ("bytes=0-1,4-5", Asked::Whole),
            ("items=0-1", Asked::Whole),
            ("0-1", Asked::Whole),
            ("", Asked::Whole),
        ] {
            assert_eq!(asked(Some(header), 10), expected, "{header}");
        }
        assert_eq!(asked(None, 10), Asked::Whole);
    }
}
