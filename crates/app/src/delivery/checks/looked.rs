//! What a mail says of itself, by its bytes alone.

use mail_parser::{Message, MessageParser};
use mailwright_mail::text::{Survey, html_to_text};

/// What a mail says of itself.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(super) struct Looked {
    pub(super) survey: Survey,
    pub(super) subject: String,
    /// Whether it says how to unsubscribe.
    pub(super) has_unsubscribe: bool,
    /// Whether a program can unsubscribe its reader with one request (RFC 8058).
    pub(super) is_one_click: bool,
    /// Whether it says that it is bulk mail.
    pub(super) is_bulk: bool,
    /// Characters of its text, without spaces and addresses.
    pub(super) characters: usize,
    /// Whether its plain text is empty.
    pub(super) has_empty_text: bool,
    /// Bytes of the whole mail.
    pub(super) size: usize,
    /// Bytes of its HTML.
    pub(super) html_size: usize,
}

impl Looked {
    /// Looks through a mail, whose subject is known.
    pub(super) fn at(raw: &[u8], subject: &str) -> Self {
        let parsed = MessageParser::default().parse(raw);
        let html = parsed.as_ref().and_then(|message| message.body_html(0)).unwrap_or_default();
        let plain = parsed.as_ref().and_then(|message| message.body_text(0)).unwrap_or_default();
        let header = |name| parsed.as_ref().map(|message| text(message, name)).unwrap_or_default();
        let one_click = header("List-Unsubscribe-Post").to_ascii_lowercase();
        Self {
            survey: Survey::of(&html),
            subject: subject.to_owned(),
            has_unsubscribe: header("List-Unsubscribe").contains('<'),
            is_one_click: one_click.contains("list-unsubscribe=one-click"),
            is_bulk: header("Precedence").eq_ignore_ascii_case("bulk"),
            characters: characters(&html),
            has_empty_text: plain.trim().is_empty() && !html.trim().is_empty(),
            size: raw.len(),
            html_size: html.len(),
        }
    }
}

/// A header field as it stands in the mail, in one line.
fn text(message: &Message<'_>, name: &str) -> String {
    message.header_raw(name).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many characters a reader sees as text. Addresses of links are no text.
fn characters(html: &str) -> usize {
    let text = html_to_text(html);
    let words = text.split_whitespace().filter(|word| !word.contains("://"));
    words.map(|word| word.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_says_what_it_is() {
        let raw = b"Precedence: bulk\r\nList-Unsubscribe: <https://a.test>\r\n\
            List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n\
            --b\r\nContent-Type: text/plain\r\n\r\n \r\n--b\r\nContent-Type: text/html\r\n\r\n\
            <p>Hi <a href='https://a.test/1234567890'>you</a></p>\r\n--b--\r\n";
        let looked = Looked::at(raw, "Hi");
        assert!(looked.has_unsubscribe && looked.is_one_click && looked.is_bulk && looked.has_empty_text);
        assert_eq!((looked.characters, looked.size), (5, raw.len()));
        assert_eq!(looked.survey.links.len(), 1);
        let plain = Looked::at(b"Content-Type: text/plain\r\n\r\nHello\r\n", "");
        assert!(!plain.has_unsubscribe && !plain.is_bulk && !plain.has_empty_text);
    }
}
