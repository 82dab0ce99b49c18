//! The write-ahead log as a file: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.
//!
//! The log begins with a header, which has two salts. Frames follow, each a page with the salts and with a checksum of
//! everything before it. A frame that ends a transaction has the size of the database then. When the log is started
//! anew, frames are written over the old ones, with other salts: the first salt is greater by one. So what is read is
//! either a frame of this log, in its place, or it is seen not to be one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::{Value, json};

/// Bytes of the header of the log.
const HEADER: usize = 32;
/// Bytes of the header of a frame.
const FRAME_HEADER: usize = 24;
/// What a log begins with; the last bit says that its checksums are of numbers whose first byte is the greatest.
const MAGIC: u32 = 0x377f_0682;
/// Frames that are read at a time: half a megabyte.
const AT_ONCE: u32 = 128;

/// The end of a transaction in the log. Whoever has read up to it goes on there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The salts of the log.
    pub(super) salts: [u32; 2],
    /// How many frames are before it.
    pub(super) frame: u32,
    /// The checksum up to it.
    pub(super) checksum: [u32; 2],
}

impl Place {
    /// The place as it is kept beside a copy.
    pub fn to_json(self) -> Value {
        json!({"salts": self.salts, "frame": self.frame, "checksum": self.checksum})
    }

    /// Reads what [`Place::to_json`] wrote.
    pub fn from_json(value: &Value) -> Option<Self> {
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let pair = |name: &str| Some([number(&value[name][0])?, number(&value[name][1])?]);
        Some(Self { salts: pair("salts")?, frame: number(&value["frame"])?, checksum: pair("checksum")? })
    }
}

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) salts: [u32; 2],
    checksum: [u32; 2],
    pub(super) page: usize,
    is_big: bool,
}

impl Header {
    /// The place before the first frame.
    pub(super) fn start(&self) -> Place {
        Place { salts: self.salts, frame: 0, checksum: self.checksum }
    }
}

/// Transactions that follow a place.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// The last frame of each page that they changed.
    pub(super) pages: BTreeMap<u32, u32>,
    /// The pages of the database after them.
    pub(super) database_pages: u32,
    /// Where they end; `None` if there is none.
    pub(super) end: Option<Place>,
}

/// An open log.
pub(super) struct LogFile {
    file: File,
}

impl LogFile {
    /// Opens a log; `None` while there is none. Nobody holds locks on this file, so closing it again lets none go.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Self { file })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The header; `None` in a log that is empty, and for a moment while a header is written.
    pub(super) fn header(&self) -> io::Result<Option<Header>> {
        let mut bytes = [0; HEADER];
        if !read_whole(&self.file, &mut bytes, 0)? {
            return Ok(None);
        }
        let [magic, _, page, _, salt1, salt2, sum1, sum2] = words::<8>(&bytes);
        let is_big = magic == MAGIC | 1;
        let (covered, _) = bytes.split_at(HEADER - 8);
        let is_page = page.is_power_of_two() && (512..=65_536).contains(&page);
        if (magic != MAGIC && !is_big) || !is_page || checksum([0; 2], covered, is_big) != [sum1, sum2] {
            return Ok(None);
        }
        Ok(Some(Header { salts: [salt1, salt2], checksum: [sum1, sum2], page: page as usize, is_big }))
    }

    /// Whether a place is still in the log that has this header.
    pub(super) fn has(&self, header: &Header, place: &Place) -> io::Result<bool> {
        if place.salts != header.salts {
            return Ok(false);
        }
        if place.frame == 0 {
            return Ok(place.checksum == header.checksum);
        }
        let mut bytes = [0; FRAME_HEADER];
        if !read_whole(&self.file, &mut bytes, offset(place.frame - 1, header.page))? {
            return Ok(false);
        }
        let [_, size, salt1, salt2, sum1, sum2] = words::<6>(&bytes);
        Ok(size > 0 && [salt1, salt2] == place.salts && [sum1, sum2] == place.checksum)
    }

    /// The whole transactions between a place and so many frames. What is torn, not committed, or of another log ends
    /// them.
    pub(super) fn read(&self, header: &Header, from: &Place, until: u32) -> io::Result<Transactions> {
        let size = FRAME_HEADER + header.page;
        let mut found = Transactions::default();
        let mut changed: Vec<(u32, u32)> = Vec::new();
        let (mut frame, mut sum) = (from.frame, from.checksum);
        let mut buffer = vec![0; AT_ONCE as usize * size];
        while frame < until {
            let wanted = (until - frame).min(AT_ONCE) as usize * size;
            let Some(part) = buffer.get_mut(..wanted) else { break };
            let read = read_some(&self.file, part, offset(frame, header.page))?;
            let mut whole = part.get(..read).unwrap_or_default().chunks_exact(size);
            let mut is_valid = whole.len() > 0;
            for bytes in whole.by_ref() {
                let (head, page) = bytes.split_at(FRAME_HEADER);
                let [number, database_pages, salt1, salt2, sum1, sum2] = words::<6>(head);
                sum = checksum(sum, head.get(..8).unwrap_or_default(), header.is_big);
                sum = checksum(sum, page, header.is_big);
                is_valid = [salt1, salt2] == header.salts && [sum1, sum2] == sum && number > 0;
                if !is_valid {
                    break;
                }
                changed.push((number, frame));
                frame += 1;
                if database_pages > 0 {
                    found.pages.extend(changed.drain(..));
                    found.database_pages = database_pages;
                    found.end = Some(Place { salts: header.salts, frame, checksum: sum });
                }
            }
            if !is_valid || read < wanted {
                break;
            }
        }
        Ok(found)
    }

    /// The page in a frame that was read before; `None` if the frame is not that one any more.
    pub(super) fn page(&self, header: &Header, number: u32, frame: u32) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; FRAME_HEADER + header.page];
        if !read_whole(&self.file, &mut bytes, offset(frame, header.page))? {
            return Ok(None);
        }
        let [found, _, salt1, salt2, ..] = words::<6>(&bytes);
        if found != number || [salt1, salt2] != header.salts {
            return Ok(None);
        }
        bytes.drain(..FRAME_HEADER);
        Ok(Some(bytes))
    }
}

/// Where a frame begins.
fn offset(frame: u32, page: usize) -> u64 {
    HEADER as u64 + u64::from(frame) * (FRAME_HEADER + page) as u64
}

fn read_whole(file: &File, bytes: &mut [u8], at: u64) -> io::Result<bool> {
    Ok(read_some(file, bytes, at)? == bytes.len())
}

/// Reads as much as is there.
fn read_some(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Numbers of four bytes, the greatest first.
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut found = [0; N];
    for (word, part) in found.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*part);
    }
    found
}

/// The checksum of a log goes on over these bytes, whose number can be divided by eight.
fn checksum([mut one, mut two]: [u32; 2], bytes: &[u8], is_big: bool) -> [u32; 2] {
    let word = |part: [u8; 4]| if is_big { u32::from_be_bytes(part) } else { u32::from_le_bytes(part) };
    for [first, second] in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
        one = one.wrapping_add(word(*first)).wrapping_add(two);
        two = two.wrapping_add(word(*second)).wrapping_add(one);
    }
    [one, two]
}

#[cfg(test)]
mod tests;
