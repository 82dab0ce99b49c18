//! Content as it is sent.

use crate::lines::split_line;

/// Turns content into what is sent: every line ends with CRLF, bare CR and LF included (RFC 5321 section 2.3.8). After DATA
/// a dot at the start of a line is doubled (section 4.5.2); BDAT counts bytes, and none is added (RFC 3030 section 2).
/// Content may be given in pieces.
pub(super) struct Encoder {
    doubles_dots: bool,
    at_line_start: bool,
    /// The last piece ended with a CR, which was written as CRLF: an LF that follows belongs to it.
    after_cr: bool,
}

impl Encoder {
    /// For what is sent between the reply 354 and the final dot.
    pub(super) fn for_data() -> Self {
        Self { doubles_dots: true, at_line_start: true, after_cr: false }
    }

    /// For what follows a BDAT command.
    pub(super) fn for_bdat() -> Self {
        Self { doubles_dots: false, ..Self::for_data() }
    }

    /// Appends `piece`, ready to be sent, to `out`.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let Some(last) = piece.last() else {
            return;
        };
        let mut rest = piece;
        if self.after_cr {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        self.after_cr = *last == b'\r';
        while let Some((line, after)) = split_line(rest) {
            if self.doubles_dots && self.at_line_start && line.first() == Some(&b'.') {
                out.push(b'.');
            }
            out.extend_from_slice(line);
            self.at_line_start = line.len() < rest.len();
            if self.at_line_start {
                out.extend_from_slice(b"\r\n");
            }
            rest = after;
        }
    }

    /// Ends the last line when it has no end: a message ends with the end of a line.
    pub(super) fn finish(self, out: &mut Vec<u8>) {
        if !self.at_line_start {
            out.extend_from_slice(b"\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(mut encoder: Encoder, pieces: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in pieces {
            encoder.push(piece, &mut out);
        }
        encoder.finish(&mut out);
        out
    }

    fn stuff(pieces: &[Vec<u8>]) -> Vec<u8> {
        encoded(Encoder::for_data(), pieces)
    }

    /// What a server makes of it.
    fn unstuff(sent: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for line in sent.split_inclusive(|byte| *byte == b'\n') {
            assert_ne!(line, b".\r\n", "the content would end here");
            out.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
        }
        out
    }

    /// `content` with CRLF for every line end and at the end, byte by byte.
    fn normal(content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, byte) in content.iter().enumerate() {
            match byte {
                b'\n' if at > 0 && content[at - 1] == b'\r' => {}
                b'\n' | b'\r' => out.extend_from_slice(b"\r\n"),
                byte => out.push(*byte),
            }
        }
        if !out.is_empty() && !out.ends_with(b"\r\n") {
            out.extend_from_slice(b"\r\n");
        }
        out
    }

    #[test]
    fn content_is_stuffed() {
        for (content, sent) in [
            ("", ""),
            ("a", "a\r\n"),
            (".", "..\r\n"),
            ("a\r\n.\r\nb\r\n", "a\r\n..\r\nb\r\n"),
            ("a\n.\nb\r.\rc", "a\r\n..\r\nb\r\n..\r\nc\r\n"),
            ("..\r\n", "...\r\n"),
            ("\r\n\n\r", "\r\n\r\n\r\n"),
        ] {
            assert_eq!(stuff(&[content.as_bytes().to_vec()]), sent.as_bytes(), "{content:?}");
        }
    }

    proptest! {
        #[test]
        fn a_server_gets_the_lines_back(
            pieces in prop::collection::vec(
                prop::collection::vec(prop::sample::select(b"\r\n.ax\0\xff".to_vec()), 0..12),
                0..8,
            )
        ) {
            let sent = stuff(&pieces);
            prop_assert_eq!(&sent, &stuff(&[pieces.concat()]), "pieces change nothing");
            prop_assert_eq!(unstuff(&sent), normal(&pieces.concat()));
            prop_assert_eq!(encoded(Encoder::for_bdat(), &pieces), normal(&pieces.concat()));
            let bare = sent.iter().enumerate().any(|(at, byte)| match byte {
                b'\n' => at == 0 || sent[at - 1] != b'\r',
                b'\r' => sent.get(at + 1) != Some(&b'\n'),
                _ => false,
            });
            prop_assert!(!bare);
        }

        #[test]
        fn any_content_roundtrips(content in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(unstuff(&stuff(std::slice::from_ref(&content))), normal(&content));
        }
    }
}
