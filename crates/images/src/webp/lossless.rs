//! Lossless WebP (RFC 9649, 3): its data are decoded to their exact end. What the pixels are is not worked out, but that
//! they are all there: that takes no memory for them.
//!
//! The library is not asked for these. It makes room for as many codes as the data announce, which are up to 65,536
//! times five of four kilobytes and more, from a few megabytes of data.

use super::prefix::{Bits, CUT_OFF, Code, NO_CODE};
use crate::Refused;
use crate::limits::Size;

/// Groups of codes. The usual programs make at most some 2,600.
const MAX_GROUPS: usize = 4_096;

/// Symbols of the codes of all groups together, of two bytes each.
const MAX_SYMBOLS: usize = 2_000_000;

/// Where the nearest pixels are that are copied from: to the left (right if less than 0), and up (3.5.2.1).
#[rustfmt::skip]
const NEAR: [(i8, u8); 120] = [
    (0, 1), (1, 0), (1, 1), (-1, 1), (0, 2), (2, 0), (1, 2), (-1, 2), (2, 1), (-2, 1),
    (2, 2), (-2, 2), (0, 3), (3, 0), (1, 3), (-1, 3), (3, 1), (-3, 1), (2, 3), (-2, 3),
    (3, 2), (-3, 2), (0, 4), (4, 0), (1, 4), (-1, 4), (4, 1), (-4, 1), (3, 3), (-3, 3),
    (2, 4), (-2, 4), (4, 2), (-4, 2), (0, 5), (3, 4), (-3, 4), (4, 3), (-4, 3), (5, 0),
    (1, 5), (-1, 5), (5, 1), (-5, 1), (2, 5), (-2, 5), (5, 2), (-5, 2), (4, 4), (-4, 4),
    (3, 5), (-3, 5), (5, 3), (-5, 3), (0, 6), (6, 0), (1, 6), (-1, 6), (6, 1), (-6, 1),
    (2, 6), (-2, 6), (6, 2), (-6, 2), (4, 5), (-4, 5), (5, 4), (-5, 4), (3, 6), (-3, 6),
    (6, 3), (-6, 3), (0, 7), (7, 0), (1, 7), (-1, 7), (5, 5), (-5, 5), (7, 1), (-7, 1),
    (4, 6), (-4, 6), (6, 4), (-6, 4), (2, 7), (-2, 7), (7, 2), (-7, 2), (3, 7), (-3, 7),
    (7, 3), (-7, 3), (5, 6), (-5, 6), (6, 5), (-6, 5), (8, 0), (4, 7), (-4, 7), (7, 4),
    (-7, 4), (8, 1), (8, 2), (6, 6), (-6, 6), (8, 3), (5, 7), (-5, 7), (7, 5), (-7, 5),
    (8, 4), (6, 7), (-6, 7), (7, 6), (-7, 6), (8, 5), (7, 7), (-7, 7), (8, 6), (8, 7),
];

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lossless {
    pub(super) size: Size,
    pub(super) has_alpha: bool,
    /// The bytes of the data.
    pub(super) length: usize,
}

/// The size that the data of a picture say that it has, and whether it has transparent pixels.
pub(super) fn header(data: &[u8]) -> Result<(Size, bool), Refused> {
    let mut bits = Bits::new(data);
    if bits.bits(8)? != 0x2f {
        return Err(Refused::Damaged("its header is not valid"));
    }
    let size = Size { width: bits.bits(14)? + 1, height: bits.bits(14)? + 1 };
    let has_alpha = bits.bit()?;
    if bits.bits(3)? != 0 {
        return Err(Refused::Damaged("its header is not valid"));
    }
    Ok((size, has_alpha))
}

/// Decodes a picture with its header.
pub(super) fn read(data: &[u8]) -> Result<Lossless, Refused> {
    let (size, has_alpha) = header(data)?;
    let rest = data.get(5..).ok_or(CUT_OFF)?;
    Ok(Lossless { size, has_alpha, length: 5 + read_plane(rest, size)? })
}

/// Decodes a picture without a header, and says how many bytes it has.
pub(super) fn read_plane(data: &[u8], size: Size) -> Result<usize, Refused> {
    let mut reader = Reader { bits: Bits::new(data), symbols: 0 };
    let width = reader.transforms(size)?;
    reader.image(Size { width, height: size.height }, Role::Picture)?;
    Ok(reader.bits.end())
}

