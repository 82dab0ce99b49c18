//! The segments of a JPEG that programs write (APP0 to APP15): what is needed of them to show the picture.

use super::orientation::Orientation;
use crate::icc::{self, Space};

/// What the segments of programs say that is kept, or heeded.
#[derive(Debug, Default)]
pub(super) struct Apps {
    /// Whether it is of JFIF, so that its colours are brightness and two colours.
    pub(super) is_jfif: bool,
    /// The colours as Adobe says them: 0 for RGB, 1 for brightness and two colours.
    pub(super) adobe: Option<u8>,
    /// How EXIF data turn it.
    pub(super) orientation: Option<Orientation>,
    profile: Option<(Vec<u8>, Space)>,
}

impl Apps {
    /// Takes what is needed of a segment.
    pub(super) fn read(&mut self, marker: u8, segment: &[u8]) {
        match marker {
            0xe0 if segment.starts_with(b"JFIF\0") => self.is_jfif = true,
            0xe1 => {
                if let (None, Some(exif)) = (self.orientation, segment.strip_prefix(b"Exif\0\0")) {
                    self.orientation = Orientation::read(exif);
                }
            }
            // only profiles of one segment: larger ones are not kept
            0xe2 => {
                if let (None, Some(profile)) = (&self.profile, segment.strip_prefix(b"ICC_PROFILE\0\x01\x01"))
                {
                    self.profile =
                        (profile.len() <= icc::MAX_PROFILE).then(|| (profile.to_vec(), Space::Rgb));
                }
            }
            0xee if segment.starts_with(b"Adobe") => {
                self.adobe = segment.get(11).copied().filter(|colors| *colors <= 1);
            }
            _ => {}
        }
    }

    /// Says of what colours the picture is, which its profile has to be for.
    pub(super) fn set_components(&mut self, count: usize) {
        if let Some((_, space)) = &mut self.profile {
            *space = if count == 1 { Space::Gray } else { Space::Rgb };
        }
    }

    /// The profile as it is kept.
    pub(super) fn profile(&self) -> Option<Vec<u8>> {
        self.profile.as_ref().and_then(|(profile, space)| icc::rebuilt(profile, *space))
    }
}
