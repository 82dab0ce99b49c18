//! The container of WebP (RFC 9649, 2.3): chunks with a name, a length, and an even number of bytes.

use crate::Refused;
use crate::bytes::Bytes;

use super::prefix::CUT_OFF;

/// Bytes before the first chunk.
const HEADER: usize = 12;

/// A chunk: its name and its content.
pub(super) type Chunk<'a> = ([u8; 4], &'a [u8]);

/// The chunks of a file, as far as it says that it goes.
pub(super) fn content(file: &[u8]) -> Result<Bytes<'_>, Refused> {
    let mut bytes = Bytes::new(file);
    bytes.take(4).ok_or(CUT_OFF)?;
    let length = bytes.u32_le().ok_or(CUT_OFF)? as usize;
    let end = length.checked_add(8).ok_or(CUT_OFF)?;
    Ok(Bytes::new(file.get(HEADER..end).ok_or(CUT_OFF)?))
}

/// The next chunk; nothing at the end.
pub(super) fn next<'a>(bytes: &mut Bytes<'a>) -> Result<Option<Chunk<'a>>, Refused> {
    if bytes.rest().is_empty() {
        return Ok(None);
    }
    let name = bytes.array().ok_or(CUT_OFF)?;
    let length = bytes.u32_le().ok_or(CUT_OFF)? as usize;
    let content = bytes.take(length).ok_or(CUT_OFF)?;
    // some programs forget the byte that makes the last one even
    if length % 2 == 1 {
        bytes.u8();
    }
    Ok(Some((name, content)))
}

/// Writes a chunk, of parts that follow each other.
pub(super) fn write(out: &mut Vec<u8>, name: [u8; 4], parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&name);
    out.extend_from_slice(&(length as u32).to_le_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    if length % 2 == 1 {
        out.push(0);
    }
}

/// Starts a file, whose chunks are written behind.
pub(super) fn start(room: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(b"RIFF\0\0\0\0WEBP");
    out
}

/// Writes how long the file is.
pub(super) fn finish(mut out: Vec<u8>) -> Vec<u8> {
    let length = (out.len() as u32).saturating_sub(8).to_le_bytes();
    if let Some(place) = out.get_mut(4..8) {
        place.copy_from_slice(&length);
    }
    out
}
