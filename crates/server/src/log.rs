//! Where log lines go.

use std::io::{Result, Write};

/// A writer that loses what cannot be written: the disk of the log is full, or nobody reads it any more. A log line must
/// not end the work that it tells of.
pub(crate) struct Lossy<W>(pub(crate) W);

impl<W: Write> Write for Lossy<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(self.0.write(bytes).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}
