//! The steps between a decoded picture and what a network sees, as data: a protocol is a list of them.
//!
//! Each step names the library whose arithmetic it follows, so that a protocol's file says all there is to say:
//! `{ step = "resize", to = { square = 299 }, by = { engine = "pil-f32", filter = "bicubic" } }`.
//! [`Pipeline`] is a list that fits together; it cannot fail on a picture except by the picture's size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::image::{FloatImage, Image, N_CHANNELS, Picture};
use crate::resample::{Filter, PassOrder, pil_f32, pil_u8, tf1, torch, torch_bicubic, torch_u8};
pub use crate::step_error::StepError;

/// Longest side that a step may ask for, in pixels.
pub const MAX_SIDE: usize = 16_384;

/// One step.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Keeps a square in the middle.
    CentreCrop {
        /// Side of the square.
        side: CropSide,
        /// Where the square begins when the rest is odd.
        offset: CropOffset,
    },
    /// Changes the size.
    Resize {
        /// The new size.
        to: Target,
        /// The library whose arithmetic is followed.
        by: Resampler,
    },
    /// Puts the picture in the middle of a square of zeros. Where an odd number of pixels is to be filled, one more is
    /// right and below (torchvision's `pad` by `rest // 2`).
    PadToSquare {
        /// Side of the square; a picture with a longer side is an error.
        side: usize,
    },
    /// Limits floats to 0 to 255.
    Clip,
    /// Floats of 0 to 255 to bytes.
    Quantise {
        /// What becomes of the fraction.
        rounding: Rounding,
    },
    /// `(x - subtract) / divide` for each channel in `f32`; bytes are floats of 0 to 255 first.
    Standardise {
        /// Red, green, blue.
        subtract: [f32; 3],
        /// Red, green, blue; none is 0.
        divide: [f32; 3],
    },
    /// `x * by` in `f32`, which differs from a division by the inverse in the last digit.
    Multiply {
        /// A finite number that is not 0.
        by: f32,
    },
}

/// Side of a square to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CropSide {
    /// The picture's shorter side.
    Shortest,
    /// This many pixels; a picture with a shorter side is an error.
    Pixels(usize),
}

/// First pixel of a centred square when an odd number of pixels falls away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CropOffset {
    /// Half the rest, rounded to the even neighbour: torchvision (`int(round(rest / 2.0))`).
    HalfEven,
    /// Half the rest, rounded down: transformers, CMMD.
    Floor,
}

/// A new size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Both sides have this many pixels, whatever the shape was.
    Square(usize),
    /// The shorter side has this many pixels; the longer one keeps the shape and is rounded down, as torchvision
    /// and transformers do.
    ShortestSide(usize),
    /// The longer side has this many pixels; the shorter one keeps the shape and is rounded, halves to the even neighbour,
    /// as HPSv2 does.
    LongestSide(usize),
}

/// The library whose resampling is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "engine", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Resampler {
    /// Bytes to bytes, as `PIL.Image.resize`.
    PilU8 {
        /// Pillow's filter.
        filter: Filter,
        /// The library version whose order of passes is followed; that of Pillow 12 is not written, so that it is in no digest.
        #[serde(default, skip_serializing_if = "PassOrder::is_pillow_12")]
        passes: PassOrder,
    },
    /// Bytes to floats, as `PIL.Image.resize` in mode `F`.
    PilF32 {
        /// Pillow's filter.
        filter: Filter,
        /// The library version whose order of passes is followed.
        #[serde(default, skip_serializing_if = "PassOrder::is_pillow_12")]
        passes: PassOrder,
    },
    /// Floats to floats, as `torch.nn.functional.interpolate(mode="bilinear")`.
    TorchBilinear {
        /// Whether the kernel widens when a picture shrinks.
        antialias: bool,
        /// Whether corner pixels stay where they are; not with `antialias`.
        align_corners: bool,
    },
    /// Floats to floats, as the same function with `mode="bicubic"` and `align_corners=False`.
    TorchBicubic {
        /// Whether the kernel widens when a picture shrinks; it is another kernel too.
        antialias: bool,
    },
    /// Bytes to bytes, as the bilinear one takes bytes, without `antialias`.
    TorchBilinearU8,
    /// Floats to floats, as TensorFlow 1.
    Tf1Bilinear,
}

