//! The lines of a message, whatever their line ends.
//!
//! On the wire a line ends with CRLF (RFC 5321 section 2.3.8). A bare CR or LF in the content is sent as CRLF. So
//! everything that is computed over a message, above all a signature, has to see the same lines.

/// Splits the first line off `text`: the line without its end, and what follows it.
///
/// CRLF, a bare LF and a bare CR all end a line. A last line without an end is a line; empty `text` has none.
pub(crate) fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if text.is_empty() {
        return None;
    }
    let Some(end) = memchr::memchr2(b'\r', b'\n', text) else {
        return Some((text, &[]));
    };
    let after = if text[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 };
    Some((&text[..end], &text[after..]))
}

#[cfg(test)]
mod tests {
    use super::split_line;

    #[test]
    fn every_kind_of_line_end_splits() {
        let mut rest: &[u8] = b"a\r\nb\nc\rd\r\n\r\ne";
        let mut lines = Vec::new();
        while let Some((line, after)) = split_line(rest) {
            lines.push(line);
            rest = after;
        }
        assert_eq!(lines, [&b"a"[..], b"b", b"c", b"d", b"", b"e"]);
    }
}
