//! Why a report cannot be read, and how large one may be.

/// The largest report, in bytes of XML. With as many records as are kept, of usual size, it is a third of this.
pub const MAX_XML: usize = 16 * 1024 * 1024;

/// Why a report cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DmarcReportError {
    /// It is more than [`MAX_XML`] bytes when it is unpacked.
    #[error("the report is larger than {MAX_XML} bytes")]
    TooLarge,
    /// The gzip or zip is broken, encrypted, or packed in a way that reports are not.
    #[error("the report's archive cannot be unpacked")]
    Archive,
    /// There is an archive in the archive.
    #[error("there is an archive in the report's archive")]
    Nested,
    /// The XML is broken. `at` counts bytes from 0.
    #[error("the report's XML is broken at byte {at}")]
    Malformed {
        /// Where it was noticed.
        at: u64,
    },
    /// Elements are within each other deeper than any report has them.
    #[error("the report's elements are nested too deep")]
    TooDeep,
    /// The XML is no report: its outermost element is not `feedback`.
    #[error("the XML is no DMARC report")]
    NoFeedback,
    /// What makes a report one is not there, or cannot be read. The name is that of the element.
    #[error("the report has no {0} that can be read")]
    Missing(&'static str),
}