/// What becomes of the fraction of a float on its way to a byte. Values beyond 0 to 255 become the nearest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the nearest, halves to the even neighbour (`numpy.round`, `torch.round`).
    HalfEven,
    /// Cut off (`astype("uint8")`, `.byte()`).
    Truncate,
}

/// Steps that fit together.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Vec<Step>", into = "Vec<Step>")]
pub struct Pipeline {
    // Invariant: each step takes what the one before leaves, and every number is in its range.
    steps: Vec<Step>,
    ends: Flow,
}

impl Pipeline {
    /// The steps in their order.
    ///
    /// # Errors
    /// A step that does not take what the one before it leaves.
    pub fn new(steps: Vec<Step>) -> Result<Self, StepError> {
        let mut flow = Flow { is_float: false, size: None };
        for (step_idx, step) in steps.iter().enumerate() {
            flow = flow.after(step_idx, step)?;
        }
        Ok(Self { steps, ends: flow })
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The order of passes of every resize that follows Pillow, in their order.
    pub fn pass_orders(&self) -> impl Iterator<Item = PassOrder> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Resize {
                by: Resampler::PilU8 { passes, .. } | Resampler::PilF32 { passes, .. }, ..
            } => Some(*passes),
            _ => None,
        })
    }

    /// The same steps, every resize that follows Pillow with its passes in the order of `order`.
    #[must_use]
    pub fn with_pass_order(mut self, order: PassOrder) -> Self {
        for step in &mut self.steps {
            if let Step::Resize {
                by: Resampler::PilU8 { passes, .. } | Resampler::PilF32 { passes, .. },
                ..
            } = step
            {
                *passes = order;
            }
        }
        self
    }

    /// Width and height of every result, when the steps alone decide it.
    #[must_use]
    pub fn output_size(&self) -> Option<(usize, usize)> {
        self.ends.size.map(|side| (side, side))
    }

    /// What the steps make of `image`.
    ///
    /// # Errors
    /// A picture that is smaller than a square to be kept, or extremely narrow.
    pub fn apply(&self, image: Image) -> Result<Picture, StepError> {
        self.steps.iter().try_fold(Picture::Bytes(image), |picture, step| apply(step, picture))
    }
}

impl TryFrom<Vec<Step>> for Pipeline {
    type Error = StepError;

    fn try_from(steps: Vec<Step>) -> Result<Self, StepError> {
        Self::new(steps)
    }
}

impl From<Pipeline> for Vec<Step> {
    fn from(pipeline: Pipeline) -> Self {
        pipeline.steps
    }
}

/// What is known about pictures between two steps before there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flow {
    is_float: bool,
    /// Side of a square.
    size: Option<usize>,
}

