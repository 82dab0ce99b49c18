//! GIF files.

use weezl::BitOrder;
use weezl::encode::Encoder;

/// The start of a file with a palette of 16 colours.
pub(crate) fn start(width: u16, height: u16) -> Vec<u8> {
    let mut out = b"GIF89a".to_vec();
    out.extend_from_slice(&width.to_le_bytes());
    out.extend_from_slice(&height.to_le_bytes());
    out.extend_from_slice(&[0xf3, 0, 0]);
    out.extend((0..16_u8).flat_map(|color| [color * 17, 255 - color * 17, color * 9]));
    out
}

/// Data in parts of at most 255 bytes.
pub(crate) fn parts(data: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = data.chunks(255).flat_map(|part| [&[part.len() as u8], part].concat()).collect();
    out.push(0);
    out
}

pub(crate) fn packed(pixels: &[u8]) -> Vec<u8> {
    Encoder::new(BitOrder::Lsb, 4).encode(pixels).unwrap()
}

/// A frame with these packed data.
pub(crate) fn frame(width: u16, height: u16, flags: u8, packed: &[u8]) -> Vec<u8> {
    let mut out = vec![0x2c, 0, 0, 0, 0];
    out.extend_from_slice(&width.to_le_bytes());
    out.extend_from_slice(&height.to_le_bytes());
    out.extend_from_slice(&[flags, 4]);
    out.extend_from_slice(&parts(packed));
    out
}

/// An extension.
pub(crate) fn extension(label: u8, content: &[u8]) -> Vec<u8> {
    [&[0x21, label], &parts(content)[..]].concat()
}

pub(crate) const LOOPS: &[u8] = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x05\0\0";
pub(crate) const CONTROL: &[u8] = b"\x21\xf9\x04\x05\x0a\0\x03\0";

pub(crate) fn pixels(width: u16, height: u16, seed: u32) -> Vec<u8> {
    let (width, height) = (u32::from(width), u32::from(height));
    (0..width * height).map(|pixel| ((pixel % width / 3 + pixel / width * 5 + seed) % 16) as u8).collect()
}

pub(crate) fn animation(width: u16, height: u16, frames: u32) -> Vec<u8> {
    let mut out = [&start(width, height)[..], LOOPS].concat();
    for number in 0..frames {
        out.extend_from_slice(CONTROL);
        out.extend_from_slice(&frame(width, height, 0, &packed(&pixels(width, height, number))));
    }
    out.push(0x3b);
    out
}

pub(crate) fn still(width: u16, height: u16) -> Vec<u8> {
    [&start(width, height)[..], &frame(width, height, 0, &packed(&pixels(width, height, 0))), &[0x3b]]
        .concat()
}

/// What another decoder sees of each frame: its place, its delay, its transparent colour and its pixels.
pub(crate) type Seen = (u16, u16, u16, Option<u8>, Vec<u8>);

pub(crate) fn seen(file: &[u8]) -> Vec<Seen> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::Indexed);
    options.check_frame_consistency(true);
    let mut decoder = options.read_info(file).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        frames.push((frame.left, frame.top, frame.delay, frame.transparent, frame.buffer.to_vec()));
    }
    frames
}
