//! WebP (RFC 9649): its pictures are decoded, and the chunks written again that are needed to show it.
//!
//! Large ones are refused, not scaled down: no library compresses WebP with losses, and a photograph that was compressed
//! without would be many times as large as the one that was uploaded.

mod image;
mod lossless;
mod prefix;
mod riff;

use crate::bytes::Bytes;
use crate::icc::{self, Space};
use crate::limits::{Budget, Limits, Size};
use crate::{Format, Picture, Refused};
use image::{Checked, Image};
use prefix::CUT_OFF;

/// What the header of an extended file says that it has.
const ANIMATION: u8 = 0x02;
const ALPHA: u8 = 0x10;
const PROFILE: u8 = 0x20;

/// Room for what is written and was not in the file.
const HEADERS: usize = 16_384;

pub(crate) fn prepare(file: &[u8], limits: &Limits) -> Result<Picture, Refused> {
    let mut bytes = riff::content(file)?;
    let first = riff::next(&mut bytes)?.ok_or(CUT_OFF)?;
    if first.0 != *b"VP8X" {
        let mut image = Image::default();
        image.take(first)?;
        let size = checked_size(image.size()?, limits)?;
        return still(&image, size, None, limits, file.len());
    }
    let mut header = Bytes::new(first.1);
    let flags = header.u8().ok_or(CUT_OFF)?;
    header.take(3).ok_or(CUT_OFF)?;
    let (width, height) = (header.u24_le().ok_or(CUT_OFF)? + 1, header.u24_le().ok_or(CUT_OFF)? + 1);
    let canvas = limits.check(width, height)?;
    if flags & ANIMATION == 0 {
        return extended(bytes, canvas, limits, file.len());
    }
    if limits.is_oversized(canvas) {
        return Err(Refused::OversizedAnimation { most: limits.side });
    }
    animation(bytes, canvas, flags, limits, file.len())
}

fn checked_size(size: Size, limits: &Limits) -> Result<Size, Refused> {
    let size = limits.check(size.width, size.height)?;
    if limits.is_oversized(size) {
        return Err(Refused::OversizedKind { what: "WebP picture", most: limits.side });
    }
    Ok(size)
}

/// A still picture in a file that can have more than its pixels.
fn extended(mut bytes: Bytes<'_>, canvas: Size, limits: &Limits, room: usize) -> Result<Picture, Refused> {
    let (mut image, mut profile) = (Image::default(), None);
    while let Some((name, content)) = riff::next(&mut bytes)? {
        match &name {
            b"ICCP" if profile.is_none() => profile = icc::rebuilt(content, Space::Rgb),
            _ => image.take((name, content))?,
        }
    }
    let size = checked_size(image.size()?, limits)?;
    if size != canvas {
        return Err(Refused::Damaged("its header says another size than its data"));
    }
    still(&image, size, profile, limits, room)
}

fn still(
    image: &Image<'_>,
    size: Size,
    profile: Option<Vec<u8>>,
    limits: &Limits,
    room: usize,
) -> Result<Picture, Refused> {
    let Checked { chunks, has_alpha, is_simple } = image.check(limits)?;
    let mut out = riff::start(room + HEADERS);
    if !is_simple || profile.is_some() {
        write_header(&mut out, size, if has_alpha { ALPHA } else { 0 }, profile.as_deref());
    }
    out.extend_from_slice(&chunks);
    Ok(picture(out, size, 1))
}

fn picture(out: Vec<u8>, size: Size, frames: u32) -> Picture {
    let Size { width, height } = size;
    Picture { bytes: riff::finish(out), format: Format::Webp, width, height, frames, was_reencoded: false }
}

/// Writes the header of an extended file, and its profile.
fn write_header(out: &mut Vec<u8>, size: Size, flags: u8, profile: Option<&[u8]>) {
    let flags = flags | if profile.is_some() { PROFILE } else { 0 };
    let (width, height) = ((size.width - 1).to_le_bytes(), (size.height - 1).to_le_bytes());
    riff::write(out, *b"VP8X", &[&[flags, 0, 0, 0], &width[..3], &height[..3]]);
    if let Some(profile) = profile {
        riff::write(out, *b"ICCP", &[profile]);
    }
}

fn animation(
    mut bytes: Bytes<'_>,
    canvas: Size,
    flags: u8,
    limits: &Limits,
    room: usize,
) -> Result<Picture, Refused> {
    let mut budget = Budget::new(limits);
    let (mut profile, mut has_loops) = (None, false);
    let mut out = riff::start(room + HEADERS);
    while let Some((name, content)) = riff::next(&mut bytes)? {
        match &name {
            b"ICCP" if !has_loops && profile.is_none() => profile = icc::rebuilt(content, Space::Rgb),
            // the colour behind it, and how often it is shown
            b"ANIM" if !has_loops => {
                has_loops = true;
                write_header(&mut out, canvas, flags & (ALPHA | ANIMATION), profile.as_deref());
                riff::write(&mut out, *b"ANIM", &[content.get(..6).ok_or(CUT_OFF)?]);
            }
            b"ANMF" if !has_loops => return Err(Refused::Damaged("its parts are not in order")),
            b"ANMF" => frame(content, canvas, &mut budget, limits, &mut out)?,
            _ => {}
        }
    }
    if budget.frames() == 0 {
        return Err(Refused::Damaged("it has no picture"));
    }
    Ok(picture(out, canvas, budget.frames()))
}

/// Bytes that say where and how long a frame is shown.
const FRAME_HEADER: usize = 16;

fn frame(
    content: &[u8],
    canvas: Size,
    budget: &mut Budget,
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let mut bytes = Bytes::new(content);
    let mut field = || bytes.u24_le().ok_or(CUT_OFF);
    let (left, top) = (field()? * 2, field()? * 2);
    let size = Size { width: field()? + 1, height: field()? + 1 };
    field()?;
    let flags = bytes.u8().ok_or(CUT_OFF)? & 3;
    if left + size.width > canvas.width || top + size.height > canvas.height {
        return Err(Refused::Damaged("a frame of it is not inside of it"));
    }
    budget.frame(size)?;
    let mut image = Image::default();
    while let Some(chunk) = riff::next(&mut bytes)? {
        image.take(chunk)?;
    }
    if image.size()? != size {
        return Err(Refused::Damaged("a frame of it says another size than its data"));
    }
    let header = content.get(..FRAME_HEADER - 1).ok_or(CUT_OFF)?;
    riff::write(out, *b"ANMF", &[header, &[flags], &image.check(limits)?.chunks]);
    Ok(())
}
