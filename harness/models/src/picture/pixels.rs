//! From a decoder's output to bytes, each way as the code that a number is compared with does it.

use specimen_decode::dist::TokenId;
use tch::{Device, Kind, Tensor};

use crate::seam::loaded_model::{Painter, Picture};

/// How values in `[-1, 1]` become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Clamped, mapped to `[0, 255]`, 0.5 added and cut: torchvision's `save_image`, which LANTERN and CASCADE use.
    Nearest,
    /// Mapped to `[0, 255]`, rounded with halves to even, and clamped: the embedded model.
    HalfToEven,
    /// Mapped to `[0, 255]`, clamped and cut: Janus and Chameleon.
    Cut,
}

/// The picture of a decoder's output. `x`: `[3, height, width]`, f32.
///
/// # Panics
/// If `x` has not three axes.
pub fn picture(x: &Tensor, rounding: Rounding) -> Picture {
    let (_, height, width) = x.size3().expect("a picture has channels, rows and columns");
    let levels = match rounding {
        Rounding::Nearest => (x.clamp(-1.0, 1.0) + 1.0) / 2.0 * 255.0 + 0.5,
        Rounding::HalfToEven => ((x + 1.0) * 127.5).round(),
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

/// A painter of images of `grid` tokens (rows, columns). `decode`: codes `[1, rows, columns]` on `device`, i64, to
/// `[1, 3, height, width]`.
pub(crate) fn painter(
    grid: [i64; 2],
    rounding: Rounding,
    device: Device,
    decode: impl Fn(&Tensor) -> Tensor + 'static,
) -> Painter {
    Box::new(move |tokens: &[TokenId]| {
        let ids: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
        let ids = Tensor::from_slice(&ids).view([1, grid[0], grid[1]]).to_device(device);
        picture(&decode(&ids).get(0), rounding)
    })
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
        assert_eq!(red(Rounding::HalfToEven), [0, 128, 255]);
        assert_eq!(red(Rounding::Cut), [0, 127, 254]);
    }
}
