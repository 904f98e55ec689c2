//! The globals that a pickle may name. Each stands for a value that is built here; none is looked up or called.

use std::fmt;

use crate::convert::Element;

use super::Wrong;

/// What a known global stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global<'a> {
    /// A dictionary: `collections.OrderedDict`, `defaultdict`, `dict`.
    Dict,
    /// A list or a set.
    List,
    /// `torch.Size`.
    Size,
    /// `torch._utils._rebuild_tensor`: storage, offset, size, strides.
    Tensor,
    /// `_rebuild_tensor_v2`: the same, with what autograd wants.
    TensorV2,
    /// `_rebuild_tensor_v3`: the same over bytes, with the dtype.
    TensorV3,
    /// `_rebuild_parameter`: a tensor first.
    Parameter,
    /// `torch._tensor._rebuild_from_type_v2`: a global, a class, its arguments, a state.
    FromType,
    /// `torch.Tensor` or `Parameter`, as the class in [`Self::FromType`].
    TensorClass,
    /// A typed storage.
    Storage(Element),
    /// A storage of bytes.
    Bytes,
    /// A dtype such as `torch.float32`.
    Dtype(Element),
    /// A class of a TorchScript archive.
    ScriptClass(&'a str),
    /// `torch.jit._pickle.build_intlist` and its like: a list in a tuple.
    ScriptList,
    /// `torch.jit._pickle.restore_type_tag`: a value and its type.
    ScriptTag,
    /// `numpy.core.multiarray._reconstruct`: an array, which is no tensor.
    Array,
    /// A class whose objects hold settings, not tensors.
    Inert,
}

impl fmt::Display for Global<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ScriptClass(class) => f.write_str(class),
            Self::Storage(element) => write!(f, "storage of {element}"),
            Self::Dtype(element) => write!(f, "dtype {element}"),
            other => write!(f, "{other:?}"),
        }
    }
}

/// Globals with one meaning.
const KNOWN: [(&str, Global<'static>); 26] = [
    ("collections.OrderedDict", Global::Dict),
    ("collections.defaultdict", Global::Dict),
    ("__builtin__.dict", Global::Dict),
    ("builtins.dict", Global::Dict),
    ("__builtin__.list", Global::List),
    ("builtins.list", Global::List),
    ("__builtin__.set", Global::List),
    ("builtins.set", Global::List),
    ("torch.Size", Global::Size),
    ("torch._utils._rebuild_tensor", Global::Tensor),
    ("torch._utils._rebuild_tensor_v2", Global::TensorV2),
    ("torch._utils._rebuild_tensor_v3", Global::TensorV3),
    ("torch._utils._rebuild_parameter", Global::Parameter),
    ("torch._utils._rebuild_parameter_with_state", Global::Parameter),
    ("torch._tensor._rebuild_from_type_v2", Global::FromType),
    ("torch.Tensor", Global::TensorClass),
    ("torch.nn.parameter.Parameter", Global::TensorClass),
    ("torch.storage.UntypedStorage", Global::Bytes),
    ("torch.UntypedStorage", Global::Bytes),
    ("torch.jit._pickle.build_intlist", Global::ScriptList),
    ("torch.jit._pickle.build_tensorlist", Global::ScriptList),
    ("torch.jit._pickle.build_doublelist", Global::ScriptList),
    ("torch.jit._pickle.build_boollist", Global::ScriptList),
    ("torch.jit._pickle.restore_type_tag", Global::ScriptTag),
    ("numpy.core.multiarray._reconstruct", Global::Array),
    ("numpy._core.multiarray._reconstruct", Global::Array),
];

/// Types of plain values, and classes of settings in published checkpoints. Their objects become nothing at all.
const INERT: [&str; 28] = [
    "_codecs.encode",
    "numpy.dtype",
    "numpy.ndarray",
    "__builtin__.object",
    "builtins.object",
    "copy_reg._reconstructor",
    "copyreg._reconstructor",
    "__builtin__.bool",
    "__builtin__.float",
    "__builtin__.int",
    "__builtin__.str",
    "builtins.bool",
    "builtins.float",
    "builtins.int",
    "builtins.str",
    "__builtin__.long",
    "__builtin__.unicode",
    "argparse.Namespace",
    "pathlib.Path",
    "pathlib.PosixPath",
    "pathlib.PurePosixPath",
    "torch.device",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
    "pytorch_lightning.callbacks.model_checkpoint.ModelCheckpoint",
    "pytorch_lightning.callbacks.early_stopping.EarlyStopping",
    "pytorch_lightning.utilities.parsing.AttributeDict",
    "lightning_fabric.utilities.data.AttributeDict",
];

/// What `module.name` stands for. `has_script` says whether classes of TorchScript belong into this file; `inert` are
/// further classes of settings, which the caller vouches for.
pub(super) fn resolve<'a>(
    module: &'a str,
    name: &'a str,
    has_script: bool,
    inert: &[String],
) -> Result<Global<'a>, Wrong> {
    let full = format!("{module}.{name}");
    if let Some((_, known)) = KNOWN.iter().find(|(known, _)| *known == full) {
        return Ok(*known);
    }
    let element = match module {
        "torch" | "torch.cuda" => Element::of_storage(name),
        _ => None,
    };
    if let Some(element) = element {
        return Ok(Global::Storage(element));
    }
    if let Some(element) = (module == "torch").then(|| Element::of_dtype(name)).flatten() {
        return Ok(Global::Dtype(element));
    }
    if has_script && (module == "__torch__" || module.starts_with("__torch__.")) {
        return Ok(Global::ScriptClass(name));
    }
    if INERT.contains(&full.as_str()) || inert.contains(&full) {
        return Ok(Global::Inert);
    }
    Err(Wrong::new("tensors and plain containers", format!("the global `{}`", full.escape_debug())).with(
        "nothing that a pickle names is ever run, so it is refused; if the file can be trusted, save its tensors alone, or \
         name the class with --inert to leave its objects out",
    ))
}
