//! Arrays and statistics in the files of NumPy and of the tools that share them.

pub mod npy;
pub mod npy_rows;
pub mod npy_write;
pub mod npz;
pub mod statistics_file;
