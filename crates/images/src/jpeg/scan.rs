//! A scan of a JPEG (ITU-T T.81, B.2.3): some coefficients of some components, decoded to its exact end.

use super::block::{self, Band};
use super::frame::{Coefficients, Frame};
use super::huffman::{Bits, CUT_OFF, Table};
use super::tables::Tables;
use crate::Refused;
use crate::bytes::Bytes;

const BAD: Refused = Refused::Damaged("the header of its data is not valid");

/// A component in a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Its place in the frame.
    pub(super) component: usize,
    /// The numbers of its tables.
    pub(super) dc: u8,
    pub(super) ac: u8,
}

/// What the header of a scan says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) parts: Vec<Part>,
    pub(super) band: Band,
}

impl Scan {
    pub(super) fn read(segment: &[u8], frame: &Frame) -> Result<Self, Refused> {
        let mut bytes = Bytes::new(segment);
        let count = usize::from(bytes.u8().ok_or(CUT_OFF)?);
        if count == 0 || count > frame.components.len() {
            return Err(BAD);
        }
        let parts = (0..count).map(|_| part(&mut bytes, frame)).collect::<Result<Vec<_>, _>>()?;
        let [first, last, precision] = bytes.array().ok_or(CUT_OFF)?;
        // components come in the order of the frame (T.81, B.2.3), so none comes twice
        if !parts.is_sorted_by(|a, b| a.component < b.component) {
            return Err(BAD);
        }
        let mut band =
            Band { first: first.into(), last: last.into(), high: precision >> 4, low: precision & 15 };
        if !frame.is_progressive {
            band = Band::WHOLE;
        } else if !band.is_valid(count) {
            return Err(BAD);
        }
        Ok(Self { parts, band })
    }

    pub(super) fn needs_dc(&self) -> bool {
        self.band.first == 0 && self.band.high == 0
    }

    pub(super) fn needs_ac(&self) -> bool {
        self.band.last > 0
    }

    /// The blocks that it goes over.
    pub(super) fn blocks(&self, frame: &Frame) -> u64 {
        let one = |part: &Part| {
            let component = frame.components.get(part.component)?;
            let (wide, high) = if self.parts.len() == 1 {
                frame.blocks(component)
            } else {
                let (wide, high) = frame.units();
                (wide * component.across, high * component.down)
            };
            Some(u64::from(wide) * u64::from(high))
        };
        self.parts.iter().filter_map(one).sum()
    }
}

fn part(bytes: &mut Bytes<'_>, frame: &Frame) -> Result<Part, Refused> {
    let [id, tables] = bytes.array().ok_or(CUT_OFF)?;
    let component = frame.components.iter().position(|component| component.id == id).ok_or(BAD)?;
    let (dc, ac) = (tables >> 4, tables & 15);
    if dc > 3 || ac > 3 { Err(BAD) } else { Ok(Part { component, dc, ac }) }
}

/// A component while its scan is decoded.
struct Running<'a> {
    part: Part,
    across: u32,
    down: u32,
    dc: Option<&'a Table>,
    ac: Option<&'a Table>,
    before: i16,
}

/// Decodes a scan that starts at these bytes, and says how many it has. Calls `row_done` after each row of units, if it
/// has all components.
pub(super) fn decode(
    bytes: &[u8],
    frame: &Frame,
    scan: &Scan,
    tables: &Tables,
    coefficients: &mut Coefficients,
    row_done: &mut dyn FnMut(u32, &Coefficients) -> Result<(), Refused>,
) -> Result<usize, Refused> {
    let mut decoder = Decoder::new(bytes, frame, scan, tables)?;
    let is_single = scan.parts.len() == 1;
    let (wide, high) = match (is_single, scan.parts.first()) {
        (true, Some(part)) => frame.blocks(frame.components.get(part.component).ok_or(BAD)?),
        _ => frame.units(),
    };
    let all = scan.parts.len() == frame.components.len();
    for y in 0..high {
        for x in 0..wide {
            decoder.unit(x, y, is_single, coefficients)?;
        }
        if all {
            row_done(y, coefficients)?;
        }
    }
    Ok(decoder.bits.end())
}

struct Decoder<'a> {
    bits: Bits<'a>,
    running: Vec<Running<'a>>,
    is_progressive: bool,
    band: Band,
    ended: u32,
    interval: u32,
    /// The units until the next restart, and its number.
    left: u32,
    restart: u8,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], frame: &Frame, scan: &Scan, tables: &'a Tables) -> Result<Self, Refused> {
        let run = |part: &Part| {
            let component = frame.components.get(part.component).ok_or(BAD)?;
            let dc = tables.dc(part.dc);
            let ac = tables.ac(part.ac);
            if scan.needs_dc() && dc.is_none() || scan.needs_ac() && ac.is_none() {
                return Err(Refused::Damaged("a table of it is missing"));
            }
            let (across, down) = (component.across, component.down);
            Ok(Running { part: *part, across, down, dc, ac, before: 0 })
        };
        Ok(Self {
            bits: Bits::new(bytes),
            running: scan.parts.iter().map(run).collect::<Result<_, _>>()?,
            is_progressive: frame.is_progressive,
            band: scan.band,
            ended: 0,
            interval: tables.interval().into(),
            left: tables.interval().into(),
            restart: 0,
        })
    }

    fn unit(&mut self, x: u32, y: u32, is_single: bool, blocks: &mut Coefficients) -> Result<(), Refused> {
        if self.interval > 0 {
            if self.left == 0 {
                self.start_again()?;
            }
            self.left -= 1;
        }
        for running in &mut self.running {
            let (across, down) = if is_single { (1, 1) } else { (running.across, running.down) };
            for below in 0..down {
                for right in 0..across {
                    let block = blocks.block(running.part.component, x * across + right, y * down + below)?;
                    running.read(&mut self.bits, self.is_progressive, self.band, &mut self.ended, block)?;
                }
            }
        }
        Ok(())
    }

    fn start_again(&mut self) -> Result<(), Refused> {
        self.bits.restart(self.restart)?;
        self.restart = (self.restart + 1) & 7;
        self.left = self.interval;
        self.ended = 0;
        self.running.iter_mut().for_each(|running| running.before = 0);
        Ok(())
    }
}

impl Running<'_> {
    #[inline]
    fn read(
        &mut self,
        bits: &mut Bits<'_>,
        is_progressive: bool,
        band: Band,
        ended: &mut u32,
        block: &mut block::Block,
    ) -> Result<(), Refused> {
        let before = &mut self.before;
        match (is_progressive, band.first, band.high) {
            (false, _, _) => {
                let tables = (self.dc.ok_or(BAD)?, self.ac.ok_or(BAD)?);
                block::sequential(bits, tables, before, block)
            }
            (true, 0, 0) => block::dc_first(bits, self.dc.ok_or(BAD)?, band.low, before, block),
            (true, 0, _) => block::dc_more(bits, band.low, block),
            (true, _, 0) => block::ac_first(bits, self.ac.ok_or(BAD)?, band, ended, block),
            (true, _, _) => block::ac_more(bits, self.ac.ok_or(BAD)?, band, ended, block),
        }
    }
}
