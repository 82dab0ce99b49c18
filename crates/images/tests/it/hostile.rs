//! Hostile pictures: each is prepared in a process of its own, within 64 MB of memory (with the file, the result and the
//! program) and one second of the processor. The parent makes them, so that what making them takes does not count.

use jpeg_encoder::{ColorType, SamplingFactor};

use crate::child::prepare_apart;
use crate::made::{Numbers, gif, jpeg, png, webp};

const MEMORY: u64 = 64_000_000;
const SECONDS: f64 = 1.0;

/// The bytes that are taken.
const BYTES: usize = 10_000_000;

/// Prepares a picture, which comes to this, within the bounds.
fn comes_to(name: &str, file: &[u8], outcome: &str) {
    assert!(file.len() <= BYTES, "{name}: {} bytes would be refused at once", file.len());
    let taken = prepare_apart(name, file);
    println!(
        "{name}: {} bytes, {}, {:.1} MB, {:.2} s",
        file.len(),
        taken.outcome,
        taken.memory as f64 / 1e6,
        taken.seconds
    );
    assert_eq!(taken.outcome, outcome, "{name}");
    assert!(taken.memory <= MEMORY, "{name}: {} bytes of memory", taken.memory);
    assert!(taken.seconds <= SECONDS, "{name}: {} seconds", taken.seconds);
    assert_eq!(taken.result.is_empty(), outcome != "kept");
}

#[test]
fn png_headers_lie() {
    let pixel = |width, height| {
        png::file(&[png::header(width, height, 8, 6, 0), png::chunk(b"IDAT", &png::packed(&[0; 5]))])
    };
    comes_to("png-longest", &pixel(u32::MAX, u32::MAX), "picture_too_long");
    comes_to("png-square", &pixel(16_384, 16_384), "picture_too_many_pixels");
    comes_to("png-no-data", &pixel(2_000, 2_000), "picture_damaged");
    comes_to("png-no-data-large", &pixel(6_300, 6_300), "picture_damaged");
    let mut long = pixel(1, 1);
    long[33..37].copy_from_slice(&u32::MAX.to_be_bytes());
    comes_to("png-long-chunk", &long, "picture_damaged");
}

#[test]
fn png_bombs_of_zlib() {
    // a gigabyte of zeros in a megabyte
    let bomb = png::packed_zeros(1 << 30);
    let pixel = png::chunk(b"IDAT", &png::packed(&[0; 5]));
    let header = png::header(1, 1, 8, 6, 0);
    for (name, start) in
        [(b"iTXt", &b"XML:com.adobe.xmp\0\x01\0\0\0"[..]), (b"zTXt", b"Comment\0\0"), (b"iCCP", b"ICC\0\0")]
    {
        let part = png::chunk(name, &[start, &bomb].concat());
        let file = png::file(&[header.clone(), part, pixel.clone()]);
        comes_to(&format!("png-bomb-{}", String::from_utf8_lossy(name)), &file, "kept");
    }
    let file = png::file(&[header, png::chunk(b"IDAT", &bomb)]);
    comes_to("png-bomb-IDAT", &file, "picture_damaged");
}

