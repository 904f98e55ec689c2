//! From a decoder's output to bytes, each way as the code that a number is compared with does it.

use tch::{Device, Kind, Tensor};

use crate::target::Picture;

/// How values in `[-1, 1]` become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Clamped, mapped to `[0, 255]`, 0.5 added and cut: torchvision's `save_image`, which LANTERN and CASCADE use.
    Nearest,
    /// `127.5 x + 128`, clamped and cut: LlamaGen's sampling scripts.
    Centred,
    /// Mapped to `[0, 255]`, clamped and cut: Janus and Chameleon.
    Cut,
}

/// The picture of a decoder's output. `x`: `[3, height, width]`, f32.
///
/// # Panics
/// If `x` has not three axes.
#[must_use]
pub fn picture(x: &Tensor, rounding: Rounding) -> Picture {
    let (_, height, width) = x.size3().expect("a picture has channels, rows and columns");
    let levels = match rounding {
        Rounding::Nearest => (x.clamp(-1.0, 1.0) + 1.0) / 2.0 * 255.0 + 0.5,
        Rounding::Centred => x * 127.5 + 128.0,
        Rounding::Cut => (x + 1.0) / 2.0 * 255.0,
    };
    let bytes =
        levels.clamp(0.0, 255.0).permute([1, 2, 0]).to_kind(Kind::Uint8).contiguous().to_device(Device::Cpu);
    let mut rgb = vec![0_u8; bytes.numel()];
    let n = rgb.len();
    bytes.copy_data(&mut rgb, n);
    let side = |n: i64| u32::try_from(n).expect("a picture's side is small");
    Picture { width: side(width), height: side(height), rgb }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rounding_cuts_where_its_source_does() {
        // One row of three pixels, all channels alike.
        let x = Tensor::from_slice(&[-1.2_f32, 0.0, 0.9999]).view([1, 1, 3]).expand([3, 1, 3], false);
        let red = |rounding| picture(&x, rounding).rgb.into_iter().step_by(3).collect::<Vec<u8>>();
        assert_eq!(red(Rounding::Nearest), [0, 128, 255]);
        assert_eq!(red(Rounding::Centred), [0, 128, 255]);
        assert_eq!(red(Rounding::Cut), [0, 127, 254]);
    }
}
