//! Encoded words: text beyond ASCII in headers (RFC 2047).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The longest encoded word (section 2).
const MAX_WORD: usize = 75;
/// The longest line that holds one (section 2).
pub(super) const MAX_LINE: usize = 76;
/// What a word has beside its text: `=?utf-8?Q?` and `?=`.
const OVERHEAD: usize = 12;
/// A word that has less room than this for its text begins on the next line.
pub(super) const LEAST: usize = 24;

/// Where encoded words stand, which decides what a "Q" word may hold as it is (section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the name before an address.
    Phrase,
    /// In free text.
    Text,
}

/// Whether a reader would take `text`, or a part of it, for an encoded word. It has to be encoded to be read as
/// written.
pub(super) fn resembles(text: &str) -> bool {
    text.contains("=?")
}

/// Appends `text` as encoded words from `column` of the line on, in "Q" where most of it is ASCII and in "B" otherwise.
/// Returns the column after it. Every word holds whole characters.
pub(super) fn write(out: &mut Vec<u8>, text: &str, place: Place, mut column: usize) -> usize {
    let in_q: usize = text.chars().map(|c| q_len(c, place)).sum();
    let is_b = in_q > 2 * text.len();
    let mut rest = text;
    while !rest.is_empty() {
        let room = MAX_LINE.saturating_sub(column).min(MAX_WORD).saturating_sub(OVERHEAD);
        if room < LEAST {
            out.extend_from_slice(b"\r\n ");
            column = 1;
            continue;
        }
        let end =
            if is_b { fit(rest, room / 4 * 3, char::len_utf8) } else { fit(rest, room, |c| q_len(c, place)) };
        let (word, after) = rest.split_at(end);
        let before = out.len();
        if is_b {
            out.extend_from_slice(b"=?utf-8?B?");
            out.extend_from_slice(BASE64.encode(word).as_bytes());
        } else {
            out.extend_from_slice(b"=?utf-8?Q?");
            write_q(out, word, place);
        }
        out.extend_from_slice(b"?=");
        column += out.len() - before;
        rest = after;
        if !rest.is_empty() {
            out.extend_from_slice(b"\r\n ");
            column = 1;
        }
    }
    column
}

/// How many bytes of `text`, in whole characters, have at most `room` by this measure.
fn fit(text: &str, room: usize, measure: impl Fn(char) -> usize) -> usize {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += measure(*c);
        used > room
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Whether a character stands for itself in a "Q" word.
fn is_plain(c: char, place: Place) -> bool {
    match place {
        Place::Phrase => c.is_ascii_alphanumeric() || "!*+-/".contains(c),
        Place::Text => c.is_ascii_graphic() && !"=?_".contains(c),
    }
}

fn q_len(c: char, place: Place) -> usize {
    if c == ' ' || is_plain(c, place) { 1 } else { c.len_utf8() * 3 }
}

fn write_q(out: &mut Vec<u8>, text: &str, place: Place) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for c in text.chars() {
        if c == ' ' {
            out.push(b'_');
        } else if is_plain(c, place) {
            out.push(c as u8);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                out.extend_from_slice(&[b'=', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, place: Place, column: usize) -> String {
        let mut out = Vec::new();
        write(&mut out, text, place, column);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_encoding_is_the_readable_one_or_else_the_short_one() {
        assert_eq!(written("Grüße, an alle", Place::Text, 9), "=?utf-8?Q?Gr=C3=BC=C3=9Fe,_an_alle?=");
        assert_eq!(written("Müller, A. (x)", Place::Phrase, 6), "=?utf-8?Q?M=C3=BCller=2C_A=2E_=28x=29?=");
        assert_eq!(written("日本語", Place::Text, 9), "=?utf-8?B?5pel5pys6Kqe?=");
        assert_eq!(
            written("=?utf-8?B?SGk=?= x", Place::Text, 9),
            "=?utf-8?Q?=3D=3Futf-8=3FB=3FSGk=3D=3F=3D_x?="
        );
    }

    #[test]
    fn lines_and_words_keep_to_their_length_and_to_whole_characters() {
        for text in ["é".repeat(400), "日本".repeat(200), format!("{}日", "x".repeat(300)), "💥 ü".repeat(90)]
        {
            for column in [1, 9, 50, 51, 52, 76, 300] {
                for place in [Place::Phrase, Place::Text] {
                    let written = written(&text, place, column);
                    for (nth, line) in written.split("\r\n").enumerate() {
                        let start = if nth == 0 { column } else { 0 };
                        assert!(line.is_empty() || start + line.len() <= MAX_LINE, "{column}: {line}");
                        assert!(line.trim_start().len() <= MAX_WORD, "{line}");
                        assert!(line.is_empty() || line.ends_with("?="), "{line}");
                    }
                    let raw = format!("Subject: {}\r\n\r\n", written.trim_start());
                    let parsed = mail_parser::MessageParser::default().parse(&raw).unwrap();
                    assert_eq!(parsed.subject(), Some(&*text));
                }
            }
        }
    }
}