impl Flow {
    fn after(self, step_idx: usize, step: &Step) -> Result<Self, StepError> {
        let bad = |what: String| Err(StepError::BadValue { step_idx, what });
        match *step {
            Step::CentreCrop { side: CropSide::Shortest, .. } => Ok(self),
            Step::CentreCrop { side: CropSide::Pixels(side), .. } => match self.size {
                _ if !(1..=MAX_SIDE).contains(&side) => bad(format!("a side of {side} pixels")),
                Some(size) if size < side => bad(format!("a square of {side} pixels out of one of {size}")),
                _ => Ok(Self { size: Some(side), ..self }),
            },
            Step::Resize { to, by } => {
                let (Target::Square(side) | Target::ShortestSide(side) | Target::LongestSide(side)) = to;
                if !(1..=MAX_SIDE).contains(&side) {
                    return bad(format!("a side of {side} pixels; 1 to {MAX_SIDE} are possible"));
                }
                let is_square = matches!(to, Target::Square(_)) || self.size.is_some();
                let is_float = match by {
                    Resampler::PilU8 { .. } | Resampler::PilF32 { .. } | Resampler::TorchBilinearU8
                        if self.is_float =>
                    {
                        let remedy = "put it before the first float step, or a `quantise` before it";
                        return self.wrong_kind(step_idx, "bytes", remedy);
                    }
                    Resampler::PilU8 { .. } | Resampler::TorchBilinearU8 => false,
                    Resampler::TorchBilinear { antialias: true, align_corners: true } => {
                        return bad("`antialias` with `align_corners`; torch offers either".to_owned());
                    }
                    _ => true,
                };
                Ok(Self { is_float, size: is_square.then_some(side) })
            }
            Step::PadToSquare { side } => match self.size {
                _ if !(1..=MAX_SIDE).contains(&side) => bad(format!("a side of {side} pixels")),
                Some(size) if size > side => {
                    bad(format!("a square of {side} pixels around one of {size}; resize before it is padded"))
                }
                _ => Ok(Self { size: Some(side), ..self }),
            },
            Step::Clip if !self.is_float => {
                self.wrong_kind(step_idx, "floats", "bytes are within their range, remove it")
            }
            Step::Clip => Ok(self),
            Step::Quantise { .. } if !self.is_float => {
                self.wrong_kind(step_idx, "floats", "these are bytes already, remove it")
            }
            Step::Quantise { .. } => Ok(Self { is_float: false, ..self }),
            Step::Standardise { subtract, divide } => {
                let usable = |values: [f32; 3]| values.iter().all(|value| value.is_finite());
                if !usable(subtract) || !usable(divide) || divide.contains(&0.0) {
                    return bad(format!("subtract {subtract:?}, divide {divide:?}"));
                }
                Ok(Self { is_float: true, ..self })
            }
            Step::Multiply { by } if !by.is_finite() || by == 0.0 => bad(format!("multiply by {by}")),
            Step::Multiply { .. } if !self.is_float => {
                self.wrong_kind(step_idx, "floats", "put a `standardise` before it")
            }
            Step::Multiply { .. } => Ok(self),
        }
    }

    fn wrong_kind(
        self,
        step_idx: usize,
        expected: &'static str,
        remedy: &'static str,
    ) -> Result<Self, StepError> {
        let found = if self.is_float { "floats" } else { "bytes" };
        Err(StepError::WrongKind { step_idx, expected, found, remedy })
    }
}

fn apply(step: &Step, picture: Picture) -> Result<Picture, StepError> {
    Ok(match (step, picture) {
        (Step::CentreCrop { side, offset }, picture) => crop(picture, *side, *offset)?,
        (Step::Resize { to, by }, picture) => {
            let (width, height) = target_size(*to, picture.size())?;
            resize(picture, width, height, *by)
        }
        (Step::PadToSquare { side }, picture) => pad(picture, *side)?,
        (Step::Clip, picture) => each(picture, |_, value| value.clamp(0.0, 255.0)),
        (Step::Quantise { rounding }, picture) => quantise(&picture.into_float(), *rounding),
        (Step::Standardise { subtract, divide }, picture) => {
            each(picture, |channel, value| (value - subtract[channel]) / divide[channel])
        }
        (Step::Multiply { by }, picture) => each(picture, |_, value| value * by),
    })
}

fn target_size(to: Target, (width, height): (usize, usize)) -> Result<(usize, usize), StepError> {
    match to {
        Target::Square(side) => Ok((side, side)),
        Target::ShortestSide(short) => {
            let long = short * width.max(height) / width.min(height);
            if long > MAX_SIDE {
                return Err(StepError::TooLong { width, height, to: long, limit: MAX_SIDE });
            }
            Ok(if width <= height { (short, long) } else { (long, short) })
        }
        Target::LongestSide(side) => {
            let scale = side as f64 / width.max(height) as f64;
            let [new_width, new_height] =
                [width, height].map(|old| (old as f64 * scale).round_ties_even() as usize);
            if new_width.min(new_height) == 0 {
                return Err(StepError::TooNarrow { width, height, side });
            }
            Ok((new_width, new_height))
        }
    }
}

