//! Pictures made by encoders that are not those of the service, and forms to upload them.

use jpeg_encoder::{ColorType, Encoder};

use crate::random::Random;

const BOUNDARY: &str = "----a-boundary-of-the-tests";

/// A form as a request has it.
#[derive(Clone, Debug)]
pub struct Form {
    /// The body.
    pub body: Vec<u8>,
    /// `Content-Type`.
    pub kind: String,
}

/// A form with one file.
pub fn form(part: &str, name: &str, content: &[u8]) -> Form {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{part}\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    let end = format!("\r\n--{BOUNDARY}--\r\n");
    let body = [head.as_bytes(), content, end.as_bytes()].concat();
    Form { body, kind: format!("multipart/form-data; boundary={BOUNDARY}") }
}

/// Pixels in RGB that cannot be compressed: others for each seed.
fn noise(width: u32, height: u32, seed: u64) -> Vec<u8> {
    let mut numbers = Random::seeded(seed);
    (0..width * height * 3).map(|_| numbers.below(256) as u8).collect()
}

/// A PNG of noise.
pub fn png(width: u32, height: u32, seed: u64) -> Vec<u8> {
    png_of(width, height, &noise(width, height, seed))
}

/// A PNG of these pixels in RGB.
pub fn png_of(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels)).expect("a PNG");
    file
}

/// A JPEG of noise.
pub fn jpeg(width: u16, height: u16, seed: u64) -> Vec<u8> {
    let mut file = Vec::new();
    let pixels = noise(width.into(), height.into(), seed);
    Encoder::new(&mut file, 85).encode(&pixels, width, height, ColorType::Rgb).expect("a JPEG");
    file
}

/// A GIF with as many frames of noise.
pub fn gif(width: u16, height: u16, frames: u64) -> Vec<u8> {
    let mut file = Vec::new();
    let grays: Vec<u8> = (0..=255).flat_map(|gray| [gray; 3]).collect();
    let mut encoder = gif::Encoder::new(&mut file, width, height, &grays).expect("a GIF");
    for seed in 0..frames {
        let mut numbers = Random::seeded(seed);
        let pixels: Vec<u8> = (0..width * height).map(|_| numbers.below(256) as u8).collect();
        let frame = gif::Frame::from_indexed_pixels(width, height, pixels, None);
        encoder.write_frame(&frame).expect("a frame");
    }
    drop(encoder);
    file
}

/// A WebP of noise.
pub fn webp(width: u32, height: u32, seed: u64) -> Vec<u8> {
    let mut file = Vec::new();
    let pixels = noise(width, height, seed);
    let encoder = image_webp::WebPEncoder::new(&mut file);
    encoder.encode(&pixels, width, height, image_webp::ColorType::Rgb8).expect("a WebP");
    file
}
