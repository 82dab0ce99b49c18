//! GIF (89a): its data are unpacked to their exact end, and the blocks written again that are needed to show it.

mod blocks;
mod pixels;
mod scaled;

use crate::bytes::Bytes;
use crate::limits::{Budget, Limits, Size};
use crate::{Format, Picture, Refused};
use blocks::{Block, Control, Frame, Screen};

pub(crate) fn prepare(bytes: &[u8], limits: &Limits) -> Result<Picture, Refused> {
    let mut bytes = Bytes::new(bytes);
    let screen = Screen::read(&mut bytes)?;
    let size = limits.check(screen.width.into(), screen.height.into())?;
    let is_scaled = limits.is_oversized(size);
    if is_scaled {
        check_still(bytes.clone(), &screen, limits)?;
    }
    let mut writer = Writer::new(&screen, limits, size, if is_scaled { 0 } else { bytes.length() });
    loop {
        match blocks::next(&mut bytes, &screen)? {
            Block::Control(control) => writer.control = Some(control),
            Block::Text => writer.control = None,
            Block::Loops(loops) => writer.loops(loops),
            Block::Frame(frame) if is_scaled => writer.scaled_frame(&frame, &mut bytes)?,
            Block::Frame(frame) => writer.frame(&frame, &mut bytes)?,
            Block::End => return writer.finish(is_scaled),
        }
    }
}

/// Refuses animations, without unpacking them.
fn check_still(mut bytes: Bytes<'_>, screen: &Screen<'_>, limits: &Limits) -> Result<(), Refused> {
    let mut has_frame = false;
    loop {
        match blocks::next(&mut bytes, screen)? {
            Block::End => return Ok(()),
            Block::Frame(_) if has_frame => return Err(Refused::OversizedAnimation { most: limits.side }),
            Block::Frame(_) => {
                has_frame = true;
                while !blocks::part(&mut bytes)?.is_empty() {}
            }
            _ => {}
        }
    }
}

struct Writer<'a> {
    screen: &'a Screen<'a>,
    limits: &'a Limits,
    size: Size,
    budget: Budget,
    /// Of the frame that comes next.
    control: Option<Control>,
    has_loops: bool,
    out: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(screen: &'a Screen<'a>, limits: &'a Limits, size: Size, room: usize) -> Self {
        let mut out = Vec::with_capacity(room);
        screen.write(limits.scaled(size), &mut out);
        let budget = Budget::new(limits);
        Self { screen, limits, size, budget, control: None, has_loops: false, out }
    }

    fn loops(&mut self, loops: u16) {
        if !std::mem::replace(&mut self.has_loops, true) {
            blocks::write_loops(loops, &mut self.out);
        }
    }

    fn write_control(&mut self) -> Option<u8> {
        let control = self.control.take()?;
        control.write(&mut self.out);
        control.transparent
    }

    fn frame(&mut self, frame: &Frame<'_>, bytes: &mut Bytes<'_>) -> Result<(), Refused> {
        self.budget.frame(frame.size)?;
        self.write_control();
        frame.write(frame.size, frame.is_interlaced(), &mut self.out);
        let packed = pixels::read(bytes, frame.bits, frame.size.pixels(), &mut |_| {})?;
        blocks::write_parts(&packed, &mut self.out);
        Ok(())
    }

    fn scaled_frame(&mut self, frame: &Frame<'_>, bytes: &mut Bytes<'_>) -> Result<(), Refused> {
        if frame.size != self.size {
            return Err(Refused::OversizedKind { what: "GIF picture", most: self.limits.side });
        }
        self.budget.frame(frame.size)?;
        let to = self.limits.scaled(self.size);
        // the pixels, what they are packed in, and the result
        let packed = bytes.rest().len() as u64;
        self.limits.check_memory(frame.size.pixels() + packed.max(2 * to.pixels()))?;
        let mut pixels = Vec::with_capacity(frame.size.pixels() as usize);
        pixels::read(bytes, frame.bits, frame.size.pixels(), &mut |part| pixels.extend_from_slice(part))?;
        let transparent = self.write_control();
        frame.write(to, false, &mut self.out);
        let palette = if frame.palette.is_empty() { self.screen.palette } else { frame.palette };
        let packed = scaled::packed(&pixels, frame, palette, transparent, to)?;
        blocks::write_parts(&packed, &mut self.out);
        Ok(())
    }

    fn finish(mut self, was_reencoded: bool) -> Result<Picture, Refused> {
        let frames = self.budget.frames();
        if frames == 0 {
            return Err(Refused::Damaged("it has no picture"));
        }
        self.out.push(0x3b);
        let Size { width, height } = self.limits.scaled(self.size);
        Ok(Picture { bytes: self.out, format: Format::Gif, width, height, frames, was_reencoded })
    }
}
