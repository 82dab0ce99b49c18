//! JPEG files.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

/// How a JPEG is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) sampling: SamplingFactor,
    pub(crate) is_progressive: bool,
    pub(crate) restarts: Option<u16>,
}

pub(crate) const PLAIN: Made =
    Made { sampling: SamplingFactor::F_2_2, is_progressive: false, restarts: None };
pub(crate) const PROGRESSIVE: Made = Made { is_progressive: true, ..PLAIN };

pub(crate) fn of(pixels: &[u8], width: u32, height: u32, made: Made) -> Vec<u8> {
    encoded(pixels, width, height, made, ColorType::Rgb)
}

pub(crate) fn encoded(pixels: &[u8], width: u32, height: u32, made: Made, color: ColorType) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, 90);
    encoder.set_sampling_factor(made.sampling);
    encoder.set_progressive(made.is_progressive);
    if let Some(interval) = made.restarts {
        encoder.set_restart_interval(interval);
    }
    encoder.encode(pixels, width as u16, height as u16, color).unwrap();
    out
}

pub(crate) fn photo(width: u32, height: u32, made: Made) -> Vec<u8> {
    of(&super::photo(width, height), width, height, made)
}

/// What another decoder sees.
pub(crate) fn seen(file: &[u8]) -> Vec<u8> {
    JpegDecoder::new(ZCursor::new(file)).decode().unwrap()
}

/// A segment.
pub(crate) fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16 + 2).to_be_bytes();
    [&[0xff, marker], &length[..], content].concat()
}

/// The file with a segment after its start.
pub(crate) fn with_segment(file: &[u8], marker: u8, content: &[u8]) -> Vec<u8> {
    [&file[..2], &segment(marker, content), &file[2..]].concat()
}

/// EXIF data that say how the camera was held, and where.
pub(crate) fn exif(orientation: u8, payload: &[u8]) -> Vec<u8> {
    let mut exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    exif.extend_from_slice(&[orientation, 0, 0, 0, 0, 0, 0, 0]);
    exif.extend_from_slice(payload);
    exif
}

/// The places of all markers of this kind outside of data, in a file whose data have no restarts.
pub(crate) fn places(file: &[u8], marker: u8) -> Vec<usize> {
    let mut places = Vec::new();
    let mut at = 2;
    while at + 4 <= file.len() {
        if file[at] != 0xff || matches!(file[at + 1], 0 | 0xff | 0xd0..=0xd7) {
            at += 1;
            continue;
        }
        if file[at + 1] == marker {
            places.push(at);
        }
        at += if file[at + 1] == 0xd9 {
            2
        } else {
            2 + usize::from(u16::from_be_bytes([file[at + 2], file[at + 3]]))
        };
    }
    places
}

/// The file with another size in its header.
pub(crate) fn saying(mut file: Vec<u8>, width: u16, height: u16) -> Vec<u8> {
    let header =
        [0xc0, 0xc1, 0xc2].into_iter().find_map(|marker| places(&file, marker).first().copied()).unwrap();
    file[header + 5..header + 7].copy_from_slice(&height.to_be_bytes());
    file[header + 7..header + 9].copy_from_slice(&width.to_be_bytes());
    file
}
