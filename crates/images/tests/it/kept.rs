//! Whole pictures keep their pixels, and are the same each time.

use image_webp::ColorType as WebpColor;
use jpeg_encoder::{ColorType, SamplingFactor};
use mailwright_images::{Format, Limits, Picture, prepare};

use crate::made::{self, gif, jpeg, png, webp};

/// Prepares a picture that is kept, and whose result is kept as it is.
fn kept(file: &[u8]) -> Picture {
    let picture = prepare(file, &Limits::default()).unwrap();
    assert!(prepare(file, &Limits::default()).unwrap() == picture, "the same each time");
    let again = prepare(&picture.bytes, &Limits::default()).unwrap();
    assert!(again.bytes == picture.bytes, "what was made safe is safe");
    assert!(!again.was_reencoded);
    picture
}

fn check(picture: &Picture, format: Format, size: (u32, u32), frames: u32) {
    assert_eq!(picture.format, format);
    assert_eq!((picture.width, picture.height), size);
    assert_eq!(picture.frames, frames);
}

#[test]
fn jpeg_of_every_kind_keeps_its_pixels() {
    let samplings =
        [SamplingFactor::F_1_1, SamplingFactor::F_2_1, SamplingFactor::F_1_2, SamplingFactor::F_2_2];
    for sampling in samplings {
        for is_progressive in [false, true] {
            for restarts in [None, Some(3)] {
                let made = jpeg::Made { sampling, is_progressive, restarts };
                let file = jpeg::photo(101, 67, made);
                let picture = kept(&file);
                check(&picture, Format::Jpeg, (101, 67), 1);
                assert!(!picture.was_reencoded);
                assert!(jpeg::seen(&picture.bytes) == jpeg::seen(&file), "{made:?}");
            }
        }
    }
    let gray = jpeg::encoded(&made::photo(30, 31), 90, 31, jpeg::PROGRESSIVE, ColorType::Luma);
    assert!(jpeg::seen(&kept(&gray).bytes) == jpeg::seen(&gray));
}

#[test]
fn png_of_every_kind_keeps_its_pixels() {
    use ::png::{BitDepth, ColorType};
    let kinds = [
        (ColorType::Grayscale, BitDepth::One, 13),
        (ColorType::Grayscale, BitDepth::Four, 50),
        (ColorType::Grayscale, BitDepth::Sixteen, 200),
        (ColorType::Indexed, BitDepth::Two, 25),
        (ColorType::Indexed, BitDepth::Eight, 100),
        (ColorType::GrayscaleAlpha, BitDepth::Eight, 200),
        (ColorType::Rgb, BitDepth::Eight, 300),
        (ColorType::Rgba, BitDepth::Sixteen, 800),
    ];
    for (color, depth, in_row) in kinds {
        let file = png::encoded(&made::photo(in_row, 40)[..in_row as usize * 40], 100, 40, color, depth);
        let picture = kept(&file);
        check(&picture, Format::Png, (100, 40), 1);
        assert!(png::seen(&picture.bytes) == png::seen(&file), "{color:?} {depth:?}");
    }
}

#[test]
fn an_interlaced_png_keeps_its_pixels() {
    // 9 × 5 pixels of one byte: the rows of all passes
    let sizes = [(2, 1), (1, 1), (3, 1), (2, 2), (5, 1), (4, 3), (9, 2)];
    let rows: Vec<u8> = sizes
        .into_iter()
        .flat_map(|(wide, high)| png::rows(&made::photo(wide, high)[..(wide * high) as usize], wide as usize))
        .collect();
    let file = png::file(&[png::header(9, 5, 8, 0, 1), png::chunk(*b"IDAT", &png::packed(&rows))]);
    let picture = kept(&file);
    assert!(png::seen(&picture.bytes) == png::seen(&file));
}

