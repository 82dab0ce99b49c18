//! The frame of a JPEG: its size and its components (ITU-T T.81, B.2.2), and the blocks that they are made of.

use super::block::Block;
use super::huffman::CUT_OFF;
use crate::Refused;
use crate::bytes::Bytes;
use crate::limits::{Limits, Size};

/// One of the planes that a picture is made of: brightness, or a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) id: u8,
    /// Its blocks in each unit, across and down.
    pub(super) across: u32,
    pub(super) down: u32,
    /// The table that it is divided by.
    pub(super) quantization: u8,
}

/// What the header of a frame says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) size: Size,
    /// SOF0 to SOF2.
    pub(super) marker: u8,
    pub(super) is_progressive: bool,
    pub(super) components: Vec<Component>,
    /// The most blocks in a unit that a component has.
    pub(super) across: u32,
    pub(super) down: u32,
}

const BAD: Refused = Refused::Damaged("its header is not valid");

impl Frame {
    /// Reads the segment of this marker, SOF0 to SOF2.
    pub(super) fn read(marker: u8, segment: &[u8], limits: &Limits) -> Result<Self, Refused> {
        let mut bytes = Bytes::new(segment);
        if bytes.u8().ok_or(CUT_OFF)? != 8 {
            return Err(Refused::UnusualJpeg("its samples have more than 8 bits"));
        }
        let height = bytes.u16_be().ok_or(CUT_OFF)?;
        let width = bytes.u16_be().ok_or(CUT_OFF)?;
        let size = limits.check(width.into(), height.into())?;
        let count = bytes.u8().ok_or(CUT_OFF)?;
        match count {
            1 | 3 => {}
            4 => return Err(Refused::UnusualJpeg("it is in the colours of printers (CMYK)")),
            _ => return Err(Refused::UnusualJpeg("it has an unusual number of colours")),
        }
        let components = (0..count).map(|_| component(&mut bytes, count)).collect::<Result<Vec<_>, _>>()?;
        let across = components.iter().map(|component| component.across).max().ok_or(BAD)?;
        let down = components.iter().map(|component| component.down).max().ok_or(BAD)?;
        Ok(Self { size, marker, is_progressive: marker == 0xc2, components, across, down })
    }

    /// The units that the picture is made of, across and down.
    pub(super) fn units(&self) -> (u32, u32) {
        (self.size.width.div_ceil(8 * self.across), self.size.height.div_ceil(8 * self.down))
    }

    /// The blocks of a component that are in the picture, across and down: a scan of it alone has just these.
    pub(super) fn blocks(&self, component: &Component) -> (u32, u32) {
        let across = (self.size.width * component.across).div_ceil(self.across);
        let down = (self.size.height * component.down).div_ceil(self.down);
        (across.div_ceil(8), down.div_ceil(8))
    }

    /// The blocks of all components.
    pub(super) fn all_blocks(&self) -> u64 {
        let (wide, high) = self.units();
        let in_unit: u32 = self.components.iter().map(|component| component.across * component.down).sum();
        u64::from(wide) * u64::from(high) * u64::from(in_unit)
    }
}

fn component(bytes: &mut Bytes<'_>, count: u8) -> Result<Component, Refused> {
    let [id, sampling, quantization] = bytes.array().ok_or(CUT_OFF)?;
    let (across, down) = (u32::from(sampling >> 4), u32::from(sampling & 15));
    if !(1..=4).contains(&across) || !(1..=4).contains(&down) || quantization > 3 {
        return Err(BAD);
    }
    // a single component has no units of several blocks (T.81, A.2.2)
    let (across, down) = if count == 1 { (1, 1) } else { (across, down) };
    Ok(Component { id, across, down, quantization })
}

/// The coefficients of the blocks: of all, or of one row of units.
pub(super) struct Coefficients {
    planes: Vec<Plane>,
}

struct Plane {
    wide: u32,
    high: u32,
    blocks: Vec<Block>,
}

impl Coefficients {
    /// Room for all blocks, or for one row of units, which serves for each row in turn.
    pub(super) fn new(frame: &Frame, all: bool) -> Self {
        let (wide, high) = frame.units();
        let rows = if all { high } else { 1 };
        let plane = |component: &Component| {
            let (wide, high) = (wide * component.across, rows * component.down);
            Plane { wide, high, blocks: vec![[0; 64]; wide as usize * high as usize] }
        };
        Self { planes: frame.components.iter().map(plane).collect() }
    }

    /// The bytes of memory for all.
    pub(super) fn memory(frame: &Frame) -> u64 {
        frame.all_blocks() * size_of::<Block>() as u64
    }

    #[inline]
    pub(super) fn block(&mut self, component: usize, x: u32, y: u32) -> Result<&mut Block, Refused> {
        let plane = self.planes.get_mut(component).ok_or(BAD)?;
        let index = (y % plane.high) as usize * plane.wide as usize + x as usize;
        plane.blocks.get_mut(index).ok_or(BAD)
    }

    /// The blocks of a component that are side by side.
    pub(super) fn row(&self, component: usize, y: u32) -> &[Block] {
        self.planes
            .get(component)
            .and_then(|plane| {
                let start = (y % plane.high) as usize * plane.wide as usize;
                plane.blocks.get(start..start + plane.wide as usize)
            })
            .unwrap_or_default()
    }
}
