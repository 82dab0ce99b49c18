//! Hostile JPEG.

use jpeg_encoder::{ColorType, SamplingFactor};

use super::comes_to;
use crate::made::{Numbers, jpeg};

#[test]
fn jpeg_headers_lie() {
    let file = jpeg::photo(64, 64, jpeg::PLAIN);
    comes_to("jpeg-longest", &jpeg::saying(file.clone(), 65_535, 65_535), "picture_too_long");
    comes_to("jpeg-square", &jpeg::saying(file.clone(), 16_000, 16_000), "picture_too_many_pixels");
    comes_to("jpeg-short", &jpeg::saying(file.clone(), 6_300, 6_300), "picture_damaged");
    comes_to("jpeg-no-height", &jpeg::saying(file, 64, 0), "picture_damaged");
    let file = jpeg::photo(64, 64, jpeg::PROGRESSIVE);
    comes_to("jpeg-short-progressive", &jpeg::saying(file, 6_300, 6_300), "picture_needs_too_much_memory");
}

#[test]
fn jpeg_as_large_as_can_be() {
    let full = jpeg::Made { sampling: SamplingFactor::F_1_1, ..jpeg::PLAIN };
    let gray = vec![130; 6_300 * 6_300 * 3];
    comes_to("jpeg-40", &jpeg::of(&gray, 6_300, 6_300, jpeg::PLAIN), "kept");
    comes_to("jpeg-40-full", &jpeg::of(&gray, 6_300, 6_300, full), "kept");
    drop(gray);
    comes_to("jpeg-38-photo", &jpeg::photo(6_200, 6_200, jpeg::PLAIN), "kept");
    comes_to("jpeg-25-full", &jpeg::photo(5_000, 5_000, full), "kept");
    comes_to("jpeg-13-photo", &jpeg::photo(4_200, 3_100, jpeg::PLAIN), "kept");
    let turned = jpeg::with_segment(&jpeg::photo(4_200, 3_100, jpeg::PLAIN), 0xe1, &jpeg::exif(6, b""));
    comes_to("jpeg-13-turned", &turned, "kept");
    comes_to("jpeg-12-progressive", &jpeg::photo(4_000, 3_000, jpeg::PROGRESSIVE), "kept");
    let progressive = jpeg::Made { is_progressive: true, ..full };
    comes_to("jpeg-4-progressive", &jpeg::photo(2_000, 2_000, progressive), "kept");
    let luma = jpeg::encoded(&vec![9; 4_500 * 4_500], 4_500, 4_500, jpeg::PROGRESSIVE, ColorType::Luma);
    comes_to("jpeg-20-progressive-gray", &luma, "kept");
    // noise of as many bytes as there can be
    let noise = Numbers::new(11).bytes(2_000 * 2_000 * 3);
    comes_to("jpeg-noise", &jpeg::of(&noise, 2_000, 2_000, full), "kept");
    let large = Numbers::new(11).bytes(2_600 * 2_200 * 3);
    comes_to("jpeg-noise-scaled", &jpeg::of(&large, 2_600, 2_200, jpeg::PLAIN), "kept");
}

#[test]
fn jpeg_of_countless_scans() {
    let progressive = |width: u32, height: u32| {
        let gray = vec![130; (width * height * 3) as usize];
        let made = jpeg::Made { sampling: SamplingFactor::F_1_1, ..jpeg::PROGRESSIVE };
        jpeg::of(&gray, width, height, made)
    };
    // the last scan, again and again
    let again = |file: &[u8], times: usize| {
        let last = *jpeg::places(file, 0xda).last().unwrap();
        let end = file.len() - 2;
        [&file[..end], &file[last..end].repeat(times), &file[end..]].concat()
    };
    let file = progressive(2_000, 2_000);
    let most = again(&file, 64 - jpeg::places(&file, 0xda).len());
    comes_to("jpeg-64-scans", &most, "kept");
    comes_to("jpeg-scans", &again(&file, 600), "picture_needs_too_much_work");
    comes_to("jpeg-small-scans", &again(&progressive(64, 64), 100_000), "picture_needs_too_much_work");
}

#[test]
fn jpeg_of_countless_segments() {
    let file = jpeg::photo(64, 64, jpeg::PLAIN);
    let scan = jpeg::places(&file, 0xda)[0];
    let with = |part: &[u8], times: usize| [&file[..scan], &part.repeat(times), &file[scan..]].concat();
    let mut counts = [0; 17];
    counts[1] = 1;
    let codes = jpeg::segment(0xc4, &[&counts[..], &[0]].concat());
    comes_to("jpeg-codes", &with(&codes, 400_000), "picture_needs_too_much_work");
    comes_to(
        "jpeg-quantization",
        &with(&jpeg::segment(0xdb, &[1; 65]), 140_000),
        "picture_needs_too_much_work",
    );
    comes_to("jpeg-comments", &with(&jpeg::segment(0xfe, b""), 2_400_000), "kept");
    comes_to(
        "jpeg-profiles",
        &with(&jpeg::segment(0xe2, &[b"ICC_PROFILE\0\x01\x01", &[0; 16_000][..]].concat()), 600),
        "kept",
    );
    comes_to("jpeg-restarts", &with(&[0xff, 0xd0], 4_900_000), "kept");
    comes_to("jpeg-fill", &with(&[0xff], 9_900_000), "kept");
    comes_to("jpeg-zeros", &with(&[0xff, 0], 4_900_000), "kept");
}
