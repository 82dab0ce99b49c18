//! Hostile pictures, as they come over HTTP. What the reading of each format withstands is in the tests of the crate
//! `images`.

use mailwright_testkit::{App, Engine, both_engines, one_engine};
use mailwright_tests::picture::{jpeg, png, png_of};
use mailwright_tests::{assert_envelope, header, text};
use serde_json::json;

use super::{files, got, path, rows, upload, uploaded};

const SCRIPT: &str = "<script>alert(document.domain)</script>";

/// A PNG that says it is so wide and high.
fn saying(mut file: Vec<u8>, width: u32, height: u32) -> Vec<u8> {
    file[16..20].copy_from_slice(&width.to_be_bytes());
    file[20..24].copy_from_slice(&height.to_be_bytes());
    let sum = checksum(&file[12..29]).to_be_bytes();
    file[29..33].copy_from_slice(&sum);
    file
}

/// The checksum of a part of a PNG.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

fn contains(file: &[u8], text: &str) -> bool {
    file.windows(text.len()).any(|window| window == text.as_bytes())
}

both_engines! {
    async fn what_is_no_safe_picture_is_refused_with_the_reason(engine: Engine) {
        let app = App::start(engine).await;
        let svg = format!("<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\">{SCRIPT}</svg>");
        let picture = png(60, 60, 1);
        let avif = b"\0\0\0\x20ftypavif\0\0\0\0avifmif1miaf".to_vec();
        let mut flipped = picture.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0xff;
        for (name, file, reason, told) in [
            ("a.svg", svg.clone().into_bytes(), "picture_format_not_supported", "SVG"),
            ("a.png", svg.into_bytes(), "picture_format_not_supported", "SVG"),
            ("a.avif", avif, "picture_format_not_supported", "AVIF"),
            ("a.png", format!("<!doctype html>{SCRIPT}").into_bytes(), "picture_format_not_supported", "HTML"),
            ("a.png", format!("\u{89}PNG\r\n\u{1a}\n{SCRIPT}").into_bytes(), "picture_format_not_supported", "not a picture"),
            ("a.png", [&picture[..8], SCRIPT.as_bytes()].concat(), "picture_damaged", "damaged"),
            ("a.png", picture[..picture.len() - 20].to_vec(), "picture_damaged", "damaged"),
            ("a.png", flipped, "picture_damaged", "damaged"),
            ("a.jpg", jpeg(60, 60, 1)[..1500].to_vec(), "picture_damaged", "damaged"),
            ("a.png", saying(picture.clone(), 60_000, 60_000), "picture_too_long", "16384"),
            ("a.png", saying(picture.clone(), 16_000, 16_000), "picture_too_many_pixels", "40 million"),
            ("a.png", b"%PDF-1.7".to_vec(), "picture_format_not_supported", "PDF"),
            ("a.png", Vec::new(), "picture_empty", "empty"),
        ] {
            let answer = upload(&app, app.secret_key(), name, &file).await;
            let error = answer.assert_error(400, "BAD_REQUEST");
            assert_eq!(error["details"]["reason"], reason, "{name}: {error}");
            assert!(text(&error["message"]).contains(told), "{name}: {error}");
        }
        let answer = upload(&app, app.secret_key(), "large.png", &vec![0; 10 * 1024 * 1024 + 1]).await;
        assert_eq!(assert_envelope(&answer, 413), "PAYLOAD_TOO_LARGE");
        assert!(files(&app).is_empty());
        for table in ["uploads", "upload_removals"] {
            assert_eq!(rows(&app, table).await, 0, "{table}");
        }
    }

    async fn what_is_more_than_a_picture_is_served_as_the_picture_alone(engine: Engine) {
        let app = App::start(engine).await;
        let secret = "Exif\0\0II*\0 51.5007N 0.1246W at home";
        let segment = |marker: u8, text: &str| {
            [&[0xff, marker][..], &(text.len() as u16 + 2).to_be_bytes(), text.as_bytes()].concat()
        };
        let photo = jpeg(50, 40, 2);
        let text_chunk = {
            let data = format!("Comment\0{SCRIPT}");
            let body = [b"tEXt".as_slice(), data.as_bytes()].concat();
            [&(data.len() as u32).to_be_bytes()[..], &body, &checksum(&body).to_be_bytes()].concat()
        };
        let picture = png(50, 40, 2);
        for (file, kind) in [
            ([&picture, SCRIPT.as_bytes()].concat(), "image/png"),
            ([&picture[..33], &text_chunk, &picture[33..]].concat(), "image/png"),
            ([&photo, b"PK\x03\x04".as_slice(), SCRIPT.as_bytes()].concat(), "image/jpeg"),
            ([&photo[..2], &segment(0xfe, SCRIPT), &segment(0xe1, secret), &photo[2..]].concat(), "image/jpeg"),
        ] {
            let uploaded = uploaded(&app, &file).await;
            let served = got(&app, &path(&uploaded)).await.assert_status(200);
            assert_eq!(header(&served, "content-type"), Some(kind));
            for payload in [SCRIPT, "<script", "PK\u{3}\u{4}", "at home", "Exif"] {
                assert!(!contains(&served.body, payload), "{kind} with {payload}");
            }
            assert!(served.body.len() < file.len());
        }
    }
}

one_engine! {
    async fn bombs_take_little_and_those_who_wait_are_bounded(engine: Engine) {
        let app = App::start(engine).await;
        uploaded(&app, &png(10, 10, 1)).await;
        let before = app.peak_memory();
        // 36 million pixels in some kilobytes, which are unpacked and scaled down
        let bomb = png_of(6_000, 6_000, &vec![0; 6_000 * 6_000 * 3]);
        assert!(bomb.len() < 200_000, "{}", bomb.len());
        let answers = futures_util::future::join_all(
            (0..48).map(|_| upload(&app, app.secret_key(), "bomb.png", &bomb)),
        )
        .await;
        let taken: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert!(taken.len() >= 32, "{}", taken.len());
        for answer in &answers {
            if answer.status == 200 {
                assert_eq!((answer.json()["width"].clone(), answer.json()["height"].clone()), (json!(2_000), json!(2_000)));
            } else {
                answer.assert_error(429, "RATE_LIMIT_EXCEEDED");
                assert_eq!(header(answer, "retry-after"), Some("5"));
            }
        }
        let more = (app.peak_memory() - before) / 1024 / 1024;
        assert!(more < 200, "{more} MB for pictures, of which two are read at once");
        assert_eq!(rows(&app, "uploads").await, 2);
    }
}
