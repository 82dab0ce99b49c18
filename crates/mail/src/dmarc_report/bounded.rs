//! Reading what an archive has, however much it says that it is.

use std::io::Read;

use super::error::DmarcReportError;

/// All that a reader has, at most `limit` bytes.
pub(super) fn read_bounded(reader: impl Read, limit: usize) -> Result<Vec<u8>, DmarcReportError> {
    let mut content = Vec::new();
    let mut reader = reader.take(limit as u64 + 1);
    reader.read_to_end(&mut content).map_err(|_| DmarcReportError::Archive)?;
    if content.len() > limit { Err(DmarcReportError::TooLarge) } else { Ok(content) }
}
