//! How a camera was held (EXIF 2.3, tag 0x0112), and turning the picture so.

use crate::bytes::Bytes;
use crate::limits::Size;

/// The tag of the orientation.
const TAG: u16 = 0x0112;

/// One of the seven ways to turn and mirror a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orientation(u8);

impl Orientation {
    /// Reads it from EXIF data. Nothing if there is none, or the picture is as it should be.
    pub(super) fn read(exif: &[u8]) -> Option<Self> {
        let is_little = match exif.get(..4)? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        let mut bytes = Bytes::new(exif);
        let short = |bytes: &mut Bytes<'_>| if is_little { bytes.u16_le() } else { bytes.u16_be() };
        bytes.take(4)?;
        let start = if is_little { bytes.u32_le() } else { bytes.u32_be() }?;
        bytes.go_to(start as usize);
        for _ in 0..short(&mut bytes)? {
            let (tag, kind) = (short(&mut bytes)?, short(&mut bytes)?);
            bytes.take(4)?;
            let value = short(&mut bytes)?;
            bytes.take(2)?;
            if tag == TAG {
                return (kind == 3 && (2..=8).contains(&value)).then_some(Self(value as u8));
            }
        }
        None
    }

    /// Whether the sides change places.
    pub(super) fn swaps(self) -> bool {
        self.0 >= 5
    }

    /// The size afterwards.
    pub(super) fn turned_size(self, size: Size) -> Size {
        if self.swaps() { Size { width: size.height, height: size.width } } else { size }
    }

    /// Turns pixels of so many bytes each.
    pub(super) fn turned(self, pixels: &[u8], size: Size, bytes: usize) -> Vec<u8> {
        let to = self.turned_size(size);
        let (right, bottom) = (size.width - 1, size.height - 1);
        let mut turned = Vec::with_capacity(pixels.len());
        for y in 0..to.height {
            for x in 0..to.width {
                let (from_x, from_y) = match self.0 {
                    2 => (right - x, y),
                    3 => (right - x, bottom - y),
                    4 => (x, bottom - y),
                    5 => (y, x),
                    6 => (y, bottom - x),
                    7 => (right - y, bottom - x),
                    _ => (right - y, x),
                };
                let start = (from_y as usize * size.width as usize + from_x as usize) * bytes;
                turned.extend_from_slice(pixels.get(start..start + bytes).unwrap_or_default());
            }
        }
        turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_turned_in_all_ways() {
        // ab
        // cd
        // ef
        let turned = |way| {
            let pixels = Orientation(way).turned(b"abcdef", Size { width: 2, height: 3 }, 1);
            String::from_utf8(pixels).unwrap()
        };
        assert_eq!(turned(2), "badcfe");
        assert_eq!(turned(3), "fedcba");
        assert_eq!(turned(4), "efcdab");
        assert_eq!(turned(5), "acebdf");
        assert_eq!(turned(6), "ecafdb");
        assert_eq!(turned(7), "fdbeca");
        assert_eq!(turned(8), "bdface");
    }

    #[test]
    fn it_is_read_from_both_kinds_of_data() {
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        assert_eq!(Orientation::read(little), Some(Orientation(6)));
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0";
        assert_eq!(Orientation::read(big), Some(Orientation(8)));
        for length in 0..little.len() - 2 {
            assert_eq!(Orientation::read(&little[..length]), None);
        }
    }
}
