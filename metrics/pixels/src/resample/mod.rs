//! Resizing, each function with the arithmetic of one library, because their pictures differ by more than the
//! methods under test do.
//!
//! [`pil_u8`] and [`pil_f32`] follow Pillow (8-bit fixed point, and its float mode `F`), [`torch`] and
//! [`torch_bicubic`] follow `torch.nn.functional.interpolate` of floats and [`torch_u8`] that of bytes, [`tf1`] the first TensorFlow. All take the picture as a whole.

pub mod pil_f32;
pub mod pil_u8;
pub mod tf1;
pub mod torch;
pub mod torch_bicubic;
pub mod torch_u8;

mod coefficients;
mod filter;
mod fixed_point;
mod pass_order;
mod taps;

pub use filter::Filter;
pub use pass_order::PassOrder;