fn resize(picture: Picture, width: usize, height: usize, by: Resampler) -> Picture {
    match (by, picture) {
        (Resampler::PilU8 { filter, passes }, Picture::Bytes(image)) => {
            Picture::Bytes(pil_u8::resize(&image, width, height, filter, passes))
        }
        (Resampler::PilF32 { filter, passes }, Picture::Bytes(image)) => {
            Picture::Floats(pil_f32::resize(&image, width, height, filter, passes))
        }
        (Resampler::TorchBilinearU8, Picture::Bytes(image)) => {
            Picture::Bytes(torch_u8::bilinear(&image, width, height))
        }
        (
            Resampler::PilU8 { .. } | Resampler::PilF32 { .. } | Resampler::TorchBilinearU8,
            Picture::Floats(_),
        ) => unreachable!("a pipeline gives bytes to these"),
        (Resampler::TorchBilinear { antialias: true, .. }, picture) => {
            Picture::Floats(torch::bilinear_antialias(&picture.into_float(), width, height))
        }
        (Resampler::TorchBilinear { align_corners, .. }, picture) => {
            Picture::Floats(torch::bilinear(&picture.into_float(), width, height, align_corners))
        }
        (Resampler::TorchBicubic { antialias }, picture) => {
            let resize = if antialias { torch_bicubic::antialiased } else { torch_bicubic::plain };
            Picture::Floats(resize(&picture.into_float(), width, height))
        }
        (Resampler::Tf1Bilinear, picture) => {
            Picture::Floats(tf1::bilinear(&picture.into_float(), width, height))
        }
    }
}

fn crop(picture: Picture, side: CropSide, offset: CropOffset) -> Result<Picture, StepError> {
    let (width, height) = picture.size();
    let side = match side {
        CropSide::Shortest => width.min(height),
        CropSide::Pixels(side) => side,
    };
    if side > width.min(height) {
        return Err(StepError::CropTooLarge { side, width, height });
    }
    let (left, top) = (begin(width - side, offset), begin(height - side, offset));
    Ok(match picture {
        Picture::Bytes(image) => {
            Picture::Bytes(Image::new(side, side, square(image.rgb(), width, left, top, side)))
        }
        Picture::Floats(image) => {
            Picture::Floats(FloatImage::new(side, side, square(image.values(), width, left, top, side)))
        }
    })
}

fn begin(rest: usize, offset: CropOffset) -> usize {
    let floor = rest / 2;
    match offset {
        CropOffset::Floor => floor,
        CropOffset::HalfEven => floor + (rest % 2) * (floor % 2),
    }
}

fn square<T: Copy>(samples: &[T], width: usize, left: usize, top: usize, side: usize) -> Vec<T> {
    let rows = samples.chunks_exact(width * N_CHANNELS).skip(top).take(side);
    rows.flat_map(|row| row[left * N_CHANNELS..(left + side) * N_CHANNELS].iter().copied()).collect()
}

fn pad(picture: Picture, side: usize) -> Result<Picture, StepError> {
    let (width, height) = picture.size();
    if width.max(height) > side {
        return Err(StepError::PadTooSmall { side, width, height });
    }
    let at = ((side - width) / 2, (side - height) / 2);
    Ok(match picture {
        Picture::Bytes(image) => {
            Picture::Bytes(Image::new(side, side, surrounded(image.rgb(), width, at, side)))
        }
        Picture::Floats(image) => {
            Picture::Floats(FloatImage::new(side, side, surrounded(image.values(), width, at, side)))
        }
    })
}

/// A square of zeros with the rows of `samples` in it from `left` and `top` on.
fn surrounded<T: Copy + Default>(
    samples: &[T],
    width: usize,
    (left, top): (usize, usize),
    side: usize,
) -> Vec<T> {
    let mut square = vec![T::default(); side * side * N_CHANNELS];
    for (y, row) in samples.chunks_exact(width * N_CHANNELS).enumerate() {
        let start = ((top + y) * side + left) * N_CHANNELS;
        square[start..start + row.len()].copy_from_slice(row);
    }
    square
}

fn each(picture: Picture, change: impl Fn(usize, f32) -> f32) -> Picture {
    let mut image = picture.into_float();
    for pixel in image.values_mut().chunks_exact_mut(N_CHANNELS) {
        for (channel, value) in pixel.iter_mut().enumerate() {
            *value = change(channel, *value);
        }
    }
    Picture::Floats(image)
}

