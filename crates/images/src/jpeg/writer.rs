//! Writes a JPEG that has nothing but what its data need: a table is written when a scan uses it, and was not written
//! before; what no scan uses is left out.

use super::apps::Apps;
use super::frame::{Component, Frame};
use super::huffman::Table;
use super::scan::Scan;
use super::tables::{Quantization, Tables};
use crate::Refused;

/// The header of JFIF 1.02, of square pixels and without a small picture.
const JFIF: &[u8] = b"\xff\xe0\0\x10JFIF\0\x01\x02\0\0\x01\0\x01\0\0";

/// The header of Adobe, but for its last byte, the colours.
const ADOBE: &[u8] = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0";

pub(super) struct Writer {
    out: Vec<u8>,
    codes: [[Option<Table>; 4]; 2],
    quantization: [Option<Quantization>; 4],
    interval: u16,
    has_frame: bool,
}

impl Writer {
    /// `room` is the number of bytes that it will be, at most.
    pub(super) fn new(room: usize) -> Self {
        Self {
            out: Vec::with_capacity(room),
            codes: Default::default(),
            quantization: Default::default(),
            interval: 0,
            has_frame: false,
        }
    }

    /// Writes a scan, and before it what it needs.
    pub(super) fn scan(
        &mut self,
        apps: &Apps,
        frame: &Frame,
        tables: &Tables,
        scan: &Scan,
        data: &[u8],
    ) -> Result<(), Refused> {
        let is_first = !self.has_frame;
        if is_first {
            self.start(apps);
        }
        // a program may look for the tables of all components before it reads the header of the frame
        for (place, component) in frame.components.iter().enumerate() {
            let is_needed = scan.parts.iter().any(|part| part.component == place);
            if is_needed || is_first && tables.quantization(component.quantization).is_some() {
                self.quantization(component, tables)?;
            }
        }
        if is_first {
            self.frame(frame);
            self.has_frame = true;
        }
        for part in &scan.parts {
            if scan.needs_dc() {
                self.codes(0, part.dc, tables.dc(part.dc));
            }
            if scan.needs_ac() {
                self.codes(1, part.ac, tables.ac(part.ac));
            }
        }
        if self.interval != tables.interval() {
            self.interval = tables.interval();
            self.segment(0xdd, &self.interval.to_be_bytes());
        }
        self.scan_header(frame, scan);
        self.out.extend_from_slice(data);
        Ok(())
    }

    /// The file, with its end.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.out.extend_from_slice(&[0xff, 0xd9]);
        self.out
    }

    fn start(&mut self, apps: &Apps) {
        self.out.extend_from_slice(&[0xff, 0xd8]);
        if apps.is_jfif {
            self.out.extend_from_slice(JFIF);
        }
        if let Some(profile) = apps.profile() {
            let mut segment = b"ICC_PROFILE\0\x01\x01".to_vec();
            segment.extend_from_slice(&profile);
            self.segment(0xe2, &segment);
        }
        if let Some(colors) = apps.adobe {
            self.out.extend_from_slice(ADOBE);
            self.out.push(colors);
        }
    }

    fn frame(&mut self, frame: &Frame) {
        let mut segment = vec![8];
        segment.extend_from_slice(&(frame.size.height as u16).to_be_bytes());
        segment.extend_from_slice(&(frame.size.width as u16).to_be_bytes());
        segment.push(frame.components.len() as u8);
        for component in &frame.components {
            let sampling = component.across << 4 | component.down;
            segment.extend_from_slice(&[component.id, sampling as u8, component.quantization]);
        }
        self.segment(frame.marker, &segment);
    }

    fn quantization(&mut self, component: &Component, tables: &Tables) -> Result<(), Refused> {
        let number = component.quantization;
        let table = tables.quantization(number).ok_or(Refused::Damaged("a table of it is missing"))?;
        let Some(written) = self.quantization.get_mut(usize::from(number)) else { return Ok(()) };
        if written.as_ref() == Some(table) {
            return Ok(());
        }
        *written = Some(table.clone());
        let mut segment = vec![u8::from(table.is_wide) << 4 | number];
        for value in table.values {
            let bytes = value.to_be_bytes();
            segment.extend_from_slice(if table.is_wide { &bytes } else { &bytes[1..] });
        }
        self.segment(0xdb, &segment);
        Ok(())
    }

    fn codes(&mut self, class: u8, number: u8, table: Option<&Table>) {
        let slot =
            self.codes.get_mut(usize::from(class)).and_then(|codes| codes.get_mut(usize::from(number)));
        let (Some(written), Some(table)) = (slot, table) else { return };
        if written.as_ref().is_some_and(|written| written.is(table)) {
            return;
        }
        *written = Some(table.clone());
        let mut segment = vec![class << 4 | number];
        segment.extend_from_slice(&table.counts);
        segment.extend_from_slice(&table.values);
        self.segment(0xc4, &segment);
    }

    fn scan_header(&mut self, frame: &Frame, scan: &Scan) {
        let mut segment = vec![scan.parts.len() as u8];
        for part in &scan.parts {
            let id = frame.components.get(part.component).map_or(0, |component| component.id);
            // tables that this scan does not use are not named
            let dc = if scan.needs_dc() { part.dc } else { 0 };
            let ac = if scan.needs_ac() { part.ac } else { 0 };
            segment.extend_from_slice(&[id, dc << 4 | ac]);
        }
        let band = scan.band;
        segment.extend_from_slice(&[band.first as u8, band.last as u8, band.high << 4 | band.low]);
        self.segment(0xda, &segment);
    }

    fn segment(&mut self, marker: u8, content: &[u8]) {
        self.out.extend_from_slice(&[0xff, marker]);
        self.out.extend_from_slice(&(content.len() as u16 + 2).to_be_bytes());
        self.out.extend_from_slice(content);
    }
}
