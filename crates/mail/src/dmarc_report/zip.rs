//! The one file in a zip that is a report.
//!
//! A library would read the whole directory first, of as many files as the archive likes to name. Here at most
//! [`MAX_MEMBERS`] entries are looked at, where they stand, and only one is unpacked. Archives that need the extension
//! for large ones are refused: no report is as large.

use flate2::Crc;
use flate2::read::DeflateDecoder;
use memchr::memmem;

use super::bounded::read_bounded;
use super::error::DmarcReportError;

/// How many entries of the directory are looked at.
const MAX_MEMBERS: usize = 100;
/// The end of the directory without its comment, and the longest comment, in bytes.
const END: usize = 22;
const MAX_COMMENT: usize = 65_535;
/// What stands before the name in an entry of the directory, and before the name in front of a file, in bytes.
const ENTRY: usize = 46;
const LOCAL: usize = 30;
/// Flag of an encrypted file.
const ENCRYPTED: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// What the directory says of a file.
struct Member<'a> {
    name: &'a [u8],
    flags: u16,
    method: u16,
    checksum: u32,
    packed: usize,
    /// Where the file is, counted from the archive's begin.
    offset: usize,
}

/// Unpacks the first file whose name ends with `.xml`, or else the first file; at most `limit` bytes.
pub(super) fn first_xml(archive: &[u8], limit: usize) -> Result<Vec<u8>, DmarcReportError> {
    let member = member(archive).ok_or(DmarcReportError::Archive)?;
    if member.flags & ENCRYPTED != 0 {
        return Err(DmarcReportError::Archive);
    }
    let packed = packed(archive, &member).ok_or(DmarcReportError::Archive)?;
    let content = match member.method {
        STORED => read_bounded(packed.get(..member.packed).ok_or(DmarcReportError::Archive)?, limit)?,
        // it knows itself where it ends
        DEFLATED => read_bounded(DeflateDecoder::new(packed), limit)?,
        _ => return Err(DmarcReportError::Archive),
    };
    let mut crc = Crc::new();
    crc.update(&content);
    if crc.sum() == member.checksum { Ok(content) } else { Err(DmarcReportError::Archive) }
}

fn member(archive: &[u8]) -> Option<Member<'_>> {
    let tail = archive.len().saturating_sub(END + MAX_COMMENT);
    let end = &archive[tail + memmem::rfind(&archive[tail..], b"PK\x05\x06")?..];
    let mut rest = archive.get(u32_at(end, 16)? as usize..)?;
    let mut first = None;
    for _ in 0..u16_at(end, 10)?.min(MAX_MEMBERS as u16) {
        let Some((member, after)) = entry(rest) else { break };
        rest = after;
        if member.name.len() >= 4 && member.name[member.name.len() - 4..].eq_ignore_ascii_case(b".xml") {
            return Some(member);
        }
        let is_folder = member.name.ends_with(b"/");
        first = first.or((!is_folder).then_some(member));
    }
    first
}

/// The entry at the begin of a part of the directory, and what is behind it.
fn entry(directory: &[u8]) -> Option<(Member<'_>, &[u8])> {
    if !directory.starts_with(b"PK\x01\x02") {
        return None;
    }
    let length = |at: usize| u16_at(directory, at).map(usize::from);
    let name_end = ENTRY + length(28)?;
    let member = Member {
        name: directory.get(ENTRY..name_end)?,
        flags: u16_at(directory, 8)?,
        method: u16_at(directory, 10)?,
        checksum: u32_at(directory, 16)?,
        packed: u32_at(directory, 20)? as usize,
        offset: u32_at(directory, 42)? as usize,
    };
    Some((member, directory.get(name_end + length(30)? + length(32)?..)?))
}

/// The archive from where the bytes of a file begin.
fn packed<'a>(archive: &'a [u8], member: &Member<'_>) -> Option<&'a [u8]> {
    let local = archive.get(member.offset..).filter(|local| local.starts_with(b"PK\x03\x04"))?;
    let names = usize::from(u16_at(local, 26)?) + usize::from(u16_at(local, 28)?);
    local.get(LOCAL + names..)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}
