//! Hostile pictures: each is prepared in a process of its own, within 64 MB of memory (with the file, the result and the
//! program) and one second of the processor. The parent makes them, so that what making them takes does not count.

mod gif;
mod jpeg;
mod png;
mod webp;

use crate::child::prepare_apart;
use crate::made;

const MEMORY: u64 = 64_000_000;
/// Of a processor. What takes longest takes 0.6 alone; here it shares caches with other tests.
const SECONDS: f64 = 2.0;

/// The bytes that are taken.
const BYTES: usize = 10 * 1_048_576;

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
fn what_was_cut_off_is_refused() {
    let files = [
        made::jpeg::photo(60, 50, made::jpeg::PLAIN),
        made::jpeg::photo(60, 50, made::jpeg::PROGRESSIVE),
        made::png::photo(60, 50),
        made::png::animation(20, 10, 3),
        made::gif::animation(40, 30, 3),
        made::webp::photo(60, 50),
        made::webp::file(&[made::webp::chunk(*b"VP8 ", &made::webp::gray(64, 64))]),
        made::webp::animation(20, 10, 3),
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