#[test]
fn animations_keep_their_frames() {
    let apng = png::animation(20, 10, 5);
    let picture = kept(&apng);
    check(&picture, Format::Png, (20, 10), 5);
    assert!(png::seen(&picture.bytes) == png::seen(&apng));

    let file = gif::animation(40, 30, 7);
    let picture = kept(&file);
    check(&picture, Format::Gif, (40, 30), 7);
    assert!(gif::seen(&picture.bytes) == gif::seen(&file));
    assert!(made::has(&picture.bytes, gif::LOOPS), "how often it is shown");

    let file = webp::animation(24, 16, 4);
    let picture = kept(&file);
    check(&picture, Format::Webp, (24, 16), 4);
    assert!(webp::seen(&picture.bytes) == webp::seen(&file));
}

#[test]
fn webp_of_every_kind_keeps_its_pixels() {
    let photo = webp::photo(150, 90);
    check(&kept(&photo), Format::Webp, (150, 90), 1);
    assert!(webp::seen(&kept(&photo).bytes) == webp::seen(&photo));

    let alpha = webp::lossless(&made::photo(40, 40), 60, 20, WebpColor::Rgba8);
    assert!(webp::seen(&kept(&alpha).bytes) == webp::seen(&alpha));

    let gray = webp::gray(100, 50);
    let simple = webp::file(&[webp::chunk(*b"VP8 ", &gray)]);
    assert!(webp::seen(&kept(&simple).bytes) == webp::seen(&simple));

    // the transparency is packed as the green of a picture without losses, whose header is left out
    let mask = webp::data(&webp::lossless(&made::photo(100, 50), 100, 50, WebpColor::Rgb8));
    let chunks = [
        webp::header(0x10, 100, 50),
        webp::chunk(*b"ALPH", &[&[1], &mask[5..]].concat()),
        webp::chunk(*b"VP8 ", &gray),
    ];
    let file = webp::file(&chunks);
    assert!(webp::seen(&kept(&file).bytes) == webp::seen(&file));
}

#[test]
fn a_jpeg_is_turned_as_its_exif_data_say() {
    // the left half is dark, the right one bright
    let pixels: Vec<u8> =
        (0..64 * 32).flat_map(|pixel| [if pixel % 64 < 32 { 20 } else { 220 }; 3]).collect();
    let file = jpeg::of(&pixels, 64, 32, jpeg::PLAIN);
    let file = jpeg::with_segment(&file, 0xe1, &jpeg::exif(6, b"GPS"));
    let picture = prepare(&file, &Limits::default()).unwrap();
    check(&picture, Format::Jpeg, (32, 64), 1);
    assert!(picture.was_reencoded);
    assert!(!made::has(&picture.bytes, b"Exif"));
    let seen = jpeg::seen(&picture.bytes);
    assert!(seen[..3 * 32 * 28].iter().all(|byte| *byte < 40), "dark is above, now");
    assert!(seen[3 * 32 * 36..].iter().all(|byte| *byte > 200));
}

/// The mean of each square of four pixels.
fn halved(pixels: &[u8], width: usize, channels: usize) -> Vec<u8> {
    let row = width * channels;
    pixels
        .chunks_exact(2 * row)
        .flat_map(|two| {
            (0..row / 2).map(move |at| {
                let at = at / channels * 2 * channels + at % channels;
                let places = [at, at + channels, at + row, at + row + channels];
                (places.iter().map(|place| u32::from(two[*place])).sum::<u32>() + 2) as usize / 4
            })
        })
        .map(|mean| mean as u8)
        .collect()
}

