//! The output of a render: bounded, and escaped.

use super::value::cut;

/// A text that stops growing at its limit.
#[derive(Debug)]
pub(super) struct Output {
    text: String,
    limit: usize,
    full: bool,
}

impl Output {
    /// Writes behind `text`, at most `room` bytes.
    pub(super) fn new(text: String, room: usize) -> Self {
        Self { limit: text.len().saturating_add(room), text, full: false }
    }

    /// Whether something did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Writes `text` as far as it fits.
    pub(super) fn push(&mut self, text: &str) {
        if self.full {
            return;
        }
        let room = self.limit - self.text.len();
        self.full = text.len() > room;
        self.text.push_str(cut(text, room));
    }

    /// Writes `text` with entities in place of the characters that mean something in HTML.
    pub(super) fn push_escaped(&mut self, text: &str) {
        let mut from = 0;
        for (at, byte) in text.bytes().enumerate() {
            let Some(entity) = entity(byte) else { continue };
            self.push(&text[from..at]);
            // Half an entity would be worse than none.
            if self.full || self.limit - self.text.len() < entity.len() {
                self.full = true;
                return;
            }
            self.text.push_str(entity);
            from = at + 1;
        }
        self.push(&text[from..]);
    }
}

/// The entity for `byte`, if it means something in HTML.
pub(super) fn entity(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&quot;",
        b'\'' => "&#39;",
        _ => return None,
    })
}

/// `text` with entities in place of the characters that mean something in HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut out = Output::new(String::with_capacity(text.len()), usize::MAX);
    out.push_escaped(text);
    out.into_text()
}
