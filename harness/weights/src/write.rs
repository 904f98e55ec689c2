//! Tensors to a safetensors file, whole or not at all.

use std::{collections::BTreeMap, path::Path};

use safetensors::{Dtype, tensor::TensorView};
use tch::{Device, Kind, Tensor};

use specimen_foundation::whole_file::write_whole;

/// Writes `tensors` to `path` under their names, sorted.
///
/// Kinds f32, bf16, f16, i64 and u8 keep their kind.
pub fn write_safetensors(path: &Path, tensors: &BTreeMap<String, Tensor>) -> std::io::Result<()> {
    let invalid = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidInput, what);
    let mut buffers = Vec::new();
    for (name, tensor) in tensors {
        let dtype = match tensor.kind() {
            Kind::Float => Dtype::F32,
            Kind::BFloat16 => Dtype::BF16,
            Kind::Half => Dtype::F16,
            Kind::Int64 => Dtype::I64,
            Kind::Uint8 => Dtype::U8,
            Kind::Bool => Dtype::BOOL,
            other => return Err(invalid(format!("tensor `{name}` has kind {other:?}, which is not stored"))),
        };
        // A number without axes becomes a list of one, which alone can be seen as bytes.
        let flat = tensor.detach().to_device(Device::Cpu).contiguous().view([-1]);
        let n_bytes = flat.numel() * flat.kind().elt_size_in_bytes();
        let mut bytes = vec![0_u8; n_bytes];
        flat.view_dtype(Kind::Uint8).copy_data_u8(&mut bytes, n_bytes);
        let shape: Vec<usize> = tensor.size().iter().map(|&n| n as usize).collect();
        buffers.push((name.clone(), dtype, shape, bytes));
    }
    let views = buffers
        .iter()
        .map(|(name, dtype, shape, bytes)| {
            TensorView::new(*dtype, shape.clone(), bytes).map(|view| (name.as_str(), view))
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| invalid(e.to_string()))?;
    let whole = safetensors::serialize(views, None).map_err(|e| invalid(e.to_string()))?;
    write_whole(path, &whole)
}