fn quantise(image: &FloatImage, rounding: Rounding) -> Picture {
    // Casts to a byte cut off the fraction and saturate.
    let byte = |value: &f32| match rounding {
        Rounding::HalfEven => value.round_ties_even() as u8,
        Rounding::Truncate => *value as u8,
    };
    Picture::Bytes(Image::new(image.width(), image.height(), image.values().iter().map(byte).collect()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    fn numbered(width: usize, height: usize) -> Image {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x as u8, y as u8, 0]));
        Image::new(width, height, pixels.flatten().collect())
    }

    fn first_pixel(width: usize, height: usize, side: usize, offset: CropOffset) -> (u8, u8) {
        let crop = Step::CentreCrop { side: CropSide::Pixels(side), offset };
        let cropped = Pipeline::new(vec![crop]).unwrap().apply(numbered(width, height)).unwrap();
        let Picture::Bytes(image) = cropped else { panic!("a crop of bytes is bytes") };
        (image.rgb()[0], image.rgb()[1])
    }

    #[test]
    fn an_odd_rest_is_halved_as_each_library_halves_it() {
        // Python: round(0.5) = 0, round(1.5) = 2, round(2.5) = 2, round(3.5) = 4.
        for (rest, half_even, floor) in [(0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 2, 1), (5, 2, 2), (7, 4, 3)] {
            let side = 4;
            let sizes = (side + rest, side);
            assert_eq!(first_pixel(sizes.0, sizes.1, side, CropOffset::HalfEven), (half_even, 0), "{rest}");
            assert_eq!(first_pixel(sizes.1, sizes.0, side, CropOffset::Floor), (0, floor), "{rest}");
        }
    }

    #[test]
    fn the_longer_side_is_rounded_down() {
        let size = |width, height| target_size(Target::ShortestSide(224), (width, height));
        assert_eq!(size(640, 427), Ok((335, 224)));
        assert_eq!(size(427, 640), Ok((224, 335)));
        assert_eq!(size(30, 30), Ok((224, 224)));
        assert!(matches!(size(1, 30_000), Err(StepError::TooLong { to: 6_720_000, .. })));
    }

    #[test]
    fn the_shorter_side_is_rounded_to_the_nearest_even() {
        let size = |width, height| target_size(Target::LongestSide(224), (width, height));
        // Python: round(427 * (224 / 640.0)) = round(149.45), round(5 * (224 / 448.0)) = round(2.5).
        assert_eq!(size(640, 427), Ok((224, 149)));
        assert_eq!(size(5, 448), Ok((2, 224)));
        assert_eq!(size(7, 448), Ok((4, 224)));
        assert_eq!(size(30, 30), Ok((224, 224)));
        assert_eq!(size(1, 449), Err(StepError::TooNarrow { width: 1, height: 449, side: 224 }));
    }

    #[test]
    fn a_padded_picture_is_in_the_middle_and_odd_rests_are_right_and_below() {
        let steps = |text: &str| serde_json::from_str::<Pipeline>(text).map_err(|error| error.to_string());
        let pad = steps(r#"[{"step":"pad-to-square","side":4}]"#).unwrap();
        assert_eq!(pad.output_size(), Some((4, 4)));
        let Ok(Picture::Bytes(image)) = pad.apply(Image::new(3, 1, vec![9; 9])) else { panic!("bytes") };
        let is_set: Vec<bool> = image.rgb().chunks_exact(3).map(|pixel| pixel == [9; 3]).collect();
        let found: Vec<usize> = (0..16).filter(|&at| is_set[at]).collect();
        assert_eq!(found, [4, 5, 6]);
        let large = pad.apply(numbered(5, 2)).unwrap_err();
        assert_eq!(large, StepError::PadTooSmall { side: 4, width: 5, height: 2 });
        let by = r#""by":{"engine":"torch-bicubic","antialias":true}"#;
        let resized = format!(r#"{{"step":"resize","to":{{"square":9}},{by}}}"#);
        let refused = steps(&format!(r#"[{resized},{{"step":"pad-to-square","side":8}}]"#)).unwrap_err();
        assert!(refused.contains("a square of 8 pixels around one of 9"), "{refused}");
        let longest = format!(r#"{{"step":"resize","to":{{"longest-side":9}},{by}}}"#);
        assert_eq!(steps(&format!("[{longest}]")).unwrap().output_size(), None);
    }

    #[test]
    fn steps_that_do_not_fit_are_refused_before_any_picture() {
        let refused = |text: &str| {
            let table: Result<Wrapper, _> = toml::from_str(&format!("steps = [{text}]"));
            table.unwrap_err().to_string()
        };
        let floats = "{ step = \"standardise\", subtract = [0, 0, 0], divide = [255, 255, 255] }";
        let pil =
            "{ step = \"resize\", to = { square = 9 }, by = { engine = \"pil-u8\", filter = \"box\" } }";
        assert!(refused(&format!("{floats}, {pil}")).contains("step 1 takes bytes"));
        assert!(refused("{ step = \"clip\" }").contains("step 0 takes floats"));
        assert!(refused("{ step = \"quantise\", rounding = \"truncate\" }").contains("takes floats"));
        assert!(refused(&pil.replace('9', "0")).contains("a side of 0 pixels"));
        assert!(refused("{ step = \"multiply\", by = 2 }").contains("step 0 takes floats"));
        assert!(refused(&format!("{floats}, {{ step = \"multiply\", by = 0 }}")).contains("multiply by 0"));
        assert!(refused(&floats.replace("[255, 255", "[0, 255")).contains("divide"));
        assert!(refused(&pil.replace("step =", "more = 1, step =")).contains("more"));
        let both = "{ engine = \"torch-bilinear\", antialias = true, align_corners = true }";
        assert!(
            refused(&format!("{{ step = \"resize\", to = {{ square = 9 }}, by = {both} }}"))
                .contains("torch offers either")
        );
        let large = "{ step = \"centre-crop\", side = { pixels = 10 }, offset = \"floor\" }";
        assert!(refused(&format!("{pil}, {large}")).contains("a square of 10 pixels out of one of 9"));
    }

    #[test]
    fn the_order_of_passes_is_written_only_where_it_is_not_that_of_pillow_12() {
        let text = |passes: &str| {
            format!(
                r#"[{{"step":"resize","to":{{"square":9}},"by":{{"engine":"pil-u8","filter":"box"{passes}}}}}]"#
            )
        };
        let read = |text: &str| serde_json::from_str::<Pipeline>(text).unwrap();
        let (plain, new) = (text(""), text(r#","passes":"pillow-13""#));
        assert_eq!(serde_json::to_string(&read(&text(r#","passes":"pillow-12""#))).unwrap(), plain);
        assert_eq!(serde_json::to_string(&read(&new)).unwrap(), new);
        assert_eq!(read(&plain).with_pass_order(PassOrder::Pillow13), read(&new));
        let orders = |text: &str| read(text).pass_orders().collect::<Vec<_>>();
        assert_eq!([orders(&plain), orders(&new)], [[PassOrder::Pillow12], [PassOrder::Pillow13]]);
        assert!(serde_json::from_str::<Pipeline>(&text(r#","passes":"pillow-14""#)).is_err());
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Wrapper {
        #[serde(rename = "steps")]
        _steps: Pipeline,
    }

    #[test]
    fn a_picture_smaller_than_the_square_is_an_error() {
        let crop = Step::CentreCrop { side: CropSide::Pixels(5), offset: CropOffset::Floor };
        let error = Pipeline::new(vec![crop]).unwrap().apply(numbered(9, 4)).unwrap_err();
        assert_eq!(error, StepError::CropTooLarge { side: 5, width: 9, height: 4 });
    }

    #[test]
    fn fractions_go_as_each_rounding_says() {
        let image = FloatImage::new(2, 1, vec![0.5, 1.5, 254.5, -3.0, 300.0, 7.9]);
        let bytes = |rounding| match quantise(&image, rounding) {
            Picture::Bytes(image) => image.into_rgb(),
            Picture::Floats(_) => panic!("bytes were asked for"),
        };
        assert_eq!(bytes(Rounding::HalfEven), [0, 2, 254, 0, 255, 8]);
        assert_eq!(bytes(Rounding::Truncate), [0, 1, 254, 0, 255, 7]);
    }
}
