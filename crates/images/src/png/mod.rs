//! PNG (third edition), also animated: its data are unpacked row by row, to their exact end, and the chunks written
//! again that are needed to show it.

mod animation;
mod expand;
mod header;
mod parts;
mod rows;
mod writer;

use flate2::Crc;

use crate::bytes::Bytes;
use crate::limits::{Budget, Limits, Size};
use crate::shrink::Shrink;
use crate::{Format, Picture, Refused};
use animation::Animation;
use expand::Expand;
use header::Header;
use parts::Parts;
use rows::Rows;
use writer::Pack;

/// Bytes that the rows of a still picture unpack to: those of 40 megapixels of 8 bits, or of 30 with transparency.
const MAX_UNPACKED: u64 = 121_000_000;

/// Room for what is written and was not in the file: a profile can be larger here than in it, at most by this.
const HEADERS: usize = 16_384;

const CUT_OFF: Refused = Refused::Damaged("it ends before it is whole");
const MIXED_UP: Refused = Refused::Damaged("its parts are not in order");

pub(crate) fn prepare(bytes: &[u8], limits: &Limits) -> Result<Picture, Refused> {
    let mut bytes = Bytes::new(bytes);
    bytes.take(writer::SIGNATURE.len()).ok_or(CUT_OFF)?;
    let (name, content) = chunk(&mut bytes)?;
    if name != *b"IHDR" {
        return Err(MIXED_UP);
    }
    let header = Header::read(content, limits)?;
    let unpacked: u64 =
        header.rows(header.size).iter().map(|(bytes, rows)| *bytes as u64 * u64::from(*rows)).sum();
    if unpacked > MAX_UNPACKED {
        return Err(Refused::TooManyPixels { most: MAX_UNPACKED / header.step() as u64 });
    }
    let mut reader = Reader::new(header, limits, bytes.length());
    loop {
        let (name, content) = chunk(&mut bytes)?;
        if name == *b"IEND" {
            return reader.finish();
        }
        reader.chunk(name, content)?;
    }
}

/// The next chunk: its name and content.
fn chunk<'a>(bytes: &mut Bytes<'a>) -> Result<([u8; 4], &'a [u8]), Refused> {
    let length = bytes.u32_be().ok_or(CUT_OFF)? as usize;
    let name: [u8; 4] = bytes.array().ok_or(CUT_OFF)?;
    let content = bytes.take(length).ok_or(CUT_OFF)?;
    let sum = bytes.u32_be().ok_or(CUT_OFF)?;
    let mut crc = Crc::new();
    crc.update(&name);
    crc.update(content);
    if crc.sum() != sum {
        return Err(Refused::Damaged("a part of it is not as it was written"));
    }
    Ok((name, content))
}

struct Reader<'a> {
    header: Header,
    limits: &'a Limits,
    budget: Budget,
    parts: Parts,
    animation: Option<Animation>,
    /// The frame that is the picture itself, before its data come.
    first_frame: Vec<u8>,
    /// The data that are being read.
    rows: Option<Rows>,
    /// Whether the data of the picture itself came.
    has_picture: bool,
    /// If it is scaled down.
    scaled: Option<Scaled>,
    out: Vec<u8>,
}

/// A picture that is scaled down.
struct Scaled {
    size: Size,
    expand: Expand,
    shrink: Shrink,
    pack: Pack,
}

impl<'a> Reader<'a> {
    fn new(header: Header, limits: &'a Limits, room: usize) -> Self {
        Self {
            header,
            limits,
            budget: Budget::new(limits),
            parts: Parts::default(),
            animation: None,
            first_frame: Vec::new(),
            rows: None,
            has_picture: false,
            scaled: None,
            out: Vec::with_capacity(if limits.is_oversized(header.size) { 0 } else { room + HEADERS }),
        }
    }

    fn chunk(&mut self, name: [u8; 4], content: &[u8]) -> Result<(), Refused> {
        match &name {
            b"IDAT" => self.data(content),
            b"acTL" if !self.has_picture && self.animation.is_none() => self.animation(content),
            b"fcTL" => self.frame(content),
            b"fdAT" => self.frame_data(content),
            b"IHDR" => Err(MIXED_UP),
            _ if !self.has_picture => self.parts.read(name, content, &self.header),
            // a capital letter says that nobody can do without it
            [b'A'..=b'Z', ..] => Err(MIXED_UP),
            _ => Ok(()),
        }
    }

    fn animation(&mut self, content: &[u8]) -> Result<(), Refused> {
        if self.limits.is_oversized(self.header.size) {
            return Err(Refused::OversizedAnimation { most: self.limits.side });
        }
        self.animation = Some(Animation::read(content)?);
        Ok(())
    }

    fn frame(&mut self, content: &[u8]) -> Result<(), Refused> {
        let Some(animation) = &mut self.animation else { return Ok(()) };
        let canvas = self.header.size;
        if !self.has_picture {
            let size = animation.frame(content, canvas, &mut self.first_frame)?;
            return if size == canvas && animation.seen == 1 { Ok(()) } else { Err(MIXED_UP) };
        }
        if let Some(rows) = &self.rows {
            rows.check_end()?;
        }
        let size = animation.frame(content, canvas, &mut self.out)?;
        self.budget.frame(size)?;
        self.rows = Some(Rows::new(&self.header, size, false));
        Ok(())
    }

