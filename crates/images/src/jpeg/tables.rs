//! The tables that the data of a JPEG need: Huffman codes, quantization, the restart interval (ITU-T T.81, B.2.4).

use super::huffman::{CUT_OFF, Table};
use crate::Refused;
use crate::bytes::Bytes;

/// Tables that a file defines. Each scan of a progressive JPEG can bring its own eight.
const MAX_DEFINITIONS: u32 = 600;

/// What a component is divided by: in the order of the file, as its bytes are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quantization {
    pub(super) values: [u16; 64],
    pub(super) is_wide: bool,
}

/// The tables that hold now.
#[derive(Default)]
pub(super) struct Tables {
    dc: [Option<Table>; 4],
    ac: [Option<Table>; 4],
    quantization: [Option<Quantization>; 4],
    interval: u16,
    definitions: u32,
}

const BAD: Refused = Refused::Damaged("a table of it is not valid");

impl Tables {
    pub(super) fn dc(&self, number: u8) -> Option<&Table> {
        self.dc.get(usize::from(number))?.as_ref()
    }

    pub(super) fn ac(&self, number: u8) -> Option<&Table> {
        self.ac.get(usize::from(number))?.as_ref()
    }

    pub(super) fn quantization(&self, number: u8) -> Option<&Quantization> {
        self.quantization.get(usize::from(number))?.as_ref()
    }

    /// Units between restarts; 0 if there are none.
    pub(super) fn interval(&self) -> u16 {
        self.interval
    }

    /// Reads a segment DHT.
    pub(super) fn read_codes(&mut self, segment: &[u8]) -> Result<(), Refused> {
        let mut bytes = Bytes::new(segment);
        while let Some(which) = bytes.u8() {
            self.count()?;
            let tables = match which >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err(BAD),
            };
            *tables.get_mut(usize::from(which & 15)).ok_or(BAD)? = Some(Table::read(&mut bytes)?);
        }
        Ok(())
    }

    /// Reads a segment DQT.
    pub(super) fn read_quantization(&mut self, segment: &[u8]) -> Result<(), Refused> {
        let mut bytes = Bytes::new(segment);
        while let Some(which) = bytes.u8() {
            self.count()?;
            let is_wide = match which >> 4 {
                0 => false,
                1 => true,
                _ => return Err(BAD),
            };
            let mut values = [0; 64];
            for value in &mut values {
                *value = if is_wide { bytes.u16_be() } else { bytes.u8().map(u16::from) }.ok_or(CUT_OFF)?;
            }
            *self.quantization.get_mut(usize::from(which & 15)).ok_or(BAD)? =
                Some(Quantization { values, is_wide });
        }
        Ok(())
    }

    /// Reads a segment DRI.
    pub(super) fn read_interval(&mut self, segment: &[u8]) -> Result<(), Refused> {
        self.interval = Bytes::new(segment).u16_be().ok_or(CUT_OFF)?;
        Ok(())
    }

    fn count(&mut self) -> Result<(), Refused> {
        self.definitions += 1;
        if self.definitions > MAX_DEFINITIONS { Err(Refused::TooMuchWork) } else { Ok(()) }
    }
}
