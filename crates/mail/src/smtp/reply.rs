//! Replies (RFC 5321 section 4.2, RFC 3463).

use std::fmt;

use mailwright_core::name::is_hidden;

/// The longest line of a reply that is read; RFC 5321 section 4.5.3.1.5 allows 512 bytes.
const MAX_LINE: usize = 4 * 1024;
/// The longest reply that is read, all lines together.
pub(super) const MAX_REPLY: usize = 16 * 1024;
/// How much of a reply's text is kept.
const MAX_TEXT: usize = 2 * 1024;

/// A server's answer to a command or to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Three digits, 200 to 599; that of the last line.
    pub code: u16,
    /// The enhanced status code, such as `5.1.1`, when the text begins with one that fits `code`, or names one as
    /// `#5.1.1` does.
    pub enhanced: Option<(u8, u16, u16)>,
    /// The text of all lines, enhanced code included, joined by `\n`; at most 2 KiB, control characters as spaces, and
    /// so invisible ones and those that turn the direction of writing around: it is shown to people and stands in logs.
    pub text: String,
}

impl Reply {
    /// 2yz: the command was carried out.
    pub fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// 4yz: refused for now; the same may succeed later.
    pub fn is_transient(&self) -> bool {
        self.code / 100 == 4
    }

    /// 5yz: refused for good.
    pub fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }

    /// 421: the server closes the connection (RFC 5321 section 3.8).
    pub fn is_closing(&self) -> bool {
        self.code == 421
    }

    /// The server does not know the command or its arguments, does not do it, or not now (RFC 5321 section 4.2.2, RFC
    /// 3463 section 3.6): it says nothing of the message.
    pub(super) fn is_about_the_command(&self) -> bool {
        (500..=504).contains(&self.code) || self.enhanced == Some((5, 5, 1))
    }

    /// The codes without the text, which may name a recipient, or repeat what we said.
    pub fn codes(&self) -> String {
        match self.enhanced {
            Some((class, subject, detail)) => format!("{} {class}.{subject}.{detail}", self.code),
            None => self.code.to_string(),
        }
    }

    /// The same reply with nothing but its codes.
    pub(super) fn without_text(self) -> Self {
        let text = self.enhanced.map(|(class, subject, detail)| format!("{class}.{subject}.{detail}"));
        Self { text: text.unwrap_or_default(), ..self }
    }

    /// A refusal: 4yz or 5yz.
    pub(super) fn is_refusal(&self) -> bool {
        self.is_transient() || self.is_permanent()
    }

    /// A reply as a server would have given it, for what we need not ask.
    pub(super) fn synthetic(code: u16, enhanced: (u8, u16, u16), text: &str) -> Self {
        let (class, subject, detail) = enhanced;
        Self { code, enhanced: Some(enhanced), text: format!("{class}.{subject}.{detail} {text}") }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.text)
    }
}

/// A reply with its lines apart, as EHLO needs them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RawReply {
    pub(super) code: u16,
    pub(super) lines: Vec<String>,
}

impl From<RawReply> for Reply {
    fn from(raw: RawReply) -> Self {
        let mut text = String::new();
        for (nth, line) in raw.lines.iter().enumerate() {
            let room = MAX_TEXT.saturating_sub(text.len() + 1);
            if room == 0 {
                break;
            }
            if nth > 0 {
                text.push('\n');
            }
            let fits = line.floor_char_boundary(room);
            let is_odd = |c: char| c.is_control() || is_hidden(c);
            text.extend(line[..fits].chars().map(|c| if is_odd(c) { ' ' } else { c }));
        }
        Self { code: raw.code, enhanced: enhanced(raw.code, &text), text }
    }
}

/// The status code that `text` begins with (RFC 2034 section 4), or one that is written as `#5.7.1`, which servers did
/// before there was a standard, mostly in brackets at the end.
fn enhanced(code: u16, text: &str) -> Option<(u8, u16, u16)> {
    let first = text.split([' ', '\n']).next().unwrap_or_default();
    let marked = text.split('#').skip(1).filter_map(|rest| {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        rest.split(|c| !is_part(c)).next().map(|status| status.trim_end_matches('.'))
    });
    std::iter::once(first).chain(marked).find_map(|status| read_status(code, status))
}

/// Reads a status code, whose class has to be that of `code`.
fn read_status(code: u16, status: &str) -> Option<(u8, u16, u16)> {
    let mut parts = status.split('.');
    let class: u8 = parts.next()?.parse().ok()?;
    let number = |part: Option<&str>| part.filter(|p| p.len() <= 3)?.parse().ok();
    let (subject, detail) = (number(parts.next())?, number(parts.next())?);
    (parts.next().is_none() && u16::from(class) == code / 100).then_some((class, subject, detail))
}