    fn frame_data(&mut self, content: &[u8]) -> Result<(), Refused> {
        let Some(animation) = &mut self.animation else { return Ok(()) };
        let mut bytes = Bytes::new(content);
        animation.number(&mut bytes)?;
        // data that are not those of a frame that came after the picture
        let is_own = animation.seen > u32::from(!self.first_frame.is_empty());
        let rows = self.rows.as_mut().filter(|_| self.has_picture && is_own).ok_or(MIXED_UP)?;
        let used = rows.take(bytes.rest(), &mut |_| Ok(()))?;
        if used > 0 {
            animation.data(bytes.rest().get(..used).ok_or(CUT_OFF)?, &mut self.out);
        }
        Ok(())
    }

    fn data(&mut self, content: &[u8]) -> Result<(), Refused> {
        if !self.has_picture {
            self.start()?;
        } else if self
            .animation
            .as_ref()
            .is_some_and(|animation| animation.seen > u32::from(!self.first_frame.is_empty()))
        {
            return Err(MIXED_UP);
        }
        let rows = self.rows.as_mut().ok_or(MIXED_UP)?;
        let Some(scaled) = &mut self.scaled else {
            let used = rows.take(content, &mut |_| Ok(()))?;
            if used > 0 {
                writer::chunk(&mut self.out, *b"IDAT", &[content.get(..used).ok_or(CUT_OFF)?]);
            }
            return Ok(());
        };
        let (out, most) = (&mut self.out, self.limits.bytes);
        rows.take(content, &mut |row| scaled.row(row, out, most))?;
        Ok(())
    }

    /// Writes what comes before the data.
    fn start(&mut self) -> Result<(), Refused> {
        self.has_picture = true;
        if self.header.color == header::Color::Palette && self.parts.palette.is_empty() {
            return Err(Refused::Damaged("its palette is missing"));
        }
        self.budget.frame(self.header.size)?;
        self.out.extend_from_slice(writer::SIGNATURE);
        let is_scaled = self.limits.is_oversized(self.header.size);
        if is_scaled {
            self.start_scaled()?;
        } else {
            self.write_header();
        }
        self.rows = Some(Rows::new(&self.header, self.header.size, is_scaled));
        Ok(())
    }

    fn write_header(&mut self) {
        let Header { size, depth, color, is_interlaced } = self.header;
        let color = match color {
            header::Color::Gray => 0,
            header::Color::Rgb => 2,
            header::Color::Palette => 3,
            header::Color::GrayAlpha => 4,
            header::Color::Rgba => 6,
        };
        let (width, height) = (size.width.to_be_bytes(), size.height.to_be_bytes());
        let rest = [depth, color, 0, 0, u8::from(is_interlaced)];
        writer::chunk(&mut self.out, *b"IHDR", &[&width, &height, &rest]);
        self.parts.write_colors(&mut self.out);
        self.parts.write_palette(&mut self.out);
        if let Some(animation) = &self.animation {
            animation.write(&mut self.out);
        }
        self.out.extend_from_slice(&self.first_frame);
    }

    fn start_scaled(&mut self) -> Result<(), Refused> {
        if self.header.is_interlaced {
            return Err(Refused::OversizedKind { what: "interlaced PNG picture", most: self.limits.side });
        }
        let expand = Expand::new(&self.header, &self.parts.palette, self.parts.transparency.as_deref());
        let (from, size, channels) =
            (self.header.size, self.limits.scaled(self.header.size), expand.channels);
        writer::header(&mut self.out, size, channels);
        self.parts.write_colors(&mut self.out);
        self.scaled = Some(Scaled {
            size,
            expand,
            shrink: Shrink::new(from, size, channels),
            pack: Pack::new(size, channels),
        });
        Ok(())
    }

    fn finish(mut self) -> Result<Picture, Refused> {
        self.rows.as_ref().ok_or(CUT_OFF)?.check_end()?;
        let mut frames = 1;
        if let Some(animation) = &self.animation {
            animation.check_end()?;
            frames = animation.seen;
        }
        let was_reencoded = self.scaled.is_some();
        let Size { width, height } = self.scaled.as_ref().map_or(self.header.size, |scaled| scaled.size);
        match self.scaled {
            Some(scaled) => scaled.pack.finish(&mut self.out)?,
            None => writer::chunk(&mut self.out, *b"IEND", &[]),
        }
        Ok(Picture { bytes: self.out, format: Format::Png, width, height, frames, was_reencoded })
    }
}

impl Scaled {
    fn row(&mut self, row: &[u8], out: &mut Vec<u8>, most: usize) -> Result<(), Refused> {
        let pack = &mut self.pack;
        self.shrink.push(self.expand.row(row)?, &mut |row: &[u8]| pack.row(row, out))?;
        if out.len() > most { Err(Refused::TooManyBytes { most }) } else { Ok(()) }
    }
}