#[test]
fn png_as_large_as_can_be() {
    let zeros = |width: u32, height: u32, depth: u8, color: u8, bits: u64| {
        let row = (u64::from(width) * bits).div_ceil(8) + 1;
        let mut chunks = vec![png::header(width, height, depth, color, 0)];
        if color == 3 {
            chunks.push(png::chunk(b"PLTE", &[9; 6]));
        }
        chunks.push(png::chunk(b"IDAT", &png::packed_zeros(row * u64::from(height))));
        png::file(&chunks)
    };
    comes_to("png-40-rgba", &zeros(6_320, 6_320, 8, 6, 32), "kept");
    comes_to("png-40-rgb", &zeros(6_320, 6_320, 8, 2, 24), "kept");
    comes_to("png-40-bits", &zeros(16_000, 2_500, 1, 3, 1), "kept");
    comes_to("png-20-rgba16", &zeros(4_400, 4_500, 16, 6, 64), "kept");
    comes_to("png-40-rgba16", &zeros(6_320, 6_320, 16, 6, 64), "picture_too_many_pixels");
    comes_to("png-4-rgba16", &zeros(2_000, 2_000, 16, 6, 64), "kept");
    // noise, which is large when it is packed, with the filter that takes the most work
    let mut numbers = Numbers::new(3);
    let rows: Vec<u8> = (0..1_150).flat_map(|_| [vec![4], numbers.bytes(2_100 * 4)].concat()).collect();
    let file = png::file(&[png::header(2_100, 1_150, 8, 6, 0), png::chunk(b"IDAT", &png::packed(&rows))]);
    comes_to("png-noise", &file, "kept");
    // slopes: what packs neither well nor badly takes the most time to pack
    comes_to("png-photo", &png::photo(2_100, 1_700), "kept");
}

#[test]
fn png_of_countless_parts() {
    let header = png::header(1, 1, 8, 6, 0);
    let data = png::packed(&[0; 5]);
    let one_by_one: Vec<u8> = data.iter().flat_map(|byte| png::chunk(b"IDAT", &[*byte])).collect();
    comes_to("png-byte-parts", &png::file(&[header.clone(), one_by_one]), "kept");
    let empty = png::chunk(b"IDAT", &[]).repeat(800_000);
    comes_to("png-empty-parts", &png::file(&[header.clone(), empty, png::chunk(b"IDAT", &data)]), "kept");
    // a megabyte of blocks that unpack to nothing
    let nothing = [&[0x78, 0x9c][..], &[0, 0, 0, 0xff, 0xff].repeat(1_900_000)].concat();
    comes_to("png-empty-blocks", &png::file(&[header, png::chunk(b"IDAT", &nothing)]), "picture_damaged");
}

#[test]
fn png_of_countless_frames() {
    let mut chunks = vec![png::header(100, 100, 8, 0, 0)];
    chunks.push(png::chunk(b"acTL", &[&200_000_u32.to_be_bytes()[..], &[0; 4]].concat()));
    chunks.push(png::chunk(b"IDAT", &png::packed_zeros(101 * 100)));
    let data = png::packed(&[0, 0]);
    for frame in 0..90_000 {
        chunks.push(png::control(frame * 2, 1, 1));
        chunks.push(png::chunk(b"fdAT", &[&(frame * 2 + 1).to_be_bytes()[..], &data].concat()));
    }
    comes_to("apng-frames", &png::file(&chunks), "picture_too_many_frames");

    let mut chunks = vec![png::header(2_000, 2_000, 8, 6, 0)];
    chunks.push(png::chunk(b"acTL", &[&400_u32.to_be_bytes()[..], &[0; 4]].concat()));
    let data = png::packed_zeros(8_001 * 2_000);
    chunks.push(png::chunk(b"IDAT", &data));
    for frame in 0..400_u32 {
        chunks.push(png::control(frame * 2, 2_000, 2_000));
        chunks.push(png::chunk(b"fdAT", &[&(frame * 2 + 1).to_be_bytes()[..], &data].concat()));
    }
    comes_to("apng-pixels", &png::file(&chunks), "picture_too_many_frame_pixels");
}

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
    // 500 frames that are all that they may be, of noise
    let mut numbers = Numbers::new(9);
    let noise: Vec<u8> = numbers.bytes(240 * 240).iter().map(|byte| byte & 3).collect();
    let frame = gif::frame(240, 240, 0, &gif::packed(&noise));
    comes_to("gif-noise", &[gif::start(240, 240), frame.repeat(450), vec![0x3b]].concat(), "kept");
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
    webp::file(&[webp::chunk(b"VP8L", &bits.finish())])
}

