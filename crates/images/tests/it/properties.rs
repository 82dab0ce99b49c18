//! Whatever the bytes are: no panic, and what is kept is kept again as it is.

use mailwright_images::{Format, Limits, Picture, prepare};
use proptest::prelude::*;

use crate::made::{gif, jpeg, png, webp};

/// Small, so that many are tried: limits that are met, too.
const LIMITS: Limits = Limits {
    bytes: 60_000,
    pixels: 20_000,
    animation_pixels: 30_000,
    frames: 6,
    side: 90,
    memory: 2_000_000,
};

/// Valid files of each format.
fn files() -> Vec<Vec<u8>> {
    let restarts = jpeg::Made { restarts: Some(2), ..jpeg::PROGRESSIVE };
    let turned = jpeg::with_segment(&jpeg::photo(40, 30, jpeg::PLAIN), 0xe1, &jpeg::exif(7, b""));
    let mask = webp::data(&webp::photo(32, 16));
    let alpha = [
        webp::header(0x10, 32, 16),
        webp::chunk(*b"ALPH", &[&[1], &mask[5..]].concat()),
        webp::chunk(*b"VP8 ", &webp::gray(32, 16)),
    ];
    vec![
        jpeg::photo(40, 30, jpeg::PLAIN),
        jpeg::photo(100, 20, jpeg::PLAIN),
        jpeg::photo(40, 30, jpeg::PROGRESSIVE),
        jpeg::photo(100, 20, restarts),
        turned,
        png::photo(40, 20),
        png::photo(100, 10),
        png::animation(20, 10, 4),
        gif::animation(30, 20, 4),
        gif::still(100, 30),
        webp::photo(40, 20),
        webp::animation(20, 10, 4),
        webp::file(&alpha),
    ]
}

fn check(file: &[u8]) {
    let Ok(picture) = prepare(file, &LIMITS) else { return };
    let Picture { bytes, width, height, frames, .. } = &picture;
    assert!(bytes.len() <= LIMITS.bytes && *width <= LIMITS.side && *height <= LIMITS.side);
    assert!((1..=LIMITS.frames).contains(frames));
    let again = prepare(bytes, &LIMITS).unwrap_or_else(|refused| panic!("{:?}: {refused}", picture.format));
    assert!(again.bytes == *bytes, "{:?} is changed again", picture.format);
    assert_eq!((again.width, again.height, again.frames), (*width, *height, *frames));
    assert!(!again.was_reencoded);
}

/// Writes the sums of the chunks of a PNG anew, so that what was changed in them is read.
fn with_sums(mut file: Vec<u8>) -> Vec<u8> {
    let mut at = 8;
    while let Some(length) = file.get(at..at + 4) {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let end = at + 8 + length;
        if length > file.len() || end + 4 > file.len() {
            break;
        }
        let mut crc = flate2::Crc::new();
        crc.update(&file[at + 4..end]);
        file[end..end + 4].copy_from_slice(&crc.sum().to_be_bytes());
        at = end + 4;
    }
    file
}

/// A change of a file.
#[derive(Debug, Clone)]
enum Change {
    Byte(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Repeat(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => (any::<usize>(), proptest::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, part)| Change::Insert(at, part)),
        1 => (any::<usize>(), 1_usize..50).prop_map(|(at, length)| Change::Remove(at, length)),
        1 => (any::<usize>(), 1_usize..200).prop_map(|(at, length)| Change::Repeat(at, length)),
    ]
}

fn changed(mut file: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        if file.is_empty() {
            break;
        }
        let length = file.len();
        match change {
            Change::Byte(at, byte) => file[at % length] = *byte,
            Change::Insert(at, part) => drop(file.splice(at % length..at % length, part.iter().copied())),
            Change::Remove(at, count) => drop(file.drain(at % length..length.min(at % length + count))),
            Change::Repeat(at, count) => {
                let part = file[at % length..length.min(at % length + count)].to_vec();
                drop(file.splice(at % length..at % length, part));
            }
        }
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(start in 0_usize..5, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let starts: [&[u8]; 5] = [b"", b"\xff\xd8\xff", png::SIGNATURE, b"GIF89a", b"RIFF\x80\0\0\0WEBPVP8L\x60\0\0\0\x2f"];
        check(&[starts[start], &bytes].concat());
    }

    #[test]
    fn changed_files(which in any::<usize>(), changes in proptest::collection::vec(change(), 1..6)) {
        let files = files();
        let file = changed(files[which % files.len()].clone(), &changes);
        if file.starts_with(png::SIGNATURE) {
            check(&with_sums(file.clone()));
        }
        check(&file);
    }

    #[test]
    fn spliced_files(first in any::<usize>(), second in any::<usize>(), at in any::<usize>(), from in any::<usize>()) {
        let files = files();
        let (first, second) = (&files[first % files.len()], &files[second % files.len()]);
        check(&[&first[..at % first.len()], &second[from % second.len()..]].concat());
    }
}

#[test]
fn the_files_are_valid() {
    let formats: Vec<Format> = files().iter().map(|file| prepare(file, &LIMITS).unwrap().format).collect();
    assert_eq!(formats.len(), 13);
}
