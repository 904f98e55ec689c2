//! The seam of feature networks: pictures as a protocol's steps left them go in, rows of features come out, under an
//! identity that names the weights. What implements it may use tensors; this crate does not.

use crate::image::{Image, N_CHANNELS};

/// What a network says is wrong with it, its weights or its input.
pub type NetworkFault = Box<dyn std::error::Error + Send + Sync>;

/// Pictures of one size, ready for a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// How many pictures, at least 1.
    pub n: usize,
    /// Pixels down.
    pub height: usize,
    /// Pixels across.
    pub width: usize,
    /// `[n, 3, height, width]`, row-major: red, green and blue planes in the range that the steps leave.
    pub values: Vec<f32>,
}

/// One layer of the rows that a network gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Network, layer or pixels, element type, and the first 12 digits of the weights' BLAKE3, as
    /// `inception-fid-2048-f32@1a2b3c4d5e6f`: part of every number's identity.
    pub identity: String,
    /// Its features of a row.
    pub n_dims: usize,
}

/// A network for pictures, with its weights, opened for one or several of its layers.
pub trait FeatureNetwork {
    /// The layers whose features are one behind the other in a row; at least one.
    fn parts(&self) -> Vec<Part>;

    /// Features of `batch`, `[n, n_dims]` by rows, from one pass. The row of a picture does not depend on the pictures
    /// beside it, nor on its place; it may depend on how many they are, in its last digits.
    ///
    /// # Errors
    /// A batch of another size than the network takes, or whose values are not those of its shape.
    fn rows(&self, batch: &Batch) -> Result<Vec<f32>, NetworkFault>;

    /// The identities of all parts.
    fn identity(&self) -> String {
        self.parts().into_iter().map(|part| part.identity).collect::<Vec<_>>().join(" + ")
    }

    /// Width of a row.
    fn n_dims(&self) -> usize {
        self.parts().iter().map(|part| part.n_dims).sum()
    }
}

/// A network that compares two pictures of one size, with its weights.
pub trait PairNetwork {
    /// The networks and the digests of their weights, as [`Part::identity`].
    fn identity(&self) -> String;

    /// How far each picture of the first side is from that at its place in the second; 0 for equal ones. Pixels are from
    /// -1 to 1.
    ///
    /// # Errors
    /// Sides of different sizes, and pictures that the network does not take.
    fn distances(&self, sides: [&Batch; 2]) -> Result<Vec<f64>, NetworkFault>;
}

/// A network that scores pictures with their prompts, with its weights.
pub trait PromptedNetwork {
    /// The network and the digests of its weights and of its vocabulary, as [`Part::identity`].
    fn identity(&self) -> String;

    /// How many of `prompts` there are of each kind that a reader of a score should know of, by the kind's name among the
    /// details: `captions_cut` are longer than what the network sees of them.
    fn counts(&self, prompts: &[String]) -> Vec<(&'static str, usize)>;

    /// The score of each picture of `batch` with the prompt at its place, from one pass. As [`FeatureNetwork::rows`], it does
    /// not depend on the pictures and prompts beside it.
    ///
    /// # Errors
    /// A batch of another size than the network takes, or of another number than there are prompts.
    fn scores(&self, batch: &Batch, prompts: &[&str]) -> Result<Vec<f32>, NetworkFault>;
}

impl Batch {
    /// `images`, at least one and all of the size of the first, each byte as `value` gives it.
    #[must_use]
    pub fn of_images(images: &[Image], value: impl Fn(u8) -> f32) -> Self {
        let (width, height) = (images[0].width(), images[0].height());
        let plane = |image: &Image, channel: usize| -> Vec<f32> {
            image.rgb().iter().skip(channel).step_by(N_CHANNELS).map(|&byte| value(byte)).collect()
        };
        let planes = images.iter().flat_map(|image| (0..N_CHANNELS).map(move |channel| (image, channel)));
        let values = planes.flat_map(|(image, channel)| plane(image, channel)).collect();
        Self { n: images.len(), height, width, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_the_planes_of_each_image_one_after_the_other() {
        let images = [Image::new(2, 1, vec![1, 2, 3, 4, 5, 6]), Image::new(2, 1, vec![7, 8, 9, 10, 11, 12])];
        let batch = Batch::of_images(&images, |byte| f32::from(byte) / 2.0);
        assert_eq!((batch.n, batch.height, batch.width), (2, 1, 2));
        let expected = [1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12].map(|byte| byte as f32 / 2.0);
        assert_eq!(batch.values, expected);
    }
}
