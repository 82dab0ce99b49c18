//! The frames of an animated PNG (third edition, 11.3.6).

use super::writer;
use crate::Refused;
use crate::bytes::Bytes;
use crate::limits::Size;

const BAD: Refused = Refused::Damaged("a frame of it is not valid");

/// An animation while it is read.
pub(super) struct Animation {
    frames: u32,
    plays: u32,
    /// The number that comes next, in what is read and in what is written.
    next_in: u32,
    next_out: u32,
    pub(super) seen: u32,
}

impl Animation {
    /// Reads `acTL`.
    pub(super) fn read(content: &[u8]) -> Result<Self, Refused> {
        let mut bytes = Bytes::new(content);
        let (frames, plays) = (bytes.u32_be().ok_or(BAD)?, bytes.u32_be().ok_or(BAD)?);
        if frames == 0 { Err(BAD) } else { Ok(Self { frames, plays, next_in: 0, next_out: 0, seen: 0 }) }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        writer::chunk(out, *b"acTL", &[&self.frames.to_be_bytes(), &self.plays.to_be_bytes()]);
    }

    /// Goes over the number that frames and their data have.
    pub(super) fn number(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Refused> {
        if bytes.u32_be() != Some(self.next_in) {
            return Err(BAD);
        }
        self.next_in += 1;
        Ok(())
    }

    /// Reads `fcTL`, writes it, and says how large the frame is.
    pub(super) fn frame(&mut self, content: &[u8], canvas: Size, out: &mut Vec<u8>) -> Result<Size, Refused> {
        let mut bytes = Bytes::new(content);
        self.number(&mut bytes)?;
        let rest = bytes.rest();
        let mut field = || bytes.u32_be().ok_or(BAD);
        let (width, height, left, top) = (field()?, field()?, field()?, field()?);
        bytes.take(4).ok_or(BAD)?;
        let [dispose, blend] = bytes.array().ok_or(BAD)?;
        let is_inside =
            |start: u32, length: u32, all: u32| start.checked_add(length).is_some_and(|end| end <= all);
        let is_valid = width > 0
            && height > 0
            && is_inside(left, width, canvas.width)
            && is_inside(top, height, canvas.height)
            && dispose <= 2
            && blend <= 1
            && bytes.rest().is_empty();
        if !is_valid {
            return Err(BAD);
        }
        writer::chunk(out, *b"fcTL", &[&self.number_out(), rest]);
        self.seen += 1;
        Ok(Size { width, height })
    }

    /// Writes data of a frame.
    pub(super) fn data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        writer::chunk(out, *b"fdAT", &[&self.number_out(), data]);
    }

    fn number_out(&mut self) -> [u8; 4] {
        let number = self.next_out.to_be_bytes();
        self.next_out += 1;
        number
    }

    pub(super) fn check_end(&self) -> Result<(), Refused> {
        if self.seen == self.frames { Ok(()) } else { Err(Refused::Damaged("frames of it are missing")) }
    }
}
