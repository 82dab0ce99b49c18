//! The pixels are those that another decoder sees.

use jpeg_encoder::SamplingFactor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

use super::*;
use orientation::Orientation;

/// EXIF data that mirror the picture, so that its pixels are asked for.
const MIRRORED: &[u8] = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x02\0\0\0";

/// The pixels, before they are turned, of a picture that is at most so wide and high.
fn pixels(file: &[u8], side: u32) -> Vec<u8> {
    let limits = Limits { side, ..Limits::default() };
    let mut reader = Reader::new(file, &limits);
    reader.apps.orientation = Orientation::read(MIRRORED);
    while reader.segment().unwrap() {}
    let (frame, work) = (reader.frame.unwrap(), reader.work.unwrap());
    let Output::Pixels(mut samples, _) = work.output else { panic!("pixels are asked for") };
    if work.holds_all {
        for y in 0..frame.units().1 {
            samples.row_of_units(y, &work.coefficients).unwrap();
        }
    }
    samples.finish()
}

fn made(width: u16, height: u16, sampling: SamplingFactor, is_progressive: bool) -> Vec<u8> {
    let pixels: Vec<u8> = (0..u32::from(width) * u32::from(height))
        .flat_map(|pixel| {
            let (x, y) = (pixel % u32::from(width), pixel / u32::from(width));
            [x * 3, y * 4, (x + y) * 3 / 2].map(|part| part.min(255) as u8)
        })
        .collect();
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, 95);
    encoder.set_sampling_factor(sampling);
    encoder.set_progressive(is_progressive);
    encoder.encode(&pixels, width, height, ColorType::Rgb).unwrap();
    out
}

#[test]
fn they_are_those_that_another_decoder_sees() {
    // where colours have fewer samples, the other decoder draws slopes between them
    let cases =
        [(SamplingFactor::F_1_1, 3, 0.5), (SamplingFactor::F_2_1, 12, 1.5), (SamplingFactor::F_2_2, 16, 2.0)];
    for (sampling, most, mean) in cases {
        for is_progressive in [false, true] {
            let file = made(83, 61, sampling, is_progressive);
            let (ours, theirs) =
                (pixels(&file, 2_000), JpegDecoder::new(ZCursor::new(&file)).decode().unwrap());
            assert_eq!(ours.len(), theirs.len());
            let differences: Vec<u8> = ours.iter().zip(&theirs).map(|(a, b)| a.abs_diff(*b)).collect();
            let largest = differences.iter().max().unwrap();
            let sum: u64 = differences.iter().map(|difference| u64::from(*difference)).sum();
            assert!(*largest <= most, "{sampling:?}: {largest}");
            assert!(sum as f64 / differences.len() as f64 <= mean, "{sampling:?}: {sum}");
        }
    }
}

#[test]
fn at_half_the_size_they_are_the_mean_of_four() {
    for is_progressive in [false, true] {
        let file = made(96, 64, SamplingFactor::F_1_1, is_progressive);
        let theirs = JpegDecoder::new(ZCursor::new(&file)).decode().unwrap();
        let at = |x: usize, y: usize, color: usize| u32::from(theirs[(y * 96 + x) * 3 + color]);
        for (place, ours) in pixels(&file, 48).iter().enumerate() {
            let (x, y, color) = (place / 3 % 48 * 2, place / 3 / 48 * 2, place % 3);
            let four = at(x, y, color) + at(x + 1, y, color) + at(x, y + 1, color) + at(x + 1, y + 1, color);
            let difference = ours.abs_diff(((four + 2) / 4) as u8);
            assert!(difference <= 3, "{x}, {y}: {difference}");
        }
    }
}
