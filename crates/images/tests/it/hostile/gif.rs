//! Hostile GIF.

use super::comes_to;
use crate::made::{Numbers, gif};

#[test]
fn gif_bombs() {
    // 36 megapixels of one colour
    let large = gif::packed(&vec![0; 6_000 * 6_000]);
    let file = [gif::start(6_000, 6_000), gif::frame(6_000, 6_000, 0, &large), vec![0x3b]].concat();
    comes_to("gif-36", &file, "kept");
    let file = [gif::start(6_000, 6_000), gif::frame(6_000, 6_000, 0x40, &large), vec![0x3b]].concat();
    comes_to("gif-36-interlaced", &file, "kept");
    // a few bytes that say they are 65,535 pixels wide, or not that many
    let file = [gif::start(65_535, 65_535), gif::frame(65_535, 65_535, 0, &[0x10]), vec![0x3b]].concat();
    comes_to("gif-lie", &file, "picture_too_long");
    let file = [gif::start(1_999, 1_999), gif::frame(1_999, 1_999, 0, &[0x10]), vec![0x3b]].concat();
    comes_to("gif-short", &file, "picture_damaged");
    // more pixels than there are
    let file = [gif::start(10, 10), gif::frame(10, 10, 0, &large), vec![0x3b]].concat();
    comes_to("gif-more", &file, "picture_damaged");
}

#[test]
fn gif_of_countless_parts() {
    let pixel = gif::frame(1, 1, 0, &gif::packed(&[0]));
    let file = [gif::start(10, 10), pixel.repeat(600_000), vec![0x3b]].concat();
    comes_to("gif-frames", &file, "picture_too_many_frames");
    let full = gif::frame(2_000, 2_000, 0, &gif::packed(&vec![0; 4_000_000]));
    let file = [gif::start(2_000, 2_000), full.repeat(400), vec![0x3b]].concat();
    comes_to("gif-pixels", &file, "picture_too_many_frame_pixels");
    // as many pixels as there may be, of noise
    let mut numbers = Numbers::new(9);
    let noise: Vec<u8> = numbers.bytes(240 * 240).iter().map(|byte| byte & 3).collect();
    let frame = gif::frame(240, 240, 0, &gif::packed(&noise));
    comes_to("gif-noise", &[gif::start(240, 240), frame.repeat(430), vec![0x3b]].concat(), "kept");
    // parts of one byte; comments; codes that say to start anew
    let noise: Vec<u8> = numbers.bytes(5_000_000).iter().map(|byte| byte & 15).collect();
    let packed = gif::packed(&noise[..3_900_000]);
    let bytes: Vec<u8> = packed.iter().flat_map(|byte| [1, *byte]).collect();
    let mut frame = gif::frame(1_950, 2_000, 0, &[]);
    frame.pop();
    let file = [gif::start(1_950, 2_000), frame, bytes, vec![0, 0x3b]].concat();
    comes_to("gif-byte-parts", &file, "kept");
    let comments = gif::extension(0xfe, b"x").repeat(1_900_000);
    comes_to("gif-comments", &[gif::start(1, 1), comments, pixel, vec![0x3b]].concat(), "kept");
    let clear = [0x10, 0x42, 0x08, 0x21, 0x84].repeat(1_900_000);
    let file = [gif::start(2_000, 2_000), gif::frame(2_000, 2_000, 0, &clear), vec![0x3b]].concat();
    comes_to("gif-clear", &file, "picture_damaged");
}
