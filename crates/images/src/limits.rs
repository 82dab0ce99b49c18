//! The limits of pictures.

use crate::Refused;

/// Bytes of an uploaded picture: those of a large photograph. Mail programs load slowly what is larger.
pub const MAX_BYTES: usize = 10 * 1_048_576;

/// Pixels of a still picture: those of a photograph of a good camera. More are refused before any is decoded.
pub const MAX_PIXELS: u64 = 40_000_000;

/// Pixels of all frames of an animation together: ten seconds of 500 × 500 pixels at ten frames a second.
pub const MAX_ANIMATION_PIXELS: u64 = 25_000_000;

/// Frames of an animation.
pub const MAX_FRAMES: u32 = 500;

/// The width and height to which larger pictures are scaled down: twice that of a wide mail, for sharp screens.
pub const MAX_SIDE: u32 = 2_000;

/// The width and height that are read at all. The formats have larger ones (65,535 pixels and more), which no mail needs.
pub const MAX_DIMENSION: u32 = 16_384;

/// Bytes of memory that decoding and encoding may take, beside the uploaded bytes and the result.
pub const MAX_MEMORY: usize = 47_000_000;

/// What a picture may be and take. The default is that of the constants of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file, before and after.
    pub bytes: usize,
    /// Pixels of a still picture.
    pub pixels: u64,
    /// Pixels of the frames of an animation, added up.
    pub animation_pixels: u64,
    /// Frames of an animation.
    pub frames: u32,
    /// Pixels that the result is wide and high, at most. Still pictures that are larger are scaled down, animated ones
    /// refused.
    pub side: u32,
    /// Bytes of memory for the work.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: MAX_BYTES,
            pixels: MAX_PIXELS,
            animation_pixels: MAX_ANIMATION_PIXELS,
            frames: MAX_FRAMES,
            side: MAX_SIDE,
            memory: MAX_MEMORY,
        }
    }
}

/// How large a picture, or a frame of it, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Size {
    pub(crate) fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

impl Limits {
    /// The size of a picture, if it has one that is read.
    pub(crate) fn check(&self, width: u32, height: u32) -> Result<Size, Refused> {
        let size = Size { width, height };
        if width == 0 || height == 0 {
            return Err(Refused::Damaged("it says that it is 0 pixels wide or high"));
        }
        if width > MAX_DIMENSION || height > MAX_DIMENSION {
            return Err(Refused::TooLong { most: MAX_DIMENSION });
        }
        if size.pixels() > self.pixels {
            return Err(Refused::TooManyPixels { most: self.pixels });
        }
        Ok(size)
    }

    pub(crate) fn is_oversized(&self, size: Size) -> bool {
        size.width > self.side || size.height > self.side
    }

    /// The size that a picture is scaled down to: its longer side is as long as it may be. As it is, if it is not too
    /// large.
    pub(crate) fn scaled(&self, size: Size) -> Size {
        let longer = u64::from(size.width.max(size.height));
        let most = u64::from(self.side.max(1));
        if longer <= most {
            return size;
        }
        let scale = |length: u32| ((u64::from(length) * most + longer / 2) / longer).clamp(1, most) as u32;
        Size { width: scale(size.width), height: scale(size.height) }
    }

    /// Refuses what needs more memory than there is for it.
    pub(crate) fn check_memory(&self, bytes: u64) -> Result<(), Refused> {
        if bytes > self.memory as u64 { Err(Refused::TooMuchMemory) } else { Ok(()) }
    }
}

/// What the frames of an animation may still be.
pub(crate) struct Budget {
    frames: u32,
    pixels: u64,
    limits: Limits,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { frames: 0, pixels: 0, limits: *limits }
    }

    /// Counts a frame, before it is decoded.
    pub(crate) fn frame(&mut self, size: Size) -> Result<(), Refused> {
        self.frames += 1;
        self.pixels += size.pixels();
        if self.frames > self.limits.frames {
            return Err(Refused::TooManyFrames { most: self.limits.frames });
        }
        // the first frame alone may be a still picture
        if self.frames > 1 && self.pixels > self.limits.animation_pixels {
            return Err(Refused::TooManyFramePixels { most: self.limits.animation_pixels });
        }
        Ok(())
    }

    pub(crate) fn frames(&self) -> u32 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_side_is_scaled_to_the_limit() {
        let limits = Limits::default();
        let scaled = |width, height| {
            let size = limits.scaled(Size { width, height });
            (size.width, size.height)
        };
        assert_eq!(scaled(2_000, 2_000), (2_000, 2_000));
        assert_eq!(scaled(4_032, 3_024), (2_000, 1_500));
        assert_eq!(scaled(3, 16_000), (1, 2_000));
        assert_eq!(scaled(16_384, 1), (2_000, 1));
    }
}
