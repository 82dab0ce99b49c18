//! Why a picture is refused.

use crate::Unsupported;

/// Why a picture is refused: a sentence for the person who uploaded it, and a code that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There are no bytes.
    #[error("The file is empty.")]
    Empty,
    /// The file is too large, as it came or after it was scaled down.
    #[error("The picture is too large: at most {} MB are taken.", tenths(*most as u64 / MEGABYTE_TENTH))]
    TooManyBytes {
        /// Bytes.
        most: usize,
    },
    /// It is no picture of a format that mail programs show.
    #[error("{0}")]
    Unsupported(Unsupported),
    /// It is wider or higher than is read at all.
    #[error("The picture is too wide or too high: at most {most} pixels are read.")]
    TooLong {
        /// Pixels.
        most: u32,
    },
    /// A still picture has too many pixels.
    #[error("The picture has too many pixels: at most {} million are read.", tenths(*most / MILLION_TENTH))]
    TooManyPixels {
        /// Pixels.
        most: u64,
    },
    /// An animation has too many frames.
    #[error("The animation has too many frames: at most {most} are taken.")]
    TooManyFrames {
        /// Frames.
        most: u32,
    },
    /// The frames of an animation have too many pixels together.
    #[error("The animation is too long for its size: its frames may have {} million pixels together.", tenths(*most / MILLION_TENTH))]
    TooManyFramePixels {
        /// Pixels.
        most: u64,
    },
    /// To decode it would take too much memory.
    #[error(
        "The picture is too large to be scaled down here. Scale it down, or save it as a plain JPEG (not progressive), and upload it again."
    )]
    TooMuchMemory,
    /// To decode it would take too much work: it is compressed in far more steps than pictures are.
    #[error(
        "The picture is compressed in an unusual way that takes too long to read. Save it again with another program."
    )]
    TooMuchWork,
    /// An animation is wider or higher than pictures may be; they are not scaled down.
    #[error(
        "The animation is too wide or too high: at most {most} × {most} pixels are taken. Animations are not scaled down; scale it down and upload it again."
    )]
    OversizedAnimation {
        /// Pixels.
        most: u32,
    },
    /// A picture that cannot be scaled down is wider or higher than pictures may be.
    #[error(
        "This {what} is too wide or too high: at most {most} × {most} pixels are taken. Pictures of this kind are not scaled down; scale it down, or save it as JPEG or PNG, and upload it again."
    )]
    OversizedKind {
        /// What it is, as `WebP picture`.
        what: &'static str,
        /// Pixels.
        most: u32,
    },
    /// A JPEG of a kind that mail programs do not show, or show with wrong colours.
    #[error(
        "This JPEG is of a kind that many programs do not show: {0}. Save it as a usual JPEG in RGB colours."
    )]
    UnusualJpeg(&'static str),
    /// It is cut off, or not as its format says.
    #[error("The picture is damaged: {0}.")]
    Damaged(&'static str),
}

impl Refused {
    /// A code for programs. It stays the same.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "picture_empty",
            Self::TooManyBytes { .. } => "picture_too_many_bytes",
            Self::Unsupported(_) => "picture_format_not_supported",
            Self::TooLong { .. } => "picture_too_long",
            Self::TooManyPixels { .. } => "picture_too_many_pixels",
            Self::TooManyFrames { .. } => "picture_too_many_frames",
            Self::TooManyFramePixels { .. } => "picture_too_many_frame_pixels",
            Self::TooMuchMemory => "picture_needs_too_much_memory",
            Self::TooMuchWork => "picture_needs_too_much_work",
            Self::OversizedAnimation { .. } => "picture_oversized_animation",
            Self::OversizedKind { .. } => "picture_oversized_kind",
            Self::UnusualJpeg(_) => "picture_unusual_jpeg",
            Self::Damaged(_) => "picture_damaged",
        }
    }
}

/// The bytes of a tenth of a megabyte.
const MEGABYTE_TENTH: u64 = 1_048_576 / 10;

/// The pixels of a tenth of a million.
const MILLION_TENTH: u64 = 100_000;

/// So many tenths, with a digit after the point only if it is not 0.
fn tenths(tenths: u64) -> String {
    if tenths.is_multiple_of(10) {
        (tenths / 10).to_string()
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentences_are_for_people() {
        assert_eq!(
            Refused::TooManyBytes { most: 10 * 1_048_576 }.to_string(),
            "The picture is too large: at most 10 MB are taken."
        );
        assert_eq!(
            Refused::TooManyPixels { most: 2_500_000 }.to_string(),
            "The picture has too many pixels: at most 2.5 million are read."
        );
        let avif = Refused::Unsupported(Unsupported::Avif);
        assert!(avif.to_string().contains("AVIF"), "{avif}");
        assert_eq!(avif.code(), "picture_format_not_supported");
    }
}
