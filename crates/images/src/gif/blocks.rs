//! The blocks of a GIF (version 89a, 11 to 27).

use crate::Refused;
use crate::bytes::Bytes;
use crate::limits::Size;

pub(super) const CUT_OFF: Refused = Refused::Damaged("it ends before it is whole");

/// The description of the screen: the size that all frames share, and the palette of those that have none.
pub(super) struct Screen<'a> {
    pub(super) width: u16,
    pub(super) height: u16,
    flags: u8,
    background: u8,
    pub(super) palette: &'a [u8],
}

/// The colours of a palette that these flags announce, if they do.
fn palette<'a>(bytes: &mut Bytes<'a>, flags: u8) -> Result<&'a [u8], Refused> {
    let length = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    bytes.take(length).ok_or(CUT_OFF)
}

impl<'a> Screen<'a> {
    pub(super) fn read(bytes: &mut Bytes<'a>) -> Result<Self, Refused> {
        bytes.take(6).ok_or(CUT_OFF)?;
        let (width, height) = (bytes.u16_le().ok_or(CUT_OFF)?, bytes.u16_le().ok_or(CUT_OFF)?);
        let [flags, background, _aspect] = bytes.array().ok_or(CUT_OFF)?;
        Ok(Self { width, height, flags, background, palette: palette(bytes, flags)? })
    }

    pub(super) fn write(&self, size: Size, out: &mut Vec<u8>) {
        out.extend_from_slice(b"GIF89a");
        out.extend_from_slice(&(size.width as u16).to_le_bytes());
        out.extend_from_slice(&(size.height as u16).to_le_bytes());
        // without whether the palette is sorted, and without the shape of the pixels
        out.extend_from_slice(&[self.flags & !8, self.background, 0]);
        out.extend_from_slice(self.palette);
    }
}

/// How a frame is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Control {
    disposal: u8,
    delay: u16,
    pub(super) transparent: Option<u8>,
}

impl Control {
    fn read(content: &[u8]) -> Option<Self> {
        let mut bytes = Bytes::new(content);
        let (flags, delay, transparent) = (bytes.u8()?, bytes.u16_le()?, bytes.u8()?);
        let disposal = Some(flags >> 2 & 7).filter(|disposal| *disposal <= 3).unwrap_or_default();
        Some(Self { disposal, delay, transparent: (flags & 1 == 1).then_some(transparent) })
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        let flags = self.disposal << 2 | u8::from(self.transparent.is_some());
        let [low, high] = self.delay.to_le_bytes();
        out.extend_from_slice(&[0x21, 0xf9, 4, flags, low, high, self.transparent.unwrap_or_default(), 0]);
    }
}

/// The description of a frame.
pub(super) struct Frame<'a> {
    left: u16,
    top: u16,
    pub(super) size: Size,
    flags: u8,
    pub(super) palette: &'a [u8],
    /// Bits of a pixel before it is packed.
    pub(super) bits: u8,
}

impl<'a> Frame<'a> {
    fn read(bytes: &mut Bytes<'a>, screen: &Screen<'_>) -> Result<Self, Refused> {
        let mut field = || bytes.u16_le().ok_or(CUT_OFF);
        let (left, top, width, height) = (field()?, field()?, field()?, field()?);
        let flags = bytes.u8().ok_or(CUT_OFF)?;
        let palette = palette(bytes, flags)?;
        let bits = bytes.u8().ok_or(CUT_OFF)?;
        let is_inside = |start: u16, length: u16, all: u16| {
            length > 0 && u32::from(start) + u32::from(length) <= u32::from(all)
        };
        if !is_inside(left, width, screen.width) || !is_inside(top, height, screen.height) {
            return Err(Refused::Damaged("a frame of it is not inside of it"));
        }
        if palette.is_empty() && screen.palette.is_empty() {
            return Err(Refused::Damaged("its palette is missing"));
        }
        if !(2..=8).contains(&bits) {
            return Err(Refused::Damaged("its pixels have an unknown number of bits"));
        }
        let size = Size { width: width.into(), height: height.into() };
        Ok(Self { left, top, size, flags, palette, bits })
    }

    pub(super) fn is_interlaced(&self) -> bool {
        self.flags & 0x40 != 0
    }

    /// Writes the description, for rows in this order.
    pub(super) fn write(&self, size: Size, is_interlaced: bool, out: &mut Vec<u8>) {
        out.push(0x2c);
        for value in [self.left, self.top, size.width as u16, size.height as u16] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        out.push(self.flags & 0x87 | u8::from(is_interlaced) << 6);
        out.extend_from_slice(self.palette);
        out.push(self.bits);
    }
}

/// A block that matters.
pub(super) enum Block<'a> {
    Control(Control),
    /// How often the animation is shown; 0 for ever.
    Loops(u16),
    /// Its data follow.
    Frame(Frame<'a>),
    /// A text that is laid over the picture. No program shows it.
    Text,
    End,
}

/// Reads on to the next block that matters.
pub(super) fn next<'a>(bytes: &mut Bytes<'a>, screen: &Screen<'_>) -> Result<Block<'a>, Refused> {
    loop {
        match bytes.u8().ok_or(CUT_OFF)? {
            0x2c => return Ok(Block::Frame(Frame::read(bytes, screen)?)),
            0x3b => return Ok(Block::End),
            0x21 => {}
            _ => return Err(Refused::Damaged("a part of it is of no known kind")),
        }
        let label = bytes.u8().ok_or(CUT_OFF)?;
        let first = part(bytes)?;
        let second = if first.is_empty() { first } else { part(bytes)? };
        if !second.is_empty() {
            while !part(bytes)?.is_empty() {}
        }
        match label {
            0xf9 => {
                if let Some(control) = Control::read(first) {
                    return Ok(Block::Control(control));
                }
            }
            0x01 => return Ok(Block::Text),
            0xff if matches!(first, b"NETSCAPE2.0" | b"ANIMEXTS1.0") => {
                if let [1, low, high] = *second {
                    return Ok(Block::Loops(u16::from_le_bytes([low, high])));
                }
            }
            _ => {}
        }
    }
}

/// The next part of a block; empty at its end.
pub(super) fn part<'a>(bytes: &mut Bytes<'a>) -> Result<&'a [u8], Refused> {
    let length = bytes.u8().ok_or(CUT_OFF)?;
    bytes.take(length.into()).ok_or(CUT_OFF)
}

/// Writes data in parts, and their end.
pub(super) fn write_parts(data: &[u8], out: &mut Vec<u8>) {
    for part in data.chunks(255) {
        out.push(part.len() as u8);
        out.extend_from_slice(part);
    }
    out.push(0);
}

/// Writes how often the animation is shown.
pub(super) fn write_loops(loops: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x21\xff\x0bNETSCAPE2.0\x03\x01");
    out.extend_from_slice(&loops.to_le_bytes());
    out.push(0);
}
