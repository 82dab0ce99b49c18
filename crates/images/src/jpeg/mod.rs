//! JPEG (ITU-T T.81): every scan is decoded to its exact end, and written again with just the tables that it needs.
//!
//! It is decoded by own code for three reasons. The libraries do not say where the data of a scan end, so that what
//! hides behind them could not be told from them; they show a cut-off picture as if it were whole; and they hold all
//! pixels at once, 120 MB for a photograph of 40 megapixels, where here a photograph is scaled down row by row.

mod apps;
mod block;
mod cosine;
mod frame;
mod huffman;
mod orientation;
mod samples;
mod scan;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use jpeg_encoder::{ColorType, Encoder};

use crate::bytes::Bytes;
use crate::limits::{Limits, Size};
use crate::{Format, Picture, Refused};
use apps::Apps;
use frame::{Coefficients, Frame};
use huffman::CUT_OFF;
use samples::Samples;
use scan::Scan;
use tables::Tables;
use writer::Writer;

/// Scans of a JPEG. Progressive ones have about ten.
const MAX_SCANS: u32 = 64;

/// Blocks that all scans of a JPEG go over together: those of ten scans of a progressive one of 15 megapixels, and more.
const MAX_BLOCK_VISITS: u64 = 6_000_000;

/// The quality of what is compressed anew, of 100.
const QUALITY: u8 = 85;

/// Room for what is written and was not in the file: a profile is larger here than in it, at most by this.
const HEADERS: usize = 16_384;

const TWO_FRAMES: Refused = Refused::Damaged("it has two headers");

pub(crate) fn prepare(bytes: &[u8], limits: &Limits) -> Result<Picture, Refused> {
    let mut reader = Reader::new(bytes, limits);
    while reader.segment()? {}
    reader.finish()
}

struct Reader<'a> {
    bytes: Bytes<'a>,
    limits: &'a Limits,
    tables: Tables,
    apps: Apps,
    frame: Option<Frame>,
    /// From the first scan on.
    work: Option<Work>,
}

/// What the scans are made to.
struct Work {
    /// The components that came, at least their mean.
    came: Vec<bool>,
    scans: u32,
    visits: u64,
    coefficients: Coefficients,
    holds_all: bool,
    output: Output,
}

enum Output {
    /// The scans as they are.
    Scans(Box<Writer>),
    /// The pixels, scaled down to this size.
    Pixels(Box<Samples>, Size),
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], limits: &'a Limits) -> Self {
        let mut bytes = Bytes::new(bytes);
        bytes.go_to(2);
        Self { bytes, limits, tables: Tables::default(), apps: Apps::default(), frame: None, work: None }
    }

    /// Reads the next segment. Says whether more may follow.
    fn segment(&mut self) -> Result<bool, Refused> {
        let Some(marker) = self.marker() else { return self.without_end() };
        match marker {
            0xd9 => return Ok(false),
            // restarts and a second start are alone; they mean nothing between segments
            0x01 | 0xd0..=0xd8 => return Ok(true),
            _ => {}
        }
        let length = usize::from(self.bytes.u16_be().ok_or(CUT_OFF)?);
        let content = length.checked_sub(2).and_then(|length| self.bytes.take(length)).ok_or(CUT_OFF)?;
        match marker {
            0xc0..=0xc2 => self.frame(marker, content)?,
            0xc4 => self.tables.read_codes(content)?,
            0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf | 0xcc | 0xde => {
                return Err(Refused::UnusualJpeg("it is lossless, hierarchical or arithmetically coded"));
            }
            0xda => self.scan(content)?,
            0xdb => self.tables.read_quantization(content)?,
            0xdd => self.tables.read_interval(content)?,
            // what comes after the first scan comes too late to be heeded
            0xe0..=0xef if self.work.is_none() => self.apps.read(marker, content),
            _ => {}
        }
        Ok(true)
    }

    /// The next marker. What is before it, is nothing.
    fn marker(&mut self) -> Option<u8> {
        let rest = self.bytes.rest();
        let start =
            rest.array_windows().position(|[mark, kind]| *mark == 0xff && !matches!(kind, 0 | 0xff))?;
        self.bytes.take(start + 1)?;
        self.bytes.u8()
    }

    /// The end is missing. A sequential picture may have come whole all the same.
    fn without_end(&self) -> Result<bool, Refused> {
        match &self.frame {
            Some(frame) if !frame.is_progressive => Ok(false),
            _ => Err(CUT_OFF),
        }
    }

    fn frame(&mut self, marker: u8, content: &[u8]) -> Result<(), Refused> {
        if self.frame.is_some() {
            return Err(TWO_FRAMES);
        }
        let frame = Frame::read(marker, content, self.limits)?;
        self.apps.set_components(frame.components.len());
        self.frame = Some(frame);
        Ok(())
    }

    fn scan(&mut self, content: &[u8]) -> Result<(), Refused> {
        let frame = self.frame.as_ref().ok_or(Refused::Damaged("its header is missing"))?;
        let scan = Scan::read(content, frame)?;
        let work = match &mut self.work {
            Some(work) => work,
            none => {
                self.apps.set_components(frame.components.len());
                none.insert(Work::new(frame, &scan, &self.apps, self.limits, self.bytes.length())?)
            }
        };
        work.count(frame, &scan)?;
        let data = self.bytes.rest();
        let length = work.decode(data, frame, &scan, &self.tables)?;
        let data = self.bytes.take(length).ok_or(CUT_OFF)?;
        work.write(&self.apps, frame, &self.tables, &scan, data)
    }

    fn finish(self) -> Result<Picture, Refused> {
        let (Some(frame), Some(work)) = (self.frame, self.work) else { return Err(CUT_OFF) };
        if work.came.contains(&false) {
            return Err(Refused::Damaged("a colour of it is missing"));
        }
        let is_gray = frame.components.len() == 1;
        match work.output {
            Output::Scans(writer) => Ok(picture(writer.finish(), frame.size, false)),
            Output::Pixels(mut samples, size) => {
                if work.holds_all {
                    for y in 0..frame.units().1 {
                        samples.row_of_units(y, &work.coefficients)?;
                    }
                }
                drop(work.coefficients);
                encode(samples.finish(), size, is_gray, &self.apps, self.limits)
            }
        }
    }
}

