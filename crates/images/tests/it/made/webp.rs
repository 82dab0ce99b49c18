//! WebP files.

use image_webp::{ColorType, WebPDecoder, WebPEncoder};

pub(crate) fn chunk(name: [u8; 4], content: &[u8]) -> Vec<u8> {
    let mut out = [&name, &(content.len() as u32).to_le_bytes()[..], content].concat();
    if content.len() % 2 == 1 {
        out.push(0);
    }
    out
}

pub(crate) fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let chunks = chunks.concat();
    [b"RIFF", &(chunks.len() as u32 + 4).to_le_bytes()[..], b"WEBP", &chunks].concat()
}

/// The header of a file that has more than pixels.
pub(crate) fn header(flags: u8, width: u32, height: u32) -> Vec<u8> {
    let size = [(width - 1).to_le_bytes(), (height - 1).to_le_bytes()];
    chunk(*b"VP8X", &[&[flags, 0, 0, 0], &size[0][..3], &size[1][..3]].concat())
}

/// A picture without losses.
pub(crate) fn lossless(pixels: &[u8], width: u32, height: u32, color: ColorType) -> Vec<u8> {
    let mut out = Vec::new();
    WebPEncoder::new(&mut out).encode(pixels, width, height, color).unwrap();
    out
}

pub(crate) fn photo(width: u32, height: u32) -> Vec<u8> {
    lossless(&super::photo(width, height), width, height, ColorType::Rgb8)
}

/// The data of the only chunk of a simple file.
pub(crate) fn data(file: &[u8]) -> Vec<u8> {
    let length = u32::from_le_bytes(file[16..20].try_into().unwrap());
    file[20..20 + length as usize].to_vec()
}

/// A picture with losses, whose two partitions are these bytes: any bits are valid, zeros are gray.
pub(crate) fn lossy(width: u16, height: u16, first: &[u8], second: &[u8]) -> Vec<u8> {
    let tag = (first.len() as u32) << 5 | 1 << 4;
    let mut out = tag.to_le_bytes()[..3].to_vec();
    out.extend_from_slice(&[0x9d, 0x01, 0x2a]);
    out.extend_from_slice(&width.to_le_bytes());
    out.extend_from_slice(&height.to_le_bytes());
    out.extend_from_slice(first);
    out.extend_from_slice(second);
    out
}

/// A gray one.
pub(crate) fn gray(width: u16, height: u16) -> Vec<u8> {
    let blocks = usize::from(width.div_ceil(16)) * usize::from(height.div_ceil(16));
    lossy(width, height, &vec![0; 400 + 40 * blocks], &vec![0; 100 + 40 * blocks])
}

/// A frame of an animation, at this place.
pub(crate) fn frame(place: (u32, u32), width: u32, height: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
    let numbers = [place.0 / 2, place.1 / 2, width - 1, height - 1, 100];
    let mut content: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()[..3].to_vec()).collect();
    content.push(0);
    content.extend_from_slice(&chunks.concat());
    chunk(*b"ANMF", &content)
}

pub(crate) fn animation(width: u32, height: u32, frames: u32) -> Vec<u8> {
    let mut chunks = vec![header(0x12, width, height), chunk(*b"ANIM", &[0, 0, 0, 0, 3, 0])];
    for number in 0..frames {
        let pixels: Vec<u8> = (0..width * height * 4).map(|byte| (byte / 4 + number * 9) as u8).collect();
        let image = data(&lossless(&pixels, width, height, ColorType::Rgba8));
        chunks.push(frame((0, 0), width, height, &[chunk(*b"VP8L", &image)]));
    }
    file(&chunks)
}

/// What another decoder sees of each frame.
pub(crate) fn seen(file: &[u8]) -> Vec<Vec<u8>> {
    let mut decoder = WebPDecoder::new(std::io::Cursor::new(file)).unwrap();
    let mut buffer = vec![0; decoder.output_buffer_size().unwrap()];
    if !decoder.is_animated() {
        decoder.read_image(&mut buffer).unwrap();
        return vec![buffer];
    }
    (0..decoder.num_frames())
        .map(|_| {
            decoder.read_frame(&mut buffer).unwrap();
            buffer.clone()
        })
        .collect()
}