#[test]
fn webp_bombs_of_codes() {
    comes_to("webp-groups", &groups(65_536), "picture_needs_too_much_work");
    comes_to("webp-groups-most", &groups(1_900), "kept");
    assert_eq!(webp::seen(&groups(7)).len(), 1, "another decoder reads it");
}

#[test]
fn webp_headers_lie() {
    let image = webp::chunk(b"VP8L", &webp::data(&webp::photo(10, 10)));
    let large = webp::file(&[webp::header(0, 16_384, 16_384), image.clone()]);
    comes_to("webp-canvas", &large, "picture_too_many_pixels");
    let other = webp::file(&[webp::header(0, 1_000, 1_000), image.clone()]);
    comes_to("webp-other-size", &other, "picture_damaged");
    let frame = webp::frame((0, 0), 1_000, 1_000, std::slice::from_ref(&image));
    let header = webp::header(2, 1_000, 1_000);
    comes_to(
        "webp-frame-size",
        &webp::file(&[header, webp::chunk(b"ANIM", &[0; 6]), frame]),
        "picture_damaged",
    );
    let lossy = webp::file(&[webp::chunk(b"VP8 ", &webp::lossy(16_000, 16_000, &[0; 9], &[0; 9]))]);
    comes_to("webp-lossy", &lossy, "picture_too_many_pixels");
    let short = webp::file(&[webp::chunk(b"VP8 ", &webp::lossy(2_000, 2_000, &[0; 9], &[0; 9]))]);
    comes_to("webp-short", &short, "picture_damaged");
}

#[test]
fn webp_as_large_as_can_be() {
    let mut numbers = Numbers::new(5);
    let noise = numbers.bytes(9_900_000);
    // the start of the header, with the filter that takes the most work, and noise
    let start = |bytes: usize| [&[0x0f, 0xc0, 0][..], &noise[..bytes]].concat();
    let lossy = webp::lossy(2_000, 2_000, &start(500_000), &noise[500_000..]);
    comes_to("webp-noise", &webp::file(&[webp::chunk(b"VP8 ", &lossy)]), "kept");
    // the most frames, of noise
    let frame = |size: u16, bytes: usize| {
        let image = webp::lossy(size, size, &start(bytes / 4), &noise[..bytes]);
        webp::frame((0, 0), size.into(), size.into(), &[webp::chunk(b"VP8 ", &image)])
    };
    let animation = |size: u32, frame: Vec<u8>, count: usize| {
        webp::file(&[webp::header(2, size, size), webp::chunk(b"ANIM", &[0; 6]), frame.repeat(count)])
    };
    comes_to("webp-frames-noise", &animation(240, frame(240, 15_500), 500), "kept");
    comes_to("webp-frames", &animation(240, frame(16, 800), 9_000), "picture_too_many_frames");
    comes_to(
        "webp-frame-pixels",
        &animation(2_000, frame(2_000, 900_000), 8),
        "picture_too_many_frame_pixels",
    );
}

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

#[test]
fn what_was_cut_off_is_refused() {
    let files = [
        jpeg::photo(60, 50, jpeg::PLAIN),
        jpeg::photo(60, 50, jpeg::PROGRESSIVE),
        png::photo(60, 50),
        png::animation(20, 10, 3),
        gif::animation(40, 30, 3),
        webp::photo(60, 50),
        webp::file(&[webp::chunk(b"VP8 ", &webp::gray(64, 64))]),
        webp::animation(20, 10, 3),
    ];
    for file in files {
        let limits = mailwright_images::Limits::default();
        let whole = mailwright_images::prepare(&file, &limits).unwrap();
        for length in 0..file.len() {
            match mailwright_images::prepare(&file[..length], &limits) {
                Err(_) => {}
                // only what ends a JPEG is missing: its data came whole
                Ok(picture) => {
                    assert!(length + 2 >= file.len(), "{:?} cut off at {length}", whole.format);
                    assert!(picture.bytes == whole.bytes);
                }
            }
        }
    }
}
