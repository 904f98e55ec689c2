//! The element types of tensors, under the three names they go by: PyTorch's storages, PyTorch's dtypes, safetensors.

use std::fmt;

/// An element type that safetensors can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned, 1 byte.
    U8,
    /// Signed, 1 byte.
    I8,
    /// 8-bit float with 4 bits of exponent.
    F8E4M3,
    /// 8-bit float with 5 bits of exponent.
    F8E5M2,
    /// Unsigned, 2 bytes.
    U16,
    /// Signed, 2 bytes.
    I16,
    /// IEEE half.
    F16,
    /// The upper half of an f32.
    Bf16,
    /// Unsigned, 4 bytes.
    U32,
    /// Signed, 4 bytes.
    I32,
    /// IEEE single.
    F32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 8 bytes.
    I64,
    /// IEEE double.
    F64,
    /// Two f32: real and imaginary part.
    C64,
}

/// Element, name of PyTorch's typed storage (empty: it has none), name of its dtype, name in safetensors, bytes.
const NAMES: [(Element, &str, &str, &str, u64); 16] = [
    (Element::Bool, "BoolStorage", "bool", "BOOL", 1),
    (Element::U8, "ByteStorage", "uint8", "U8", 1),
    (Element::I8, "CharStorage", "int8", "I8", 1),
    (Element::F8E4M3, "", "float8_e4m3fn", "F8_E4M3", 1),
    (Element::F8E5M2, "", "float8_e5m2", "F8_E5M2", 1),
    (Element::U16, "", "uint16", "U16", 2),
    (Element::I16, "ShortStorage", "int16", "I16", 2),
    (Element::F16, "HalfStorage", "float16", "F16", 2),
    (Element::Bf16, "BFloat16Storage", "bfloat16", "BF16", 2),
    (Element::U32, "", "uint32", "U32", 4),
    (Element::I32, "IntStorage", "int32", "I32", 4),
    (Element::F32, "FloatStorage", "float32", "F32", 4),
    (Element::U64, "", "uint64", "U64", 8),
    (Element::I64, "LongStorage", "int64", "I64", 8),
    (Element::F64, "DoubleStorage", "float64", "F64", 8),
    (Element::C64, "ComplexFloatStorage", "complex64", "C64", 8),
];

impl Element {
    /// Bytes of one element.
    pub fn n_bytes(self) -> u64 {
        self.names().4
    }

    /// Its name in a safetensors header.
    pub fn name(self) -> &'static str {
        self.names().3
    }

    /// The element of PyTorch's typed storage of this name, `FloatStorage` for one.
    pub fn of_storage(name: &str) -> Option<Self> {
        NAMES.iter().find(|names| !name.is_empty() && names.1 == name).map(|names| names.0)
    }

    /// The element of PyTorch's dtype of this name, `bfloat16` for one.
    pub fn of_dtype(name: &str) -> Option<Self> {
        NAMES.iter().find(|names| names.2 == name).map(|names| names.0)
    }

    /// The element of this name in a safetensors header.
    pub fn of_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|names| names.3 == name).map(|names| names.0)
    }

    /// Whether it can be cast to another float.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    fn names(self) -> &'static (Self, &'static str, &'static str, &'static str, u64) {
        NAMES.iter().find(|names| names.0 == self).expect("every element is in the table")
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
