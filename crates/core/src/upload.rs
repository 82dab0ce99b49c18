//! Pictures that people upload: what they are, and what they are called.
//!
//! A picture is named by the hash of its bytes, so that the same picture has one name however often it is uploaded, and
//! what a name leads to never changes.

use std::fmt;

use crate::{hex, names};

names! {
    /// What a picture is, by the name of its media type.
    pub enum PictureType {
        /// ITU-T T.81.
        Jpeg = "image/jpeg",
        /// PNG, third edition.
        Png = "image/png",
        /// Versions 87a and 89a.
        Gif = "image/gif",
        /// RFC 9649.
        Webp = "image/webp",
    }
}

impl PictureType {
    /// The ending of a file name, without the point.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }

    fn of_extension(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.extension() == text)
    }
}

/// The name of a picture within its project: the SHA-256 of its bytes in hexadecimal, a point, and the ending of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureName {
    /// SHA-256 of the bytes that are served.
    pub hash: [u8; 32],
    /// What they are.
    pub kind: PictureType,
}

impl PictureName {
    /// Reads a name. It has one form: another one, with capitals say, is the name of nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let (hex, extension) = text.split_once('.')?;
        let kind = PictureType::of_extension(extension)?;
        let digits: Vec<u8> = hex.bytes().map(digit).collect::<Option<_>>()?;
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
        }
        Some(Self { hash, kind })
    }

    /// The hash in hexadecimal.
    pub fn hex(&self) -> String {
        hex::encode(&self.hash)
    }
}

impl fmt::Display for PictureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.hex(), self.kind.extension())
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Most characters of the file name that an uploader gives.
pub const MAX_FILE_NAME: usize = 255;

/// The file name that an uploader gives, as it is kept: without folders and without characters that are not shown, and at
/// most [`MAX_FILE_NAME`] characters. `picture` with the ending of its type where nothing is left.
pub fn file_name(given: Option<&str>, kind: PictureType) -> String {
    let given = given.unwrap_or_default();
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last.chars().filter(|c| !is_hidden(*c)).take(MAX_FILE_NAME).collect();
    let kept = kept.trim();
    if kept.is_empty() { format!("picture.{}", kind.extension()) } else { kept.to_owned() }
}

/// Whether a character is not shown, or turns the text around it.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_form() {
        let hex = "00ff".repeat(16);
        let name = PictureName::parse(&format!("{hex}.png")).unwrap();
        assert_eq!((name.hash[0], name.hash[1], name.kind), (0, 0xff, PictureType::Png));
        assert_eq!(name.to_string(), format!("{hex}.png"));
        for kind in PictureType::ALL {
            let text = PictureName { kind, ..name }.to_string();
            assert_eq!(PictureName::parse(&text), Some(PictureName { kind, ..name }), "{text}");
        }
        for other in [
            format!("{}.png", hex.to_uppercase()),
            format!("{hex}.PNG"),
            format!("{hex}.svg"),
            format!("{hex}.jpeg"),
            format!("{hex}.png.html"),
            format!("{hex}0.png"),
            format!("{}.png", &hex[2..]),
            hex.clone(),
            ".png".into(),
            String::new(),
            format!("{}\u{e9}.png", &hex[2..]),
        ] {
            assert_eq!(PictureName::parse(&other), None, "{other}");
        }
    }

    #[test]
    fn file_names_are_made_harmless() {
        let named = |given| file_name(given, PictureType::Jpeg);
        assert_eq!(named(Some("Summer holiday.jpg")), "Summer holiday.jpg");
        assert_eq!(named(Some("C:\\people\\ada\\me.png")), "me.png");
        assert_eq!(named(Some("../../etc/passwd")), "passwd");
        assert_eq!(named(Some("a\r\nb\0\u{202e}gpj.exe")), "abgpj.exe");
        assert_eq!(named(Some(" \t ")), "picture.jpg");
        assert_eq!(named(None), "picture.jpg");
        assert_eq!(named(Some(&"\u{fc}".repeat(400))).chars().count(), MAX_FILE_NAME);
    }
}
