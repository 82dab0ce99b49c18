//! PNG files.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

pub(crate) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(crate) fn chunk(name: [u8; 4], content: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(&name);
    crc.update(content);
    [&(content.len() as u32).to_be_bytes()[..], &name, content, &crc.sum().to_be_bytes()].concat()
}

/// The header of a picture.
pub(crate) fn header(width: u32, height: u32, depth: u8, color: u8, interlace: u8) -> Vec<u8> {
    let rest = [depth, color, 0, 0, interlace];
    chunk(*b"IHDR", &[&width.to_be_bytes()[..], &height.to_be_bytes(), &rest].concat())
}

pub(crate) fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// So many zeros, packed without ever being held.
pub(crate) fn packed_zeros(count: u64) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(9));
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), count), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// A file of these chunks, with its start and end.
pub(crate) fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    [SIGNATURE, &chunks.concat(), &chunk(*b"IEND", &[])].concat()
}

/// Rows without filters, each with the byte that says so.
pub(crate) fn rows(pixels: &[u8], in_row: usize) -> Vec<u8> {
    pixels.chunks(in_row).flat_map(|row| [&[0], row].concat()).collect()
}

/// A picture of three bytes a pixel.
pub(crate) fn photo(width: u32, height: u32) -> Vec<u8> {
    let data = packed(&rows(&super::photo(width, height), width as usize * 3));
    file(&[header(width, height, 8, 2, 0), chunk(*b"IDAT", &data)])
}

/// A picture as another encoder makes it, with all of its filters.
pub(crate) fn encoded(
    pixels: &[u8],
    width: u32,
    height: u32,
    color: png::ColorType,
    depth: png::BitDepth,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_filter(png::Filter::Adaptive);
    if color == png::ColorType::Indexed {
        encoder.set_palette(
            (0..=255)
                .flat_map(|index: u8| [index, 255 - index, index / 2])
                .take(3 << depth as u8)
                .collect::<Vec<_>>(),
        );
    }
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    out
}

/// The frames of an animation, each of one byte a pixel.
pub(crate) fn animation(width: u32, height: u32, frames: u32) -> Vec<u8> {
    let mut chunks = vec![header(width, height, 8, 0, 0)];
    chunks.push(chunk(*b"acTL", &[&frames.to_be_bytes()[..], &[0; 4]].concat()));
    let mut number = 0_u32;
    for frame in 0..frames {
        chunks.push(control(number, width, height));
        number += 1;
        let pixels: Vec<u8> = (0..width * height).map(|pixel| (pixel + frame * 7) as u8).collect();
        let data = packed(&rows(&pixels, width as usize));
        if frame == 0 {
            chunks.push(chunk(*b"IDAT", &data));
        } else {
            chunks.push(chunk(*b"fdAT", &[&number.to_be_bytes()[..], &data].concat()));
            number += 1;
        }
    }
    file(&chunks)
}

/// The control of a frame of this size.
pub(crate) fn control(number: u32, width: u32, height: u32) -> Vec<u8> {
    let numbers = [number, width, height, 0, 0].map(u32::to_be_bytes).concat();
    chunk(*b"fcTL", &[&numbers[..], &[0, 1, 0, 10, 0, 0]].concat())
}

/// What another decoder sees of each frame, in 8 bits.
pub(crate) fn seen(file: &[u8]) -> Vec<Vec<u8>> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().unwrap();
    let frames = reader.info().animation_control().map_or(1, |control| control.num_frames);
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    (0..frames)
        .map(|_| {
            let info = reader.next_frame(&mut buffer).unwrap();
            buffer[..info.buffer_size()].to_vec()
        })
        .collect()
}