/// What an image is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Picture,
    /// Data of a transform, which are not looked at.
    Transform,
    /// Which group of codes holds for each part of the picture.
    Groups,
}

/// The codes for green, lengths and kept colours; red; blue; alpha; distances.
struct Group {
    green: Code,
    colors: [Code; 3],
    distance: Code,
}

struct Reader<'a> {
    bits: Bits<'a>,
    symbols: usize,
}

/// Which codes hold where.
struct Groups {
    all: Vec<Group>,
    /// The group of each part of the picture, and how large the parts are. Nothing if there is but one group.
    parts: Vec<u16>,
    parts_wide: usize,
    shift: u32,
    /// Bits of the number of a kept colour; 0 if none are kept.
    kept_bits: u32,
}

impl Groups {
    fn at(&self, x: u32, y: u32) -> Option<&Group> {
        let index = (y >> self.shift) as usize * self.parts_wide + (x >> self.shift) as usize;
        let group = if self.parts.is_empty() { 0 } else { *self.parts.get(index)? };
        self.all.get(usize::from(group))
    }
}

impl Reader<'_> {
    /// Goes over the transforms, and says how wide the picture is before they are undone.
    fn transforms(&mut self, size: Size) -> Result<u32, Refused> {
        let mut width = size.width;
        let mut seen = [false; 4];
        while self.bits.bit()? {
            let kind = self.bits.bits(2)?;
            let seen = seen.get_mut(kind as usize).ok_or(NO_CODE)?;
            if std::mem::replace(seen, true) {
                return Err(Refused::Damaged("its pixels are transformed twice in the same way"));
            }
            match kind {
                0 | 1 => {
                    let shift = self.bits.bits(3)? + 2;
                    self.image(parts(Size { width, height: size.height }, shift), Role::Transform)?;
                }
                2 => {}
                _ => {
                    let colors = self.bits.bits(8)? + 1;
                    self.image(Size { width: colors, height: 1 }, Role::Transform)?;
                    let shift = match colors {
                        1..=2 => 3,
                        3..=4 => 2,
                        5..=16 => 1,
                        _ => 0,
                    };
                    width = width.div_ceil(1 << shift);
                }
            }
        }
        Ok(width)
    }

    /// Goes over an image. Returns its pixels (ARGB) if it is of groups.
    fn image(&mut self, size: Size, role: Role) -> Result<Vec<u32>, Refused> {
        let kept_bits = if self.bits.bit()? { self.bits.bits(4)? } else { 0 };
        if kept_bits > 11 {
            return Err(NO_CODE);
        }
        let groups = self.groups(size, role, kept_bits)?;
        let pixels = Pixels::new(size, kept_bits, role == Role::Groups);
        pixels.read(&mut self.bits, &groups)
    }

    fn groups(&mut self, size: Size, role: Role, kept_bits: u32) -> Result<Groups, Refused> {
        let mut groups = Groups { all: Vec::new(), parts: Vec::new(), parts_wide: 0, shift: 0, kept_bits };
        let mut count = 1;
        if role == Role::Picture && self.bits.bit()? {
            groups.shift = self.bits.bits(3)? + 2;
            let parts = parts(size, groups.shift);
            groups.parts_wide = parts.width as usize;
            let pixels = self.image(parts, Role::Groups)?;
            groups.parts = pixels.into_iter().map(|pixel| (pixel >> 8) as u16).collect();
            count = groups.parts.iter().max().map_or(1, |most| usize::from(*most) + 1);
        }
        if count > MAX_GROUPS {
            return Err(Refused::TooMuchWork);
        }
        for _ in 0..count {
            groups.all.push(self.group(kept_bits)?);
        }
        Ok(groups)
    }

    fn group(&mut self, kept_bits: u32) -> Result<Group, Refused> {
        let kept = if kept_bits == 0 { 0 } else { 1 << kept_bits };
        Ok(Group {
            green: self.code(256 + 24 + kept)?,
            colors: [self.code(256)?, self.code(256)?, self.code(256)?],
            distance: self.code(40)?,
        })
    }

    fn code(&mut self, alphabet: u16) -> Result<Code, Refused> {
        let code = Code::read(&mut self.bits, alphabet)?;
        self.symbols += code.symbols();
        if self.symbols > MAX_SYMBOLS { Err(Refused::TooMuchWork) } else { Ok(code) }
    }
}

