//! Numbers from two pictures of one size, byte by byte.

pub mod psnr;
pub mod ssim;
