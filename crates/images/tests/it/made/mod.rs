//! Pictures made by code.

pub(crate) mod gif;
pub(crate) mod jpeg;
pub(crate) mod png;
pub(crate) mod webp;

/// Numbers that look random and are the same each time (xorshift).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 24) as u8).collect()
    }
}

/// Pixels of three bytes: slopes with some noise.
pub(crate) fn photo(width: u32, height: u32) -> Vec<u8> {
    let mut numbers = Numbers::new(7);
    let mut pixels = Vec::with_capacity((width * height * 3) as usize);
    for y in 0..height {
        for x in 0..width {
            let noise = (numbers.next() >> 60) as u32;
            let parts = [x * 200 / width + noise, y * 200 / height + noise, (x + y) % 200 + noise];
            pixels.extend(parts.map(|part| part as u8));
        }
    }
    pixels
}

/// Whether the bytes have a part.
pub(crate) fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