fn picture(bytes: Vec<u8>, size: Size, was_reencoded: bool) -> Picture {
    let Size { width, height } = size;
    Picture { bytes, format: Format::Jpeg, width, height, frames: 1, was_reencoded }
}

impl Work {
    fn new(frame: &Frame, scan: &Scan, apps: &Apps, limits: &Limits, length: usize) -> Result<Self, Refused> {
        let to = limits.scaled(frame.size);
        let is_changed = to != frame.size || apps.orientation.is_some();
        let is_streamed = !frame.is_progressive && scan.parts.len() == frame.components.len();
        // of a sequential picture that is not changed, no block is needed once it is read
        let holds_all = frame.is_progressive || is_changed && !is_streamed;
        let pixels = if is_changed { to.pixels() * frame.components.len() as u64 } else { 0 };
        let turned = if apps.orientation.is_some() { pixels } else { 0 };
        let coefficients = if holds_all { Coefficients::memory(frame) } else { 0 };
        limits.check_memory(coefficients.max(turned) + pixels)?;
        let output = if is_changed {
            Output::Pixels(Box::new(Samples::new(frame, to, apps)), to)
        } else {
            Output::Scans(Box::new(Writer::new(length + HEADERS)))
        };
        Ok(Self {
            came: vec![false; frame.components.len()],
            scans: 0,
            visits: 0,
            coefficients: Coefficients::new(frame, holds_all),
            holds_all,
            output,
        })
    }

    /// Counts a scan, before it is decoded.
    fn count(&mut self, frame: &Frame, scan: &Scan) -> Result<(), Refused> {
        self.scans += 1;
        self.visits += scan.blocks(frame);
        if self.scans > MAX_SCANS || frame.is_progressive && self.visits > MAX_BLOCK_VISITS {
            return Err(Refused::TooMuchWork);
        }
        for part in &scan.parts {
            let came = self.came.get_mut(part.component).ok_or(CUT_OFF)?;
            let came_before = std::mem::replace(came, true);
            if came_before && !frame.is_progressive {
                return Err(Refused::Damaged("a colour of it comes twice"));
            }
            if !came_before && scan.band.first > 0 {
                return Err(Refused::Damaged("a colour of it comes without its mean"));
            }
        }
        Ok(())
    }

    fn decode(&mut self, data: &[u8], frame: &Frame, scan: &Scan, tables: &Tables) -> Result<usize, Refused> {
        let mut samples = match &mut self.output {
            Output::Pixels(samples, _) => Some(samples),
            Output::Scans(_) => None,
        };
        if let (Some(samples), true) = (&mut samples, scan.band.first == 0 && scan.band.high == 0) {
            for part in &scan.parts {
                samples.set_factors(frame, part.component, tables);
            }
        }
        let holds_all = self.holds_all;
        scan::decode(data, frame, scan, tables, &mut self.coefficients, &mut |y, coefficients| {
            match &mut samples {
                Some(samples) if !holds_all => samples.row_of_units(y, coefficients),
                _ => Ok(()),
            }
        })
    }

    fn write(
        &mut self,
        apps: &Apps,
        frame: &Frame,
        tables: &Tables,
        scan: &Scan,
        data: &[u8],
    ) -> Result<(), Refused> {
        match &mut self.output {
            Output::Scans(writer) => writer.scan(apps, frame, tables, scan, data),
            Output::Pixels(..) => Ok(()),
        }
    }
}

/// Turns pixels as the camera was held, and compresses them.
fn encode(
    pixels: Vec<u8>,
    size: Size,
    is_gray: bool,
    apps: &Apps,
    limits: &Limits,
) -> Result<Picture, Refused> {
    let (color, bytes) = if is_gray { (ColorType::Luma, 1) } else { (ColorType::Rgb, 3) };
    let (pixels, size) = match apps.orientation {
        Some(orientation) => (orientation.turned(&pixels, size, bytes), orientation.turned_size(size)),
        None => (pixels, size),
    };
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, QUALITY);
    let with_profile = apps.profile().map_or(Ok(()), |profile| encoder.add_icc_profile(&profile));
    with_profile
        .and_then(|()| encoder.encode(&pixels, size.width as u16, size.height as u16, color))
        .map_err(|_| Refused::Damaged("it cannot be compressed anew"))?;
    drop(pixels);
    // what the library wrote is read and written as every file is: it is not trusted more than others
    let mut reader = Reader::new(&out, limits);
    while reader.segment()? {}
    let picture = reader.finish()?;
    Ok(Picture { was_reencoded: true, ..picture })
}
