//! One picture of a WebP, or one frame: the chunks that its pixels are in (RFC 9649, 2.4 to 2.6).
//!
//! Those with losses (VP8, RFC 6386) are decoded by the library, which shows that they are whole, not where they end.

use std::io::Cursor;

use image_webp::WebPDecoder;

use super::prefix::CUT_OFF;
use super::{lossless, riff};
use crate::Refused;
use crate::bytes::Bytes;
use crate::limits::{Limits, Size};

const BAD: Refused = Refused::Damaged("its header is not valid");

/// Bytes of memory for each pixel that the library decodes: three planes, of which two have a fourth of the pixels, and
/// the colours.
const LOSSY_BYTES_PER_PIXEL: f64 = 4.5;

/// The data of a picture.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Image<'a> {
    alpha: Option<&'a [u8]>,
    lossy: Option<&'a [u8]>,
    lossless: Option<&'a [u8]>,
}

/// A picture that was found whole.
pub(super) struct Checked {
    /// Its chunks.
    pub(super) chunks: Vec<u8>,
    pub(super) has_alpha: bool,
    /// Whether it can be a file of its own without a header for more than its pixels.
    pub(super) is_simple: bool,
}

impl<'a> Image<'a> {
    /// Takes a chunk, if it is of a picture.
    pub(super) fn take(&mut self, (name, content): riff::Chunk<'a>) -> Result<(), Refused> {
        let place = match &name {
            b"ALPH" if !self.has_pixels() => &mut self.alpha,
            b"VP8 " if !self.has_pixels() => &mut self.lossy,
            b"VP8L" if !self.has_pixels() => &mut self.lossless,
            b"ALPH" | b"VP8 " | b"VP8L" => return Err(Refused::Damaged("it has two pictures")),
            _ => return Ok(()),
        };
        if place.replace(content).is_some() {
            return Err(Refused::Damaged("its transparency comes twice"));
        }
        Ok(())
    }

    fn has_pixels(&self) -> bool {
        self.lossy.is_some() || self.lossless.is_some()
    }

    /// The size that its data say.
    pub(super) fn size(&self) -> Result<Size, Refused> {
        match (self.lossy, self.lossless) {
            (Some(data), _) => lossy_size(data),
            (_, Some(data)) => Ok(lossless::header(data)?.0),
            _ => Err(Refused::Damaged("it has no picture")),
        }
    }

    /// Decodes it. It has the size that was asked for before.
    pub(super) fn check(&self, limits: &Limits) -> Result<Checked, Refused> {
        let size = self.size()?;
        let mut chunks = Vec::new();
        if let Some(data) = self.lossless {
            let found = lossless::read(data)?;
            riff::write(&mut chunks, *b"VP8L", &[data.get(..found.length).ok_or(CUT_OFF)?]);
            return Ok(Checked { chunks, has_alpha: found.has_alpha, is_simple: true });
        }
        let data = self.lossy.ok_or(CUT_OFF)?;
        if let Some(alpha) = self.alpha {
            let (flags, alpha) = check_alpha(alpha, size)?;
            riff::write(&mut chunks, *b"ALPH", &[&[flags], alpha]);
        }
        check_lossy(data, size, limits)?;
        riff::write(&mut chunks, *b"VP8 ", &[data]);
        let has_alpha = self.alpha.is_some();
        Ok(Checked { chunks, has_alpha, is_simple: !has_alpha })
    }
}

/// The size of a key frame of VP8 (RFC 6386, 9.1).
fn lossy_size(data: &[u8]) -> Result<Size, Refused> {
    let mut bytes = Bytes::new(data);
    let tag = bytes.u24_le().ok_or(CUT_OFF)?;
    if tag & 1 != 0 || bytes.array() != Some([0x9d, 0x01, 0x2a]) {
        return Err(BAD);
    }
    let mut length = || bytes.u16_le().map(|length| u32::from(length & 0x3fff)).ok_or(CUT_OFF);
    Ok(Size { width: length()?, height: length()? })
}

/// The transparency of a picture with losses (RFC 9649, 2.7.1.2): its flags and its data, without what follows.
fn check_alpha(chunk: &[u8], size: Size) -> Result<(u8, &[u8]), Refused> {
    let (flags, data) = chunk.split_first().ok_or(CUT_OFF)?;
    let length = match flags & 3 {
        0 => size.pixels() as usize,
        1 => lossless::read_plane(data, size)?,
        _ => return Err(BAD),
    };
    Ok((flags & 0x1f, data.get(..length).ok_or(CUT_OFF)?))
}

/// Has the library decode it, which takes room for the pixels and for the data twice.
fn check_lossy(data: &[u8], size: Size, limits: &Limits) -> Result<(), Refused> {
    let around = f64::from(size.width + 15) * f64::from(size.height + 15) * LOSSY_BYTES_PER_PIXEL;
    limits.check_memory(around as u64 + 2 * data.len() as u64)?;
    let mut file = riff::start(data.len() + 32);
    riff::write(&mut file, *b"VP8 ", &[data]);
    let mut decoder = WebPDecoder::new(Cursor::new(riff::finish(file))).map_err(|_| BAD)?;
    let length = decoder.output_buffer_size().ok_or(BAD)?;
    let mut pixels = vec![0; length];
    decoder.read_image(&mut pixels).map_err(|_| Refused::Damaged("its data cannot be unpacked"))
}