/// The size of an image that has one pixel for each part of another one.
fn parts(size: Size, shift: u32) -> Size {
    Size { width: size.width.div_ceil(1 << shift), height: size.height.div_ceil(1 << shift) }
}

/// The pixels of an image while they are decoded.
struct Pixels {
    size: Size,
    /// How many came.
    at: usize,
    /// What they are, if it matters.
    values: Option<Vec<u32>>,
    kept: Vec<u32>,
}

impl Pixels {
    fn new(size: Size, kept_bits: u32, are_needed: bool) -> Self {
        let kept = if are_needed && kept_bits > 0 { vec![0; 1 << kept_bits] } else { Vec::new() };
        Self { size, at: 0, values: are_needed.then(Vec::new), kept }
    }

    fn read(mut self, bits: &mut Bits<'_>, groups: &Groups) -> Result<Vec<u32>, Refused> {
        let total = self.size.pixels() as usize;
        let width = self.size.width as usize;
        while self.at < total {
            let (x, y) = ((self.at % width) as u32, (self.at / width) as u32);
            let group = groups.at(x, y).ok_or(NO_CODE)?;
            // the same group holds to the end of this part, or row
            let part_end = (x >> groups.shift << groups.shift) as usize + (1 << groups.shift);
            let end = if groups.parts.is_empty() { total } else { y as usize * width + part_end.min(width) };
            while self.at < end {
                self.step(bits, group, groups.kept_bits)?;
            }
        }
        Ok(self.values.unwrap_or_default())
    }

    #[inline]
    fn step(&mut self, bits: &mut Bits<'_>, group: &Group, kept_bits: u32) -> Result<(), Refused> {
        let green = bits.code(&group.green)?;
        match green {
            0..256 => {
                let [red, blue, alpha] = &group.colors;
                let (red, blue, alpha) = (bits.code(red)?, bits.code(blue)?, bits.code(alpha)?);
                if self.values.is_some() {
                    let [red, green, blue, alpha] = [red, green, blue, alpha].map(u32::from);
                    self.push(alpha << 24 | red << 16 | green << 8 | blue, kept_bits);
                }
                self.at += 1;
            }
            256..280 => {
                let length = count(bits, green - 256)?;
                let code = bits.code(&group.distance)?;
                let distance = self.distance(count(bits, code)?);
                self.copy(length, distance, kept_bits)?;
            }
            _ => {
                if self.values.is_some() {
                    let color = *self.kept.get(usize::from(green - 280)).ok_or(NO_CODE)?;
                    self.push(color, kept_bits);
                }
                self.at += 1;
            }
        }
        Ok(())
    }

    fn distance(&self, code: usize) -> usize {
        let Some((left, up)) = code.checked_sub(1).and_then(|code| NEAR.get(code)) else {
            return code - NEAR.len();
        };
        let distance = i64::from(*left) + i64::from(*up) * i64::from(self.size.width);
        distance.max(1) as usize
    }

    fn copy(&mut self, length: usize, distance: usize, kept_bits: u32) -> Result<(), Refused> {
        let left = self.size.pixels() as usize - self.at;
        if distance > self.at || length > left {
            return Err(Refused::Damaged("a part of it is a copy of what is not there"));
        }
        if self.values.is_some() {
            for at in self.at..self.at + length {
                let value = self.values.as_ref().and_then(|values| values.get(at - distance));
                let value = *value.ok_or(NO_CODE)?;
                self.push(value, kept_bits);
            }
        }
        self.at += length;
        Ok(())
    }

    fn push(&mut self, value: u32, kept_bits: u32) {
        if let Some(values) = &mut self.values {
            values.push(value);
        }
        if kept_bits > 0 {
            let place = value.wrapping_mul(0x1e35_a7bd) >> (32 - kept_bits);
            if let Some(kept) = self.kept.get_mut(place as usize) {
                *kept = value;
            }
        }
    }
}

/// A length or a distance, from its code and the bits that follow (3.5.2.1).
fn count(bits: &mut Bits<'_>, code: u16) -> Result<usize, Refused> {
    if code < 4 {
        return Ok(usize::from(code) + 1);
    }
    let more = u32::from(code - 2) >> 1;
    let start = (2 + (u32::from(code) & 1)) << more;
    Ok((start + bits.bits(more)? + 1) as usize)
}
