//! Hostile WebP.

use super::comes_to;
use crate::made::{Numbers, webp};

/// Bits, from the lowest of each byte on.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// A code of one symbol.
    fn one(&mut self, symbol: u64) {
        self.put(0b101, 3);
        self.put(symbol, 8);
    }

    /// A code of 256 symbols of 8 bits, in few bits, for an alphabet of this size.
    fn all(&mut self, alphabet: u64) {
        self.put(0, 1);
        self.put(8, 4);
        // the lengths of the codes for 17, 18, 0 to 5, 16, 6, 7, 8: one bit for 8, two for 16 and 18
        for length in [0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1] {
            self.put(length, 3);
        }
        self.put(0, 1);
        // 8 once, and 255 times as before
        self.put(0, 1);
        for times in [[3_u64; 42].as_slice(), &[0]].concat() {
            self.put(0b01, 2);
            self.put(times, 2);
        }
        if alphabet > 256 {
            self.put(0b11, 2);
            self.put(alphabet - 256 - 11, 7);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.put(0, 64 - 8);
        self.bytes
    }
}

/// A picture without losses that announces so many groups of large codes.
fn groups(count: u64) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0x2f, 8);
    bits.put(3, 14);
    bits.put(3, 14);
    // no transparency, the version, no transform, no kept colours; several groups, parts of 4 × 4 pixels
    bits.put(0, 1 + 3 + 1 + 1);
    bits.put(0b0001, 4);
    // the image of the groups: no kept colours, one pixel
    bits.put(0, 1);
    bits.one((count - 1) & 255);
    bits.one((count - 1) >> 8);
    bits.one(0);
    bits.one(0);
    bits.one(0);
    for _ in 0..count {
        bits.all(280);
        bits.all(256);
        bits.all(256);
        bits.all(256);
        bits.one(0);
    }
    // sixteen pixels
    for _ in 0..16 {
        bits.put(0, 32);
    }
    webp::file(&[webp::chunk(*b"VP8L", &bits.finish())])
}

#[test]
fn webp_bombs_of_codes() {
    comes_to("webp-groups", &groups(65_536), "picture_needs_too_much_work");
    comes_to("webp-groups-most", &groups(1_900), "kept");
    assert_eq!(webp::seen(&groups(7)).len(), 1, "another decoder reads it");
}

#[test]
fn webp_headers_lie() {
    let image = webp::chunk(*b"VP8L", &webp::data(&webp::photo(10, 10)));
    let large = webp::file(&[webp::header(0, 16_384, 16_384), image.clone()]);
    comes_to("webp-canvas", &large, "picture_too_many_pixels");
    let other = webp::file(&[webp::header(0, 1_000, 1_000), image.clone()]);
    comes_to("webp-other-size", &other, "picture_damaged");
    let frame = webp::frame((0, 0), 1_000, 1_000, std::slice::from_ref(&image));
    let header = webp::header(2, 1_000, 1_000);
    comes_to(
        "webp-frame-size",
        &webp::file(&[header, webp::chunk(*b"ANIM", &[0; 6]), frame]),
        "picture_damaged",
    );
    let lossy = webp::file(&[webp::chunk(*b"VP8 ", &webp::lossy(16_000, 16_000, &[0; 9], &[0; 9]))]);
    comes_to("webp-lossy", &lossy, "picture_too_many_pixels");
    let short = webp::file(&[webp::chunk(*b"VP8 ", &webp::lossy(2_000, 2_000, &[0; 9], &[0; 9]))]);
    comes_to("webp-short", &short, "picture_damaged");
}

#[test]
fn webp_as_large_as_can_be() {
    let mut numbers = Numbers::new(5);
    let noise = numbers.bytes(9_900_000);
    // the start of the header, with the filter that takes the most work, and noise
    let start = |bytes: usize| [&[0x0f, 0xc0, 0][..], &noise[..bytes]].concat();
    let lossy = webp::lossy(2_000, 2_000, &start(500_000), &noise[500_000..]);
    comes_to("webp-noise", &webp::file(&[webp::chunk(*b"VP8 ", &lossy)]), "kept");
    // the most frames, of noise
    let frame = |size: u16, bytes: usize| {
        let image = webp::lossy(size, size, &start(bytes / 4), &noise[..bytes]);
        webp::frame((0, 0), size.into(), size.into(), &[webp::chunk(*b"VP8 ", &image)])
    };
    let animation = |size: u32, frame: Vec<u8>, count: usize| {
        webp::file(&[webp::header(2, size, size), webp::chunk(*b"ANIM", &[0; 6]), frame.repeat(count)])
    };
    comes_to("webp-frames-noise", &animation(220, frame(220, 15_500), 500), "kept");
    comes_to("webp-frames", &animation(240, frame(16, 800), 9_000), "picture_too_many_frames");
    comes_to(
        "webp-frame-pixels",
        &animation(2_000, frame(2_000, 900_000), 8),
        "picture_too_many_frame_pixels",
    );
}
