//! The relaxed canonical forms (RFC 6376 sections 3.4.2 and 3.4.4).

use ring::digest;

use crate::lines::split_line;

/// A header as it stands in the message.
pub(super) struct Field<'a> {
    /// Without white space around it.
    pub(super) name: &'a [u8],
    /// What follows the colon, folds included, without the final line end.
    pub(super) value: &'a [u8],
}

/// The canonical body is hashed in pieces of about this many bytes.
const PIECE: usize = 16 * 1024;

/// Splits a message into its headers, in order, and its body. Lines that are no headers are passed over.
pub(super) fn split(raw: &[u8]) -> (Vec<Field<'_>>, &[u8]) {
    let mut fields = Vec::with_capacity(16);
    let mut rest = raw;
    while let Some((line, after)) = split_line(rest) {
        if line.is_empty() {
            return (fields, after);
        }
        let mut end = line.len();
        let mut next = after;
        while let Some((continuation, after)) = split_line(next)
            && matches!(continuation.first(), Some(b' ' | b'\t'))
        {
            end = rest.len() - next.len() + continuation.len();
            next = after;
        }
        let field = &rest[..end];
        if let Some(colon) = memchr::memchr(b':', field) {
            fields.push(Field { name: field[..colon].trim_ascii(), value: &field[colon + 1..] });
        }
        rest = next;
    }
    (fields, &[])
}

/// Appends `name:value` in relaxed form, without a line end: the name in lower case, the value unfolded, every run of
/// white space one space, none at the ends.
pub(super) fn relax_header(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend(name.iter().map(u8::to_ascii_lowercase));
    out.push(b':');
    let is_white = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    for (nth, word) in value.split(is_white).filter(|word| !word.is_empty()).enumerate() {
        if nth > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(word);
    }
}

/// The SHA-256 of the body in relaxed form: no white space at the end of a line, every other run of it one space, no
/// empty lines at the end, and CRLF after every line that is left.
pub(super) fn body_hash(body: &[u8]) -> digest::Digest {
    let mut context = digest::Context::new(&digest::SHA256);
    let mut piece = Vec::with_capacity(PIECE + 1024);
    let mut empty_lines = 0;
    let mut rest = body;
    while let Some((line, after)) = split_line(rest) {
        rest = after;
        let line = trim_white_end(line);
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        for _ in 0..std::mem::take(&mut empty_lines) {
            piece.extend_from_slice(b"\r\n");
        }
        relax_line(line, &mut piece);
        piece.extend_from_slice(b"\r\n");
        if piece.len() > PIECE {
            context.update(&piece);
            piece.clear();
        }
    }
    context.update(&piece);
    context.finish()
}

fn trim_white_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
    &line[..end]
}

fn relax_line(line: &[u8], out: &mut Vec<u8>) {
    let mut white = false;
    for byte in line {
        if matches!(byte, b' ' | b'\t') {
            white = true;
            continue;
        }
        if std::mem::take(&mut white) {
            out.push(b' ');
        }
        out.push(*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &[u8]) -> Vec<u8> {
        digest::digest(&digest::SHA256, text).as_ref().to_vec()
    }

    #[test]
    fn bodies_are_relaxed() {
        // The first is the example of RFC 6376 section 3.4.5.
        for (body, canonical) in [
            (&b" C \r\nD \t E\r\n\r\n\r\n"[..], &b" C\r\nD E\r\n"[..]),
            (b"", b""),
            (b"\r\n\r\n \t\r\n", b""),
            (b"x", b"x\r\n"),
            (b"x\ny\rz\r\n", b"x\r\ny\r\nz\r\n"),
            (b"x\r\n\r\ny", b"x\r\n\r\ny\r\n"),
        ] {
            assert_eq!(body_hash(body).as_ref(), hash(canonical), "{}", body.escape_ascii());
        }
        let long = b"line  of text\r\n".repeat(5000);
        assert_eq!(body_hash(&long).as_ref(), hash(&b"line of text\r\n".repeat(5000)));
    }

    #[test]
    fn headers_are_relaxed() {
        // RFC 6376 section 3.4.5.
        let (fields, body) = split(b"A: X\r\nB : Y\t\r\n\tZ  \r\nno header\r\n\r\n C \r\n");
        let mut canonical = Vec::new();
        for field in &fields {
            relax_header(field.name, field.value, &mut canonical);
            canonical.push(b'\n');
        }
        assert_eq!(canonical, b"a:X\nb:Y Z\n");
        assert_eq!(body, b" C \r\n");
    }

    #[test]
    fn a_message_may_lack_a_body_or_everything() {
        assert_eq!(split(b"A: b").0.len(), 1);
        assert_eq!(split(b"A: b\r\n").1, b"");
        assert!(split(b"").0.is_empty());
        assert_eq!(split(b"\r\nbody").1, b"body");
    }
}
