//! Writing a PNG: chunks, and rows that are packed anew.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::rows::paeth;
use crate::Refused;
use crate::limits::Size;
use crate::shrink::Channels;

pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Packed bytes in a chunk of those that are packed here.
const CHUNK: usize = 65_536;

/// How hard it is tried to pack, of 9: more takes several times as long and saves a few percent.
const LEVEL: u32 = 4;

/// Writes a chunk, of parts that follow each other.
pub(super) fn chunk(out: &mut Vec<u8>, name: [u8; 4], parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&(length as u32).to_be_bytes());
    out.extend_from_slice(&name);
    let mut crc = Crc::new();
    crc.update(&name);
    for part in parts {
        out.extend_from_slice(part);
        crc.update(part);
    }
    out.extend_from_slice(&crc.sum().to_be_bytes());
}

/// The header of a picture of 8 bits.
pub(super) fn header(out: &mut Vec<u8>, size: Size, channels: Channels) {
    let color = match channels {
        Channels::Gray => 0,
        Channels::Rgb => 2,
        Channels::GrayAlpha => 4,
        Channels::Rgba => 6,
    };
    let (width, height) = (size.width.to_be_bytes(), size.height.to_be_bytes());
    chunk(out, *b"IHDR", &[&width, &height, &[8, color, 0, 0, 0]]);
}

/// Packs a text or a profile.
pub(super) fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(LEVEL));
    // writing into memory does not fail
    encoder.write_all(content).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Packs rows of 8 bits into chunks.
pub(super) struct Pack {
    encoder: ZlibEncoder<Vec<u8>>,
    step: usize,
    before: Vec<u8>,
    /// The row as each filter makes it, and the best so far.
    tried: Vec<u8>,
    best: Vec<u8>,
}

const NOT_PACKED: Refused = Refused::Damaged("it cannot be packed anew");

impl Pack {
    pub(super) fn new(size: Size, channels: Channels) -> Self {
        let step = channels.count();
        Self {
            encoder: ZlibEncoder::new(Vec::new(), Compression::new(LEVEL)),
            step,
            before: vec![0; size.width as usize * step],
            tried: Vec::new(),
            best: Vec::new(),
        }
    }

    /// Packs a row, and writes a chunk when there is enough for it.
    pub(super) fn row(&mut self, row: &[u8], out: &mut Vec<u8>) -> Result<(), Refused> {
        self.choose(row);
        self.encoder.write_all(&self.best).map_err(|_| NOT_PACKED)?;
        self.before.copy_from_slice(row);
        if self.encoder.get_ref().len() >= CHUNK {
            let packed = std::mem::take(self.encoder.get_mut());
            chunk(out, *b"IDAT", &[&packed]);
        }
        Ok(())
    }

    pub(super) fn finish(self, out: &mut Vec<u8>) -> Result<(), Refused> {
        let packed = self.encoder.finish().map_err(|_| NOT_PACKED)?;
        chunk(out, *b"IDAT", &[&packed]);
        chunk(out, *b"IEND", &[]);
        Ok(())
    }

    /// The filter that leaves the smallest differences packs best, as a rule (12.7).
    fn choose(&mut self, row: &[u8]) {
        let mut least = u64::MAX;
        for filter in [1, 2, 4] {
            self.tried.clear();
            self.tried.push(filter);
            filtered(filter, row, &self.before, self.step, &mut self.tried);
            let differences =
                self.tried.iter().skip(1).map(|byte| u64::from((*byte as i8).unsigned_abs())).sum();
            if differences < least {
                least = differences;
                std::mem::swap(&mut self.tried, &mut self.best);
            }
        }
    }
}

fn filtered(filter: u8, row: &[u8], before: &[u8], step: usize, out: &mut Vec<u8>) {
    let split = step.min(row.len());
    let (first, _) = row.split_at(split);
    let above_first = before.iter();
    match filter {
        1 => {
            out.extend_from_slice(first);
            out.extend(row.iter().skip(step).zip(row).map(|(byte, left)| byte.wrapping_sub(*left)));
        }
        2 => out.extend(row.iter().zip(before).map(|(byte, above)| byte.wrapping_sub(*above))),
        _ => {
            out.extend(first.iter().zip(above_first).map(|(byte, above)| byte.wrapping_sub(*above)));
            let here = row.iter().zip(before).skip(step);
            let left = row.iter().zip(before);
            out.extend(
                here.zip(left)
                    .map(|((byte, above), (left, corner))| byte.wrapping_sub(paeth(*left, *above, *corner))),
            );
        }
    }
}
