//! A picture in memory: bytes as a decoder gives them, or floats as a resampler in float leaves them.
//!
//! Both lie row by row with the three channels of a pixel side by side. That is the memory of a `channels_last`
//! tensor `[1, 3, h, w]`, so a network that wants this layout copies nothing.

/// Channels of a pixel: red, green, blue.
pub const N_CHANNELS: usize = 3;

/// An RGB picture of 8 bits a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    // Invariant: `rgb.len() == width * height * 3`, and neither side is 0.
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Image {
    /// The picture with these pixels, `rgb`: `[height, width, 3]`.
    ///
    /// # Panics
    /// When a side is 0 or the number of bytes is not that of the shape: both are bugs of the caller.
    #[must_use]
    pub fn new(width: usize, height: usize, rgb: Vec<u8>) -> Self {
        assert_shape(width, height, rgb.len());
        Self { width, height, rgb }
    }

    /// Width in pixels, at least 1.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels, at least 1.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// The pixels, `[height, width, 3]`.
    #[must_use]
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// The pixels alone, `[height, width, 3]`.
    #[must_use]
    pub fn into_rgb(self) -> Vec<u8> {
        self.rgb
    }

    /// The same values as floats, 0 to 255.
    #[must_use]
    pub fn to_float(&self) -> FloatImage {
        FloatImage::new(self.width, self.height, self.rgb.iter().map(|&byte| f32::from(byte)).collect())
    }

    /// BLAKE3 of the shape and the pixels: equal for equal pictures, whatever file they came from.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.width as u64).to_le_bytes());
        hasher.update(&(self.height as u64).to_le_bytes());
        hasher.update(&self.rgb);
        hasher.finalize().into()
    }
}

/// An RGB picture of 32-bit floats; what range they have depends on the steps behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatImage {
    // Invariant: `values.len() == width * height * 3`, and neither side is 0.
    width: usize,
    height: usize,
    values: Vec<f32>,
}

impl FloatImage {
    /// The picture with these values, `[height, width, 3]`.
    ///
    /// # Panics
    /// When a side is 0 or the number of values is not that of the shape: both are bugs of the caller.
    #[must_use]
    pub fn new(width: usize, height: usize, values: Vec<f32>) -> Self {
        assert_shape(width, height, values.len());
        Self { width, height, values }
    }

    /// Width in pixels, at least 1.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels, at least 1.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// The values, `[height, width, 3]`.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The values alone, `[height, width, 3]`.
    #[must_use]
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// The values plane by plane, `[3, height, width]`, as a contiguous torch tensor has them.
    #[must_use]
    pub fn to_planes(&self) -> Vec<f32> {
        let plane = |channel: usize| self.values[channel..].iter().step_by(N_CHANNELS).copied();
        (0..N_CHANNELS).flat_map(plane).collect()
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

/// A picture between two steps of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// As decoded, or after a step that ends in bytes.
    Bytes(Image),
    /// After a step that ends in floats.
    Floats(FloatImage),
}

impl Picture {
    /// Width and height in pixels.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        match self {
            Self::Bytes(image) => (image.width, image.height),
            Self::Floats(image) => (image.width, image.height),
        }
    }

    /// The picture as floats; bytes keep their values, 0 to 255.
    #[must_use]
    pub fn into_float(self) -> FloatImage {
        match self {
            Self::Bytes(image) => image.to_float(),
            Self::Floats(image) => image,
        }
    }
}

fn assert_shape(width: usize, height: usize, n_values: usize) {
    assert!(width > 0 && height > 0, "a picture of {width}x{height} has no pixels");
    assert_eq!(n_values, width * height * N_CHANNELS, "values of a {width}x{height} picture");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_hold_one_channel_each() {
        let image = Image::new(2, 1, vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(image.to_float().to_planes(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn the_digest_tells_shapes_apart() {
        let image = |width, height| Image::new(width, height, vec![7; 12]);
        assert_ne!(image(4, 1).digest(), image(1, 4).digest());
        assert_eq!(image(2, 2).digest(), image(2, 2).digest());
    }
}
