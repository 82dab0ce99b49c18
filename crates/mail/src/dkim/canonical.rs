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
///
/// What is in that form already is hashed where it lies.
pub(super) fn body_hash(body: &[u8]) -> digest::Digest {
    let mut context = digest::Context::new(&digest::SHA256);
    let last = body.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let Some(last) = last else { return context.finish() };
    let mut rest = &body[..=last];
    while let Some(at) = find_odd(rest) {
        let (canonical, odd) = rest.split_at(at);
        context.update(canonical);
        if matches!(odd[0], b' ' | b'\t') {
            let end = odd.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(odd.len());
            rest = &odd[end..];
            if !matches!(rest.first(), Some(b'\r' | b'\n')) {
                context.update(b" ");
            }
        } else {
            context.update(b"\r\n");
            rest = &odd[1..];
        }
    }
    context.update(rest);
    context.update(b"\r\n");
    context.finish()
}

/// Bytes that are looked at together.
const STRIDE: usize = 64;

/// Where the first white space that has to be changed is, or the first CR or LF that is not part of a CRLF. The last
/// byte of `text` is neither.
fn find_odd(text: &[u8]) -> Option<usize> {
    if text.first() == Some(&b'\n') {
        return Some(0);
    }
    let next = text.get(1..)?;
    // whole strides without a branch for each byte, which the compiler makes vectors of
    let strides = text.chunks_exact(STRIDE).zip(next.chunks_exact(STRIDE));
    let even = strides.take_while(|(these, nexts)| {
        !these.iter().zip(*nexts).fold(false, |odd, (this, next)| odd | is_odd(*this, *next))
    });
    let from = even.count() * STRIDE;
    let at = from + text[from..].iter().zip(&next[from..]).position(|(this, next)| is_odd(*this, *next))?;
    let bare_newline = next[at] == b'\n' && !matches!(text[at], b' ' | b'\t' | b'\r');
    Some(if bare_newline { at + 1 } else { at })
}

/// Whether of these two bytes the first, or a line feed after it, is not as it has to be.
#[expect(clippy::needless_bitwise_bool, reason = "no branches, so that many bytes are looked at together")]
fn is_odd(this: u8, next: u8) -> bool {
    let white_next = (next == b' ') | (next == b'\t') | (next == b'\r') | (next == b'\n');
    (this == b'\t')
        | ((this == b' ') & white_next)
        | ((this == b'\r') & (next != b'\n'))
        | ((this != b'\r') & (next == b'\n'))
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
        // as the rules say, line by line, whatever is where
        let pieces: [&[u8]; 9] =
            [b"word", b" ", b"\t", b"\r\n", b"\n", b"\r", b"x", b"a longer piece of text.", b"  "];
        let mut seed = 1_u32;
        for _ in 0..2000 {
            let mut body = Vec::new();
            for _ in 0..seed % 60 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                body.extend_from_slice(pieces[(seed >> 16) as usize % pieces.len()]);
            }
            seed = seed.wrapping_add(1);
            assert_eq!(body_hash(&body).as_ref(), hash(&relaxed(&body)), "{}", body.escape_ascii());
        }
        let long = b"line  of text\r\n".repeat(5000);
        assert_eq!(body_hash(&long).as_ref(), hash(&b"line of text\r\n".repeat(5000)));
    }

    fn relaxed(body: &[u8]) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut rest = body;
        while let Some((line, after)) = split_line(rest) {
            let words: Vec<_> = line.split(|b| matches!(b, b' ' | b'\t')).collect();
            let begins_white = words.len() > 1 && words[0].is_empty();
            let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let start: &[u8] = if begins_white && !words.is_empty() { b" " } else { b"" };
            lines.push([start, &words.join(&b' '), b"\r\n"].concat());
            rest = after;
        }
        while lines.last().is_some_and(|line| line == b"\r\n") {
            lines.pop();
        }
        lines.concat()
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
