//! The pixels of a frame of a GIF: unpacked to their exact end.

use weezl::decode::Decoder;
use weezl::{BitOrder, LzwStatus};

use super::blocks::{self, CUT_OFF};
use crate::Refused;
use crate::bytes::Bytes;

/// Pixels that are unpacked at a time.
const AT_A_TIME: u64 = 32_768;

const TOO_MUCH: Refused = Refused::Damaged("it has more data than pixels");

/// Reads the data of a frame, gives its pixels to `done`, and returns what they are packed in, without what follows.
pub(super) fn read(
    bytes: &mut Bytes<'_>,
    bits: u8,
    pixels: u64,
    done: &mut dyn FnMut(&[u8]),
) -> Result<Vec<u8>, Refused> {
    // parts can be of one byte each: together they are unpacked far faster
    let mut packed = Vec::new();
    loop {
        let part = blocks::part(bytes)?;
        if part.is_empty() {
            break;
        }
        packed.extend_from_slice(part);
    }
    let mut unpack = Unpack {
        decoder: Decoder::new(BitOrder::Lsb, bits),
        room: vec![0; pixels.clamp(1, AT_A_TIME) as usize],
        left: pixels,
        has_ended: false,
    };
    let used = unpack.take(&packed, done)?;
    packed.truncate(used);
    // some programs leave out the code that ends the data
    if unpack.left > 0 { Err(CUT_OFF) } else { Ok(packed) }
}

struct Unpack {
    decoder: Decoder,
    room: Vec<u8>,
    left: u64,
    has_ended: bool,
}

impl Unpack {
    /// Takes packed bytes, and says how many of them belong to the picture.
    fn take(&mut self, packed: &[u8], done: &mut dyn FnMut(&[u8])) -> Result<usize, Refused> {
        let mut used = 0;
        while !self.has_ended {
            // room for one more shows whether there is more than the pixels
            let length = self.left.clamp(1, self.room.len() as u64) as usize;
            let room = self.room.get_mut(..length).unwrap_or_default();
            let result = self.decoder.decode_bytes(packed.get(used..).unwrap_or_default(), room);
            let status = result.status.map_err(|_| Refused::Damaged("its data cannot be unpacked"))?;
            used += result.consumed_in;
            self.left = self.left.checked_sub(result.consumed_out as u64).ok_or(TOO_MUCH)?;
            done(room.get(..result.consumed_out).unwrap_or_default());
            self.has_ended = matches!(status, LzwStatus::Done);
            if result.consumed_in == 0 && result.consumed_out == 0 {
                break;
            }
        }
        Ok(used)
    }
}
