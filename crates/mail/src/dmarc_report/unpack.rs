//! What a report is packed in. No size that an archive declares is believed: what comes out is counted.

use std::borrow::Cow;

use flate2::read::GzDecoder;

use super::bounded::read_bounded;
use super::error::{DmarcReportError, MAX_XML};
use super::zip;

const GZIP: &[u8] = b"\x1f\x8b";
const ZIP: &[u8] = b"PK\x03\x04";

/// The XML in a file, told by how it begins and not by its type: senders mix types up.
pub(super) fn unpack(file: &[u8]) -> Result<Cow<'_, [u8]>, DmarcReportError> {
    let xml: Cow<'_, [u8]> = if file.starts_with(GZIP) {
        Cow::Owned(read_bounded(GzDecoder::new(file), MAX_XML)?)
    } else if file.starts_with(ZIP) {
        Cow::Owned(zip::first_xml(file, MAX_XML)?)
    } else {
        // what is not packed is in memory already
        return if file.len() > MAX_XML { Err(DmarcReportError::TooLarge) } else { Ok(Cow::Borrowed(file)) };
    };
    if xml.starts_with(GZIP) || xml.starts_with(ZIP) { Err(DmarcReportError::Nested) } else { Ok(xml) }
}
