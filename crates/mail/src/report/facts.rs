//! What the header of a received mail says about how it came.

use super::automatic::auto_submitted;
use super::fields::Head;
use super::incoming::MAX_READ;
use super::original;

/// How many `Received` fields a mail has that goes round in circles; RFC 5321 section 6.3 wants at least 100.
pub const MAX_HOPS: usize = 100;
/// How much of a field is kept, in bytes.
const MAX_VALUE: usize = 255;
const MAX_DELIVERED: usize = 50;

/// What the header of a received mail says about how it came. Whether the envelope sender is null stands in no header,
/// and only the one who received it knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// How many `Received` fields it has; counted up to 1000.
    pub hops: usize,
    /// The word of `Auto-Submitted`, lower case: `no`, `auto-generated`, `auto-replied` or another.
    pub auto_submitted: Option<String>,
    /// `Precedence`, lower case.
    pub precedence: Option<String>,
    /// `List-Id`.
    pub list_id: Option<String>,
    /// The addresses of its `Delivered-To` fields, at most 50: hosts that write them find loops by them.
    pub delivered_to: Vec<String>,
    /// The ids in `In-Reply-To` and `References`, as in [`super::Original::answers`].
    pub answers: Vec<String>,
}

impl Facts {
    /// Reads the header of a mail.
    pub fn read(raw: &[u8]) -> Self {
        let (head, _) = Head::split(&raw[..raw.len().min(MAX_READ)]);
        let short = |name: &str| {
            let text = head.text(name)?;
            Some(text[..text.floor_char_boundary(MAX_VALUE)].to_owned())
        };
        let delivered = head.all("delivered-to").take(MAX_DELIVERED);
        Self {
            hops: head.all("received").count(),
            auto_submitted: auto_submitted(&head)
                .map(|word| word[..word.floor_char_boundary(MAX_VALUE)].to_owned()),
            precedence: short("precedence").map(|text| text.to_ascii_lowercase()),
            list_id: short("list-id"),
            delivered_to: delivered.filter_map(|field| super::address::first(&field.text())).collect(),
            answers: original::answers(&head),
        }
    }

    /// Whether the mail has gone through so many hosts that it goes round in circles.
    pub fn is_loop(&self) -> bool {
        self.hops >= MAX_HOPS
    }

    /// Whether no automatic answer may follow: a machine wrote the mail, or it came to many (RFC 3834 section 2).
    pub fn is_automatic(&self) -> bool {
        self.auto_submitted.as_deref().is_some_and(|word| word != "no")
            || matches!(
                self.precedence.as_deref(),
                Some("bulk" | "list" | "junk" | "auto_reply" | "auto-reply")
            )
            || self.list_id.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Facts;

    #[test]
    fn loops_and_machines_are_recognised() {
        let hop = "Received: from a.example by b.example; Mon, 1 Jan 2024 00:00:00 +0000\r\n";
        for (raw, hops, is_loop, is_automatic) in [
            (String::new(), 0, false, false),
            (format!("{}\r\nReceived: x\r\n", hop.repeat(3)), 3, false, false),
            (format!("{}Auto-Submitted: no\r\n\r\n", hop.repeat(99)), 99, false, false),
            (format!("{}Auto-Submitted: Auto-Replied; x=y\r\n\r\n", hop.repeat(100)), 100, true, true),
            (hop.repeat(200_000), 1000, true, false),
            ("Precedence: Bulk\n\n".to_owned(), 0, false, true),
            ("List-Id: Ours <ours.example>\n\n".to_owned(), 0, false, true),
            ("X-Auto-Response-Suppress: All\n\n".to_owned(), 0, false, false),
        ] {
            let facts = Facts::read(raw.as_bytes());
            assert_eq!((facts.hops, facts.is_loop(), facts.is_automatic()), (hops, is_loop, is_automatic));
        }
        let facts = Facts::read(
            b"Delivered-To: <a@b.example>\nIn-Reply-To: <1@x>\nReferences: <0@x> <2@x>\n <1@x>\n\n",
        );
        assert_eq!(facts.delivered_to, ["a@b.example"]);
        assert_eq!(facts.answers, ["1@x", "2@x", "0@x"]);
    }
}