#[test]
fn large_pictures_are_scaled_down() {
    let pixels = made::photo(4_000, 64);
    let half = halved(&pixels, 4_000, 3);

    let file = png::encoded(&pixels, 4_000, 64, ::png::ColorType::Rgb, ::png::BitDepth::Eight);
    let picture = kept(&file);
    check(&picture, Format::Png, (2_000, 32), 1);
    assert!(picture.was_reencoded);
    assert!(png::seen(&picture.bytes) == [half], "the mean, to the last bit");

    // slopes, which stay what they are when they are compressed twice
    let slope = |pixel: u32| [pixel % 4_000 / 16, pixel / 4_000 * 3, 90].map(|part| part as u8);
    let pixels: Vec<u8> = (0..4_000 * 64).flat_map(slope).collect();
    for made in
        [jpeg::PLAIN, jpeg::PROGRESSIVE, jpeg::Made { sampling: SamplingFactor::F_1_1, ..jpeg::PLAIN }]
    {
        let file = jpeg::of(&pixels, 4_000, 64, made);
        let picture = kept(&file);
        check(&picture, Format::Jpeg, (2_000, 32), 1);
        let (seen, wanted) = (jpeg::seen(&picture.bytes), halved(&jpeg::seen(&file), 4_000, 3));
        let differences: u64 = seen.iter().zip(&wanted).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        let mean = differences as f64 / wanted.len() as f64;
        assert!(mean < 2.5, "{made:?}: pixels differ by {mean}");
    }

    let file = gif::still(4_000, 64);
    let picture = kept(&file);
    check(&picture, Format::Gif, (2_000, 32), 1);
    assert_eq!(gif::seen(&picture.bytes)[0].4.len(), 2_000 * 32);
}

#[test]
fn large_png_of_every_kind_are_scaled_down() {
    use ::png::{BitDepth, ColorType};
    let kinds = [
        (ColorType::Grayscale, BitDepth::One, 500, 1),
        (ColorType::Grayscale, BitDepth::Sixteen, 8_000, 1),
        (ColorType::Indexed, BitDepth::Four, 2_000, 3),
        (ColorType::Rgb, BitDepth::Sixteen, 24_000, 3),
    ];
    for (color, depth, in_row, channels) in kinds {
        let file = png::encoded(&made::photo(in_row, 4)[..in_row as usize * 4], 4_000, 4, color, depth);
        let wanted = halved(&png::seen(&file)[0], 4_000, channels);
        assert!(png::seen(&kept(&file).bytes) == [wanted], "{color:?} {depth:?}");
    }
    // a colour that is transparent
    let rows = png::rows(&vec![9; 3 * 4_000 * 2], 3 * 4_000);
    let file = png::file(&[
        png::header(4_000, 2, 8, 2, 0),
        png::chunk(*b"tRNS", &[0, 9, 0, 9, 0, 9]),
        png::chunk(*b"IDAT", &png::packed(&rows)),
    ]);
    assert!(png::seen(&kept(&file).bytes) == [vec![0; 2_000 * 4]]);
}

#[test]
fn what_cannot_be_scaled_down_says_so() {
    let code = |file: &[u8]| prepare(file, &Limits::default()).unwrap_err().code();
    assert_eq!(code(&gif::animation(2_100, 10, 2)), "picture_oversized_animation");
    assert_eq!(code(&png::animation(2_100, 4, 2)), "picture_oversized_animation");
    assert_eq!(code(&webp::animation(2_100, 4, 2)), "picture_oversized_animation");
    assert_eq!(code(&webp::photo(2_100, 10)), "picture_oversized_kind");
    let interlaced =
        png::file(&[png::header(2_100, 4, 8, 0, 1), png::chunk(*b"IDAT", &png::packed(&[0; 9_000]))]);
    assert_eq!(code(&interlaced), "picture_oversized_kind");
}

#[test]
fn limits_are_those_of_the_caller() {
    let limits = Limits { side: 50, ..Limits::default() };
    let picture = prepare(&jpeg::photo(101, 67, jpeg::PLAIN), &limits).unwrap();
    assert_eq!((picture.width, picture.height), (50, 33));
    let file = png::photo(100, 100);
    let code = |limits| prepare(&file, &limits).unwrap_err().code();
    assert_eq!(code(Limits { bytes: file.len() - 1, ..Limits::default() }), "picture_too_many_bytes");
    assert_eq!(code(Limits { pixels: 9_999, ..Limits::default() }), "picture_too_many_pixels");
}