/// Takes the first reply off `input`: it and its length, or `None` while it is not complete.
///
/// Lines may end with a bare LF, and their codes may differ, then the last counts; both occur.
pub(super) fn parse(input: &[u8]) -> Result<Option<(RawReply, usize)>, &'static str> {
    let mut lines = Vec::with_capacity(1);
    let mut at = 0;
    loop {
        let rest = &input[at..];
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return if rest.len() > MAX_LINE { Err("a line of the reply does not end") } else { Ok(None) };
        };
        at += end + 1;
        if end > MAX_LINE || at > MAX_REPLY {
            return Err("the reply is too long");
        }
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        let (code, more, text) = parse_line(line).ok_or("this is not an SMTP reply")?;
        lines.push(String::from_utf8_lossy(text).into_owned());
        if !more {
            return Ok(Some((RawReply { code, lines }, at)));
        }
    }
}

/// The code, whether more lines follow, and the text.
fn parse_line(line: &[u8]) -> Option<(u16, bool, &[u8])> {
    let (digits, rest) = line.split_at_checked(3)?;
    if !digits.iter().all(u8::is_ascii_digit) || !(b'2'..=b'5').contains(&digits[0]) {
        return None;
    }
    let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    match rest.split_first() {
        None => Some((code, false, b"")),
        Some((b' ', text)) => Some((code, false, text)),
        Some((b'-', text)) => Some((code, true, text)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reply(input: &str) -> Reply {
        let (raw, length) = parse(input.as_bytes()).unwrap().unwrap();
        assert_eq!(length, input.len());
        raw.into()
    }

    #[test]
    fn replies_are_read() {
        for (input, code, enhanced, text) in [
            ("250 OK\r\n", 250, None, "OK"),
            ("250\r\n", 250, None, ""),
            ("250 2.1.5 Ok\n", 250, Some((2, 1, 5)), "2.1.5 Ok"),
            ("550-5.1.1 No such\r\n550 5.1.1 user\r\n", 550, Some((5, 1, 1)), "5.1.1 No such\n5.1.1 user"),
            ("250-one\r\n251 two\r\n", 251, None, "one\ntwo"),
            ("450 5.1.1 class differs\r\n", 450, None, "5.1.1 class differs"),
            ("450 4.1 short\r\n", 450, None, "4.1 short"),
            ("450 4.1.1.1 long\r\n", 450, None, "4.1.1.1 long"),
            ("450 4.1.1000 wide\r\n", 450, None, "4.1.1000 wide"),
            ("550 #5.1.0 Rejected.\r\n", 550, Some((5, 1, 0)), "#5.1.0 Rejected."),
            ("553 sorry. (#5.7.1)\r\n", 553, Some((5, 7, 1)), "sorry. (#5.7.1)"),
            ("553 ticket #12, see #5.7.1.\r\n", 553, Some((5, 7, 1)), "ticket #12, see #5.7.1."),
            ("450 no (#5.7.1)\r\n", 450, None, "no (#5.7.1)"),
            ("554 a\u{1b}[31mb\tc\u{9f}\r\n", 554, None, "a [31mb c "),
            ("554 a\u{202e}b\u{2066}c\u{200b}\r\n", 554, None, "a b c "),
        ] {
            let read = reply(input);
            assert_eq!((read.code, read.enhanced, read.text.as_str()), (code, enhanced, text), "{input}");
        }
    }

    #[test]
    fn what_a_server_says_of_a_command_is_told_apart() {
        for (input, is_about_the_command) in [
            ("500 what?\r\n", true),
            ("501 5.5.4 syntax\r\n", true),
            ("502 5.5.1 unknown command\r\n", true),
            ("503 bad sequence of commands\r\n", true),
            ("504 not implemented\r\n", true),
            ("554 5.5.1 invalid command\r\n", true),
            ("505 5.7.1 no\r\n", false),
            ("550 5.7.1 spam\r\n", false),
            ("554 no\r\n", false),
            ("450 4.5.1 later\r\n", false),
            ("250 ok\r\n", false),
        ] {
            assert_eq!(reply(input).is_about_the_command(), is_about_the_command, "{input}");
        }
    }

    #[test]
    fn what_is_no_reply_is_told_apart_from_what_is_incomplete() {
        for input in ["", "2", "250", "250 OK\r", "250-a\r\n", "250-a\r\n250"] {
            assert_eq!(parse(input.as_bytes()), Ok(None), "{input}");
        }
        let endless = format!("250 {}", "x".repeat(MAX_LINE));
        let many = "250-x\r\n".repeat(MAX_REPLY / 7 + 1);
        for input in
            ["HTTP/1.1 400\r\n", "\r\n", "25\r\n", "250x\r\n", "150 a\r\n", "650 a\r\n", &endless, &many]
        {
            assert!(parse(input.as_bytes()).is_err(), "{input}");
        }
    }

    #[test]
    fn text_is_bounded() {
        let line = format!("550-{}\r\n", "\u{20ac}".repeat(1000));
        let read = reply(&format!("{line}{line}550 end\r\n"));
        assert!(read.text.len() <= MAX_TEXT, "{}", read.text.len());
        assert!(read.text.starts_with('\u{20ac}'));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(input in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(Some((raw, length))) = parse(&input) {
                prop_assert!(length <= input.len());
                let reply = Reply::from(raw);
                prop_assert!((200..600).contains(&reply.code));
            }
        }
    }
}
