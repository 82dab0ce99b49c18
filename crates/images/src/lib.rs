//! Pictures that people upload for their mails, made safe: [`prepare`] reads one, proves that it is whole, and gives back
//! a file that holds nothing but the picture.
//!
//! What comes out is written here, never copied as it came: the parts that a program needs to show the picture are read,
//! checked and written again; all else (EXIF, XMP, comments, texts, unknown parts, bytes after the end) is left behind.
//! The compressed pixels of a picture that is not too wide or high are taken over as they are, so that nothing of the
//! quality is lost; a larger still picture is scaled down.
//!
//! What stays is the picture, and pixels can spell anything: so do the colours of a palette, a table that is used, and what
//! follows the data of a WebP with losses inside of its chunk, whose end the library does not tell. Who serves a picture
//! says its type ([`Format::media_type`]) and `X-Content-Type-Options: nosniff`, and no program takes it for more.
//!
//! Invariants: no I/O, no clock, no randomness: the same bytes and limits give the same result. Memory is bounded before
//! it is asked for ([`Limits::memory`]), work by the number of bytes and pixels; the tests in `tests/it/hostile` measure
//! both. What is decoded here by own code is decoded so that its end is known exactly; libraries skip over what they do
//! not understand, and would leave room for a payload.

mod bytes;
mod gif;
mod icc;
mod jpeg;
mod kind;
mod limits;
mod png;
mod refused;
mod shrink;
mod webp;

pub use kind::{Format, Unsupported};
pub use limits::{
    Limits, MAX_ANIMATION_PIXELS, MAX_BYTES, MAX_DIMENSION, MAX_FRAMES, MAX_MEMORY, MAX_PIXELS, MAX_SIDE,
};
pub use refused::Refused;

use kind::Kind;

/// A picture that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The file.
    pub bytes: Vec<u8>,
    /// What it is. It is what was uploaded: no picture changes its format.
    pub format: Format,
    /// In pixels, as it is shown.
    pub width: u32,
    /// In pixels, as it is shown.
    pub height: u32,
    /// 1, unless it is animated.
    pub frames: u32,
    /// Whether the pixels were compressed anew, because the picture was scaled down or turned.
    pub was_reencoded: bool,
}

/// Makes an uploaded picture safe to serve, or says why it is refused.
///
/// What it is is told by its content only. A JPEG that its EXIF data would turn is turned.
pub fn prepare(bytes: &[u8], limits: &Limits) -> Result<Picture, Refused> {
    if bytes.is_empty() {
        return Err(Refused::Empty);
    }
    if bytes.len() > limits.bytes {
        return Err(Refused::TooManyBytes { most: limits.bytes });
    }
    let picture = match kind::of(bytes) {
        Kind::Picture(Format::Jpeg) => jpeg::prepare(bytes, limits),
        Kind::Picture(Format::Png) => png::prepare(bytes, limits),
        Kind::Picture(Format::Gif) => gif::prepare(bytes, limits),
        Kind::Picture(Format::Webp) => webp::prepare(bytes, limits),
        Kind::Other(what) => return Err(Refused::Unsupported(what)),
    }?;
    // A small file can unfold to a large one, when it is scaled down.
    if picture.bytes.len() > limits.bytes {
        return Err(Refused::TooManyBytes { most: limits.bytes });
    }
    Ok(picture)
}
