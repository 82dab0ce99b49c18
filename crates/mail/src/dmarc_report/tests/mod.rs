//! Reports in the shapes that receivers send them in, and files that are made to do harm.

mod hostile;
mod mails;
mod packed;
mod properties;
mod samples;

use std::io::Write;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

/// A report with these records, otherwise as small as can be.
pub(super) fn report(records: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><feedback><report_metadata><org_name>Org</org_name><email>d@org.example</email>\
         <report_id>1</report_id><date_range><begin>1700000000</begin><end>1700086399</end></date_range>\
         </report_metadata><policy_published><domain>acme.example</domain><p>none</p></policy_published>\
         {records}</feedback>"
    )
}

/// A record with this row and these results.
pub(super) fn record(row: &str, rest: &str) -> String {
    format!("<record><row><source_ip>192.0.2.1</source_ip><count>1</count>{row}</row>{rest}</record>")
}

pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A file of a zip.
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    pub(super) content: &'a [u8],
    pub(super) is_deflated: bool,
    pub(super) flags: u16,
    /// What it says of its size when it is unpacked; the truth where there is none.
    pub(super) declared: Option<u32>,
    pub(super) checksum: Option<u32>,
}

impl<'a> Member<'a> {
    pub(super) fn new(name: &'a str, content: &'a [u8]) -> Self {
        Self { name, content, is_deflated: true, flags: 0, declared: None, checksum: None }
    }
}

/// A zip as most programs write it: sizes and checksum stand only in the directory, and behind the file.
pub(super) fn zip(members: &[Member<'_>]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let packed = if member.is_deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(member.content).unwrap();
            encoder.finish().unwrap()
        } else {
            member.content.to_vec()
        };
        let mut crc = Crc::new();
        crc.update(member.content);
        let sum = member.checksum.unwrap_or(crc.sum()).to_le_bytes();
        let size = member.declared.unwrap_or(member.content.len() as u32).to_le_bytes();
        let packed_size = (packed.len() as u32).to_le_bytes();
        let offset = (archive.len() as u32).to_le_bytes();
        let head = |flags: u16| {
            let method: u16 = if member.is_deflated { 8 } else { 0 };
            [&[20, 0][..], &flags.to_le_bytes(), &method.to_le_bytes(), &[0; 4]].concat()
        };
        let lengths = [(member.name.len() as u16).to_le_bytes(), [0; 2]].concat();
        let flags = member.flags | 8;
        archive
            .extend([b"PK\x03\x04", &head(flags)[..], &[0; 12], &lengths, member.name.as_bytes()].concat());
        archive.extend([&packed[..], b"PK\x07\x08", &sum, &packed_size, &size].concat());
        directory.extend([b"PK\x01\x02", &[20, 0][..], &head(flags), &sum, &packed_size, &size].concat());
        directory.extend([&lengths[..], &[0; 10], &offset, member.name.as_bytes()].concat());
    }
    let begin = (archive.len() as u32).to_le_bytes();
    let number = (members.len() as u16).to_le_bytes();
    let length = (directory.len() as u32).to_le_bytes();
    archive.extend(directory);
    archive.extend([b"PK\x05\x06", &[0; 4][..], &number, &number, &length, &begin, &[0; 2]].concat());
    archive
}
