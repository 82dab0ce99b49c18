//! The content of a message as it arrives: lines, dots and limits.

use memchr::memchr3;

use super::budget::Held;
use super::config::Limits;
use super::reply::Refusal;

/// Bare line ends and NUL: another server would see other lines, and with them another end of the message.
const BARE: Refusal =
    Refusal::fixed(554, (6, 0), "Lines end with CRLF; bare CR, bare LF and NUL are refused");
const TOO_LARGE: Refusal = Refusal::fixed(552, (3, 4), "The message is too large");
/// Of all sessions together.
const NO_ROOM: Refusal =
    Refusal::fixed(452, (3, 1), "Too much mail comes in at this moment; try again later");
const LINE_TOO_LONG: Refusal = Refusal::fixed(500, (6, 0), "A line of the message is too long");

/// Takes content between 354 and the final dot, in any pieces.
#[derive(Debug)]
pub(super) struct Content {
    /// What was received, without the dots of RFC 5321 section 4.5.2.
    bytes: Vec<u8>,
    /// How much came in, in bytes.
    received: u64,
    /// How much was thrown away, in bytes.
    discarded: usize,
    /// The length of the line that is being read, or `None` before its first byte.
    line: Option<usize>,
    /// Why the message will be refused at its end.
    refusal: Option<Refusal>,
}

/// How far the content is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More is to come.
    Open,
    /// The final dot: the content, or why it is refused.
    Done(Result<Vec<u8>, Refusal>),
    /// Nothing more can be believed of what the client sends.
    Broken(Refusal),
}

