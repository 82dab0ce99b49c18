//! Replies, and the verdicts that become replies.

use std::borrow::Cow;

/// The most characters of a reply's text: with code and status they stay below the 512 of RFC 5321 section 4.5.3.1.5.
const MOST_TEXT: usize = 400;

/// What the owner of a session says of a recipient or of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken, and with it the responsibility for it.
    Accept,
    /// It is refused.
    Refuse(Refusal),
    /// It cannot be decided now: the client is told to try again (451 4.3.0).
    Later,
}

/// A reply that refuses: for now (4yz) or for good (5yz).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    code: u16,
    /// Subject and detail of the enhanced status code (RFC 3463). Its class is that of the code.
    status: (u16, u16),
    text: Cow<'static, str>,
}

impl Refusal {
    /// A refusal. `code` is that of RFC 5321 section 4.2, from 400 to 599 (anything else counts as 451); `status` is
    /// subject and detail of the enhanced status code (RFC 3463), such as `(1, 1)` for an unknown recipient. The text
    /// is cut after 400 characters, and what is no printable ASCII in it is replaced. The connection is closed after
    /// a 421.
    pub fn new(code: u16, status: (u16, u16), text: impl Into<Cow<'static, str>>) -> Self {
        let code = if (400..=599).contains(&code) { code } else { 451 };
        Self { code, status: (status.0.min(999), status.1.min(999)), text: text.into() }
    }

    /// The recipient does not exist, or no mail is wanted for it: 550 5.1.1.
    pub fn unknown_recipient() -> Self {
        Self::fixed(550, (1, 1), "No such recipient here")
    }

    /// We take no mail for the domain: 550 5.7.1.
    pub fn relaying() -> Self {
        Self::fixed(550, (7, 1), "Relaying is not allowed")
    }

    /// There are too many connections, 421 4.7.0: for [`super::refuse`].
    pub fn too_many_connections() -> Self {
        Self::fixed(421, (7, 0), "Too many connections, try again later")
    }

    /// A refusal of our own, where code and text are known to be right.
    pub(super) const fn fixed(code: u16, status: (u16, u16), text: &'static str) -> Self {
        Self { code, status, text: Cow::Borrowed(text) }
    }

    /// The code, from 400 to 599.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Whether it is for good (5yz).
    pub fn is_permanent(&self) -> bool {
        self.code >= 500
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write(out, self.code, Some(self.status), &self.text);
    }
}

/// Appends a reply of one line. Without `status` there is no enhanced status code, as RFC 2034 section 4 asks for
/// greetings and for replies to EHLO.
pub(super) fn write(out: &mut Vec<u8>, code: u16, status: Option<(u16, u16)>, text: &str) {
    out.extend_from_slice(format!("{code} ").as_bytes());
    if let Some((subject, detail)) = status {
        out.extend_from_slice(format!("{}.{subject}.{detail} ", code / 100).as_bytes());
    }
    write_text(out, text);
}

/// Appends a line of a reply of several lines. The last one is not `continued`.
pub(super) fn write_line(out: &mut Vec<u8>, code: u16, continued: bool, text: &str) {
    out.extend_from_slice(format!("{code}{}", if continued { '-' } else { ' ' }).as_bytes());
    write_text(out, text);
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    let printable = text.chars().take(MOST_TEXT).map(|c| match c {
        ' '..='~' => c as u8,
        '\r' | '\n' | '\t' => b' ',
        _ => b'?',
    });
    out.extend(printable);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_line_that_is_safe() {
        for (refusal, line) in [
            (Refusal::new(550, (1, 1), "no"), "550 5.1.1 no\r\n"),
            (Refusal::new(450, (2, 1), "a\r\n250 b\u{e4}\0"), "450 4.2.1 a  250 b??\r\n"),
            (Refusal::new(250, (0, 0), "no"), "451 4.0.0 no\r\n"),
            (Refusal::new(599, (1000, 7), ""), "599 5.999.7 \r\n"),
        ] {
            let mut out = Vec::new();
            refusal.write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), line);
        }
        let mut out = Vec::new();
        Refusal::new(550, (999, 999), "x".repeat(10_000)).write(&mut out);
        assert!(out.len() <= 512);
    }
}
