//! Header fields, and the groups of fields that reports consist of.

use mail_parser::parsers::MessageStream;
use mailwright_core::name::is_hidden;

use crate::lines::split_line;

/// The most fields of a header that are looked at.
const MAX_FIELDS: usize = 1000;
/// The longest name of a field.
const MAX_NAME: usize = 100;
/// How much of a value is read, in bytes.
const MAX_VALUE: usize = 8 * 1024;

/// One field: its name, and its value as it stands there, with the line ends of its folds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a [u8],
    value: &'a [u8],
}

impl Field<'_> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The value in one line: see [`one_line`]. Its first 8 KiB.
    pub(crate) fn text(&self) -> String {
        one_line(&String::from_utf8_lossy(&self.value[..self.value.len().min(MAX_VALUE)]))
    }

    /// The value with its encoded words decoded (RFC 2047).
    pub(crate) fn decoded(&self) -> String {
        let text = self.text();
        if !text.contains("=?") {
            return text;
        }
        let line = format!("{text}\n");
        let decoded = MessageStream::new(line.as_bytes()).parse_unstructured();
        decoded.into_text().map(|decoded| one_line(&decoded)).unwrap_or(text)
    }
}

/// A text in one line: runs of white space, control characters, and characters that are invisible or turn the
/// direction of writing around become one space; there is none at either end.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() || is_hidden(c) {
            if !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
        } else {
            line.push(c);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// The header of a message or of a part of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head<'a> {
    fields: Vec<Field<'a>>,
}

impl<'a> Head<'a> {
    /// Splits a message, or a part of one, into its header and its body.
    ///
    /// A line that is no field ends the header, as an empty one does, and belongs to the body: broken senders leave the
    /// empty line out. The line `From ` of a mailbox file is skipped.
    pub(crate) fn split(entity: &'a [u8]) -> (Self, &'a [u8]) {
        let mut head = Self::default();
        let mut rest = entity;
        // where the value of the last field begins, when it is among those that are kept
        let mut open = None;
        while let Some((line, after)) = split_line(rest) {
            let start = entity.len() - rest.len();
            if line.is_empty() {
                return (head, after);
            }
            if matches!(line[0], b' ' | b'\t') {
                if let (Some(value), Some(last)) = (open, head.fields.last_mut()) {
                    last.value = &entity[value..start + line.len()];
                }
            } else if let Some((name, value)) = field(line) {
                open = (head.fields.len() < MAX_FIELDS).then_some(start + value);
                if open.is_some() {
                    head.fields.push(Field { name, value: &line[value..] });
                }
            } else if !(head.fields.is_empty() && is_mailbox_line(line)) {
                return (head, rest);
            }
            rest = after;
        }
        (head, &[])
    }

    /// The fields with a name, in their order.
    pub(crate) fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Field<'a>> {
        self.fields.iter().filter(move |field| field.is(name))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| field.is(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The value of the first field with a name, in one line; `None` when it is empty, too.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(Field::text).filter(|text| !text.is_empty())
    }

    /// Whether a mailing list or a sender of newsletters says that the mail is one of many.
    pub(crate) fn is_bulk(&self) -> bool {
        ["list-id", "list-unsubscribe", "list-post"].iter().any(|name| self.has(name))
    }
}

/// The fields in a report, in their order, each with whether it is the first after an empty line, or of all.
///
/// Reports come with empty lines in odd places, and with lines that are no fields; neither ends them.
pub(crate) fn in_groups(report: &[u8]) -> impl Iterator<Item = (bool, Field<'_>)> {
    let mut rest = report;
    let groups = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (head, after) = Head::split(rest);
        // a line that is no field ends a group without being taken
        let is_stuck = after.len() == rest.len();
        rest = if is_stuck { split_line(rest).map_or(&[][..], |(_, after)| after) } else { after };
        Some(head.fields)
    });
    groups.flat_map(|fields| fields.into_iter().enumerate().map(|(nth, field)| (nth == 0, field)))
}

/// The name of a field and where its value begins, when the line is a field (RFC 5322 section 2.2).
fn field(line: &[u8]) -> Option<(&[u8], usize)> {
    let colon = memchr::memchr(b':', &line[..line.len().min(MAX_NAME + 2)])?;
    let name = line[..colon].trim_ascii_end();
    let is_name = !name.is_empty() && name.len() <= MAX_NAME && name.iter().all(u8::is_ascii_graphic);
    is_name.then_some((name, colon + 1))
}

fn is_mailbox_line(line: &[u8]) -> bool {
    line.starts_with(b"From ") || line.starts_with(b">From ")
}

#[cfg(test)]
mod tests {
    use super::{Head, in_groups, one_line};

    fn names(head: &Head<'_>) -> Vec<String> {
        head.fields.iter().map(|field| String::from_utf8_lossy(field.name).into_owned()).collect()
    }

    #[test]
    fn a_header_ends_where_no_field_is() {
        for (entity, fields, body) in [
            ("A: 1\r\nB: 2\r\n\r\nbody", &["A", "B"][..], "body"),
            ("A: 1\nB : 2\n\nbody", &["A", "B"], "body"),
            ("From x Mon\nA: 1\n\nbody", &["A"], "body"),
            ("A: 1\nno field here\nB: 2", &["A"], "no field here\nB: 2"),
            ("\nbody", &[], "body"),
            ("body", &[], "body"),
            ("A: 1", &["A"], ""),
            (" folded: first\nA: 1\n\n", &["A"], ""),
            ("", &[], ""),
        ] {
            let (head, rest) = Head::split(entity.as_bytes());
            assert_eq!(names(&head), fields, "{entity:?}");
            assert_eq!(rest, body.as_bytes(), "{entity:?}");
        }
    }

    #[test]
    fn values_are_one_line() {
        let (head, _) =
            Head::split(b"a: one\r\n\ttwo\r\n  three \r\nb:\r\n =?utf-8?Q?M=C3=BC?=\r\n ller\r\n\r\n");
        assert_eq!(head.text("A").unwrap(), "one two three");
        assert_eq!(head.get("B").unwrap().decoded(), "Mü ller");
        assert_eq!(one_line("\u{202e} a\0\u{7f}b \t"), "a b");
    }

    #[test]
    fn groups_are_told_apart() {
        let report = b"\n\nA: 1\nB: 2\n\n\nC: 3\nsomething else\nD: 4\n \n";
        let found: Vec<_> =
            in_groups(report).map(|(blank, field)| (blank, field.name[0] as char, field.text())).collect();
        let expected = [(true, 'A', "1"), (false, 'B', "2"), (true, 'C', "3"), (true, 'D', "4")];
        let expected = expected.map(|(first, name, value)| (first, name, value.to_owned()));
        assert_eq!(found, expected);
    }
}