impl Content {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), received: 0, discarded: 0, line: None, refusal: None }
    }

    /// How much came in, in bytes.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How much memory it takes.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Takes from the beginning of `input`: how much of it was taken. At most two bytes are left while more is to come,
    /// and they belong before what comes next. `held` counts its memory among that of all sessions, and still does once
    /// the content is complete.
    pub(super) fn take(&mut self, input: &[u8], limits: &Limits, held: &mut Held) -> (usize, Progress) {
        let mut at = 0;
        let progress = loop {
            let rest = &input[at..];
            if self.line.is_none() {
                match rest {
                    [] | [b'.'] | [b'.', b'\r'] => break Progress::Open,
                    [b'.', b'\r', b'\n', ..] => {
                        at += 3;
                        let bytes = std::mem::take(&mut self.bytes);
                        break Progress::Done(self.refusal.take().map_or(Ok(bytes), Err));
                    }
                    [b'.', ..] => {
                        at += 1;
                        self.line = Some(1);
                        continue;
                    }
                    _ => self.line = Some(0),
                }
            }
            let end = memchr3(b'\r', b'\n', 0, rest);
            let text = &rest[..end.unwrap_or(rest.len())];
            at += text.len();
            self.put(text, limits, held);
            self.line = self.line.map(|length| length + text.len());
            if let Some(refusal) = self.refusal.as_ref().filter(|_| self.discarded > limits.discarded) {
                break Progress::Broken(refusal.clone());
            }
            match rest.get(text.len()..).unwrap_or_default() {
                [] | [b'\r'] => break Progress::Open,
                [b'\r', b'\n', ..] => {
                    at += 2;
                    self.line = None;
                    self.put(b"\r\n", limits, held);
                }
                _ => break Progress::Broken(BARE),
            }
        };
        self.received += at as u64;
        (at, progress)
    }

    /// Takes a piece of a line, or its end. Which limit is passed first does not depend on the pieces.
    fn put(&mut self, text: &[u8], limits: &Limits, held: &mut Held) {
        let of_line = limits.content_line.saturating_sub(self.line.unwrap_or_default());
        let of_message = limits.message_size.saturating_sub(self.bytes.len());
        if self.refusal.is_none() && text.len() > of_line.min(of_message) {
            self.refuse(if of_line < of_message { LINE_TOO_LONG } else { TOO_LARGE }, held);
        }
        let capacity = self.capacity_with(text.len(), limits);
        let more = capacity.saturating_sub(self.bytes.capacity());
        if self.refusal.is_none() && more > 0 && !held.grow(more, limits.content_budget) {
            self.refuse(NO_ROOM, held);
        }
        if self.refusal.is_some() {
            self.discarded = self.discarded.saturating_add(text.len());
            return;
        }
        if more > 0 {
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(text);
    }

    /// How much memory is wanted for so many bytes more: twice as much each time, yet never more than a message may have.
    fn capacity_with(&self, more: usize, limits: &Limits) -> usize {
        let (length, capacity) = (self.bytes.len() + more, self.bytes.capacity());
        if length > capacity { (2 * capacity).min(limits.message_size).max(length) } else { capacity }
    }

    fn refuse(&mut self, refusal: Refusal, held: &mut Held) {
        self.refusal = Some(refusal);
        self.discarded = self.bytes.len();
        self.bytes = Vec::new();
        held.release();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn limits() -> Limits {
        Limits { message_size: 40, discarded: 50, content_line: 12, ..Limits::default() }
    }

    /// Everything that becomes of pieces: the end, and what was left of the input.
    fn take(pieces: &[&[u8]], limits: &Limits) -> (Progress, Vec<u8>) {
        let (mut content, mut input) = (Content::new(), Vec::new());
        let mut held = Held::new(&Arc::default());
        for (index, piece) in pieces.iter().enumerate() {
            input.extend_from_slice(piece);
            let (taken, progress) = content.take(&input, limits, &mut held);
            input.drain(..taken);
            assert!(content.capacity() <= limits.message_size);
            if progress != Progress::Open {
                input.extend(pieces[index + 1..].concat());
                return (progress, input);
            }
            assert!(input.len() <= 2);
        }
        (Progress::Open, input)
    }

    #[test]
    fn content_ends_with_a_dot_alone() {
        for (sent, content, left) in [
            (&b".\r\n"[..], &b""[..], &b""[..]),
            (b"a\r\n.\r\nQUIT\r\n", b"a\r\n", b"QUIT\r\n"),
            (b"..\r\n...\r\n.a\r\n.\r\n.\r\n", b".\r\n..\r\na\r\n", b".\r\n"),
            (b"\r\n\r\n.\r\n", b"\r\n\r\n", b""),
            (b"a.\r\n .\r\n.\r\n", b"a.\r\n .\r\n", b""),
        ] {
            let expected = (Progress::Done(Ok(content.to_vec())), left.to_vec());
            assert_eq!(take(&[sent], &limits()), expected, "{}", sent.escape_ascii());
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for sent in [
            &b"a\n.\n"[..],
            b"a\r.\r",
            b"a\n.\r\n",
            b"a\r\n.\n",
            b"a\r\n.\r.",
            b"a\r\n.\0\r\n",
            b"\0",
            b"a\rb",
            b"\r\r\n",
            b"a\r\n.\r\r\n",
            b".\rb",
            b"a\r\0\n",
        ] {
            let (progress, _) = take(&[sent], &limits());
            assert_eq!(progress, Progress::Broken(BARE), "{}", sent.escape_ascii());
        }
    }

    #[test]
    fn what_is_too_large_is_read_for_a_while() {
        let line = b"0123456789\r\n";
        assert_eq!(
            take(&[&line.repeat(3), b"ab\r\n.\r\n"], &limits()).0,
            Progress::Done(Ok([&line.repeat(3)[..], b"ab\r\n"].concat()))
        );
        assert_eq!(take(&[&line.repeat(3), b"abc\r\n.\r\n"], &limits()).0, Progress::Done(Err(TOO_LARGE)));
        assert_eq!(take(&[b"0123456789abc\r\n.\r\n"], &limits()).0, Progress::Done(Err(LINE_TOO_LONG)));
        assert_eq!(take(&[&line.repeat(5)], &limits()).0, Progress::Broken(TOO_LARGE));
        assert_eq!(take(&[&[b'x'; 51]], &limits()).0, Progress::Broken(LINE_TOO_LONG));
    }

    proptest! {
        #[test]
        fn pieces_change_nothing(
            sent in prop::collection::vec(prop::sample::select(b"\r\r\n\n....aaa\0\xff".to_vec()), 0..60),
            cuts in prop::collection::vec(0usize..60, 0..6),
        ) {
            let limits = limits();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(sent.len())).collect();
            cuts.extend([0, sent.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|pair| &sent[pair[0]..pair[1]]).collect();
            let whole = take(&[&sent], &limits);
            let pieced = take(&pieces, &limits);
            prop_assert_eq!(&whole.0, &pieced.0);
            if matches!(whole.0, Progress::Done(_)) {
                prop_assert_eq!(whole.1, pieced.1);
            }
        }
    }
}
