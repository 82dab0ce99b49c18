//! What a file is, told by its first bytes. Its name and its declared type are not asked: the uploader chooses them.

use std::fmt;

/// A format that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// ITU-T T.81, in a file as of JFIF or EXIF.
    Jpeg,
    /// PNG, third edition; with animation (APNG) too.
    Png,
    /// Versions 87a and 89a.
    Gif,
    /// RFC 9649.
    Webp,
}

impl Format {
    /// The type for `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The ending of a file name, without the point.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }
}

/// A format that is not taken, and known by name, so that the person learns why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// Few mail programs show it.
    Avif,
    /// Photographs of phones.
    Heic,
    /// Can hold scripts.
    Svg,
    /// Few programs show it.
    JpegXl,
    /// Not compressed.
    Bmp,
    /// For printing.
    Tiff,
    /// A document.
    Pdf,
    /// A page.
    Html,
    /// None that is known.
    Unknown,
}

/// What is said after every reason.
const TAKEN: &str = "JPEG, PNG, GIF and WebP are taken";

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::Avif => "This is an AVIF picture, which many mail programs do not show",
            Self::Heic => "This is a HEIC picture, which most mail programs do not show",
            Self::Svg => {
                "This is an SVG picture, which can hold scripts and which most mail programs do not show"
            }
            Self::JpegXl => "This is a JPEG XL picture, which most mail programs do not show",
            Self::Bmp => "This is a BMP picture, which is not compressed",
            Self::Tiff => "This is a TIFF picture, which mail programs do not show",
            Self::Pdf => "This is a PDF document, not a picture",
            Self::Html => "This is an HTML page, not a picture",
            Self::Unknown => "This is not a picture of a known format",
        };
        write!(f, "{why}. {TAKEN}.")
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Picture(Format),
    Other(Unsupported),
}

/// Bytes that are looked at to know a text: a comment can come before what tells.
const TEXT_LOOKED_AT: usize = 1_024;

pub(crate) fn of(bytes: &[u8]) -> Kind {
    if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
        Kind::Picture(Format::Jpeg)
    } else if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Kind::Picture(Format::Png)
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Kind::Picture(Format::Gif)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Kind::Picture(Format::Webp)
    } else {
        Kind::Other(unsupported(bytes))
    }
}

fn unsupported(bytes: &[u8]) -> Unsupported {
    if bytes.get(4..8) == Some(b"ftyp") {
        return brand(bytes);
    }
    let starts = |prefix: &[u8]| bytes.starts_with(prefix);
    if starts(b"BM") {
        Unsupported::Bmp
    } else if starts(b"II*\0") || starts(b"MM\0*") || starts(b"II+\0") || starts(b"MM\0+") {
        Unsupported::Tiff
    } else if starts(b"%PDF-") {
        Unsupported::Pdf
    } else if starts(&[0xff, 0x0a]) || starts(b"\0\0\0\x0cJXL \r\n") {
        Unsupported::JpegXl
    } else {
        text(bytes)
    }
}

/// The brand of a file of ISO/IEC 14496-12: the main one, and those that it is compatible with.
fn brand(bytes: &[u8]) -> Unsupported {
    let brands = bytes.get(8..bytes.len().min(64)).unwrap_or_default();
    let has =
        |wanted: &[&[u8; 4]]| brands.chunks_exact(4).any(|brand| wanted.iter().any(|one| brand == *one));
    if has(&[b"avif", b"avis"]) {
        Unsupported::Avif
    } else if has(&[b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"]) {
        Unsupported::Heic
    } else {
        Unsupported::Unknown
    }
}

fn text(bytes: &[u8]) -> Unsupported {
    let head = bytes.get(..bytes.len().min(TEXT_LOOKED_AT)).unwrap_or_default().to_ascii_lowercase();
    let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
    if has(b"<svg") {
        Unsupported::Svg
    } else if [&b"<!doctype html"[..], b"<html", b"<head", b"<body", b"<script"].iter().any(|part| has(part))
    {
        Unsupported::Html
    } else {
        Unsupported::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_is_known_by_name() {
        let cases: &[(&[u8], Unsupported)] = &[
            (b"\0\0\0\x20ftypavif\0\0\0\0avifmif1miaf", Unsupported::Avif),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", Unsupported::Avif),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", Unsupported::Heic),
            (
                b"<?xml version=\"1.0\"?>\n<!-- x --><SVG xmlns='http://www.w3.org/2000/svg'>",
                Unsupported::Svg,
            ),
            (b"<!DOCTYPE html><p>", Unsupported::Html),
            (b"BM\x36\0\0\0", Unsupported::Bmp),
            (b"II*\0\x08\0\0\0", Unsupported::Tiff),
            (b"%PDF-1.7", Unsupported::Pdf),
            (b"\xff\x0a\x00", Unsupported::JpegXl),
            (b"PK\x03\x04", Unsupported::Unknown),
            (b"RIFF\0\0\0\0WAVE", Unsupported::Unknown),
            (b"x", Unsupported::Unknown),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(of(bytes), Kind::Other(*wanted), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
