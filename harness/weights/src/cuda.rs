//! GPUs through a program that runs without them: nothing links libtorch's CUDA part, it is opened when a
//! CUDA device is first asked for, beside the libtorch that this process has loaded or by its name.
//!
//! libtorch looks once for who registered itself for CUDA, so the part has to be open before tensors are made.
//! Opening it takes seconds and hundreds of megabytes, which a process that only uses the CPU does not pay.
//!
//! Convolutions in f32 compute in f32. libtorch's own choice on a GPU is TF32, which keeps 10 of the 23 bits of a factor's
//! fraction: pictures and the features of metrics would differ from those of a CPU in the third digit. Attention is by cuDNN only
//! where numbers of keys repeat: it makes a plan of 35 ms for each, and an image has thousands of them.

use std::{
    ffi::{OsStr, c_void},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use tch::{Cuda, Device};

use specimen_foundation::failure::{Failure, FailureKind};

use crate::libtorch;

/// What the linker would look for.
const SONAME: &str = "libtorch_cuda.so";

/// Why there is no such GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// No name of a device.
    #[error("device `{found}` is unknown; expected cpu, cuda or cuda:N")]
    Unknown {
        /// What was given.
        found: String,
    },
    /// This libtorch has no CUDA part.
    #[error(
        "this libtorch has no CUDA part: there is no {looked}; `make libtorch CUDA=1` brings it, without another \
         build, or use device = \"cpu\""
    )]
    Absent {
        /// Where it was looked for.
        looked: String,
    },
    /// The part is there, and the loader refuses it.
    #[error(
        "{path} is there and cannot be opened: {reason}; fill the folder again with `make libtorch CUDA=1`, or \
         use device = \"cpu\""
    )]
    Refused {
        /// The library: a path, or its name alone where the loader found it.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The part is open and libtorch does not use it.
    #[error(
        "{path} is open and libtorch does not use it: it belongs to another libtorch, or tensors were made before; \
         fill the folder again with `make libtorch CUDA=1`"
    )]
    Unused {
        /// Path of the library.
        path: PathBuf,
    },
    /// This libtorch lacks a switch.
    #[error(
        "this libtorch lacks a setting for GPUs: {reason}; use libtorch 2.11 to 2.13 (`make libtorch CUDA=1`)"
    )]
    Switches {
        /// What the loader said.
        reason: String,
    },
    /// There are not so many GPUs.
    #[error(
        "libtorch sees {n_devices} CUDA devices, so there is no cuda:{index}; see what `nvidia-smi` lists, and the \
         environment variable CUDA_VISIBLE_DEVICES"
    )]
    NoDevice {
        /// The one that was asked for.
        index: usize,
        /// How many there are.
        n_devices: i64,
    },
}

impl Failure for CudaError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Unknown { .. } => FailureKind::Usage,
            Self::Absent { .. }
            | Self::Refused { .. }
            | Self::Unused { .. }
            | Self::Switches { .. }
            | Self::NoDevice { .. } => FailureKind::Environment,
        })
    }
}

/// The device that `cpu`, `cuda` or `cuda:N` names.
pub fn named(name: &str) -> Result<Device, CudaError> {
    let index = match name {
        "cpu" => return Ok(Device::Cpu),
        "cuda" => Some(0),
        other => other.strip_prefix("cuda:").and_then(|n| n.parse::<usize>().ok()),
    };
    device(index.ok_or_else(|| CudaError::Unknown { found: name.to_owned() })?)
}

/// The GPU of this index; opens libtorch's CUDA part if that was not done yet.
pub fn device(index: usize) -> Result<Device, CudaError> {
    open()?;
    let n_devices = n_devices();
    if i64::try_from(index).is_ok_and(|index| index < n_devices) {
        return Ok(Device::Cuda(index));
    }
    Err(CudaError::NoDevice { index, n_devices })
}

/// How many GPUs libtorch sees; none before [`open`].
pub fn n_devices() -> i64 {
    Cuda::device_count()
}

/// Opens libtorch's CUDA part, once; returns where it lies. To be called before the first tensor of a process that
/// may use a GPU.
pub fn open() -> Result<PathBuf, CudaError> {
    static OPENED: OnceLock<Result<PathBuf, CudaError>> = OnceLock::new();
    let opened = OPENED.get_or_init(|| {
        let folder = libtorch::loaded().map(|loaded| loaded.folder.join("lib"));
        let path = open_part(folder.as_deref(), SONAME)?;
        // The part says so itself, GPU or none.
        if !tch::utils::has_cudart() {
            return Err(CudaError::Unused { path });
        }
        switches().map_err(|reason| CudaError::Switches { reason })?;
        choose(Switch::Tf32, false);
        choose(Switch::CudnnAttention, false);
        Ok(path)
    });
    opened.clone()
}

/// Opens the library `soname` for the rest of the process: the file in `folder`, or else the one that the loader finds
/// by its name (the binary's run path, `LD_LIBRARY_PATH`, the system). The two can be one file by two paths, of which
/// the second has what it needs beside it: a folder of links to a package's libraries.
fn open_part(folder: Option<&Path>, soname: &str) -> Result<PathBuf, CudaError> {
    let beside = folder.map(|folder| folder.join(soname));
    let mut refused = None;
    if let Some(path) = beside.clone().filter(|path| path.exists()) {
        match open_library(path.as_os_str()) {
            Ok(()) => return Ok(path),
            Err(reason) => refused = Some(CudaError::Refused { path, reason }),
        }
    }
    open_library(soname.as_ref()).map(|()| PathBuf::from(soname)).map_err(|reason| {
        if let Some(refused) = refused {
            return refused;
        }
        // The loader names the file that it does not find: this one, or one that this one needs.
        if reason.starts_with(soname) && reason.contains("No such file") {
            let looked = beside.iter().map(|path| path.display().to_string());
            let looked: Vec<String> = looked.chain([format!("`{soname}` that the loader finds")]).collect();
            CudaError::Absent { looked: looked.join(" and no ") }
        } else {
            CudaError::Refused { path: soname.into(), reason }
        }
    })
}

/// Opens a library whose symbols all later ones see, and never closes it.
fn open_library(name: &OsStr) -> Result<(), String> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    #[expect(
        unsafe_code,
        reason = "opening a library runs its constructors; this one is part of the libtorch that runs already"
    )]
    let opened = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) };
    match opened {
        Ok(library) => {
            // What libtorch registered from it is used until the process ends.
            std::mem::forget(library);
            Ok(())
        }
        Err(error) => Err(reason_of(&error)),
    }
}

/// Attention by cuDNN, until this is dropped: for queries of which each is alone, and numbers of keys that repeat.
#[must_use = "attention is by cuDNN only while this is kept"]
pub struct CudnnAttention(());

impl CudnnAttention {
    /// Allows it.
    pub fn allowed() -> Self {
        choose(Switch::CudnnAttention, true);
        Self(())
    }
}

impl Drop for CudnnAttention {
    fn drop(&mut self) {
        choose(Switch::CudnnAttention, false);
    }
}

/// Switches of libtorch that only its C++ offers.
#[derive(Clone, Copy)]
enum Switch {
    /// Convolutions in f32 by TF32.
    Tf32,
    /// Attention by cuDNN, where it can.
    CudnnAttention,
}

impl Switch {
    /// The member function of `at::Context`, which takes a bool.
    fn symbol(self) -> &'static [u8] {
        match self {
            Self::Tf32 => b"_ZN2at7Context17setAllowTF32CuDNNEb",
            Self::CudnnAttention => b"_ZN2at7Context14setSDPUseCuDNNEb",
        }
    }
}

/// The functions that set the switches.
#[derive(Clone, Copy)]
struct Switches {
    context: unsafe extern "C" fn() -> *mut c_void,
    tf32: Set,
    cudnn_attention: Set,
}

type Set = unsafe extern "C" fn(*mut c_void, bool);

fn switches() -> Result<Switches, String> {
    static SWITCHES: OnceLock<Result<Switches, String>> = OnceLock::new();
    let found = SWITCHES.get_or_init(|| {
        let program = libloading::os::unix::Library::this();
        #[expect(unsafe_code, reason = "the functions have these types in the headers of 2.11 to 2.13")]
        unsafe {
            let set = |switch: Switch| {
                program.get::<Set>(switch.symbol()).map(|set| *set).map_err(|error| reason_of(&error))
            };
            let context = program.get(b"_ZN2at13globalContextEv").map_err(|error| reason_of(&error))?;
            Ok(Switches {
                context: *context,
                tf32: set(Switch::Tf32)?,
                cudnn_attention: set(Switch::CudnnAttention)?,
            })
        }
    });
    found.clone()
}

/// Sets a switch; nothing where there is none, which [`open`] refuses.
fn choose(switch: Switch, is_on: bool) {
    let Ok(Switches { context, tf32, cudnn_attention }) = switches() else { return };
    let set = match switch {
        Switch::Tf32 => tf32,
        Switch::CudnnAttention => cudnn_attention,
    };
    #[expect(unsafe_code, reason = "the functions take the one context that there is, and do not throw")]
    unsafe {
        set(context(), is_on);
    }
}

/// What the loader said, without the name of the call.
pub(crate) fn reason_of(error: &libloading::Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::{fs, process::Command};

    use super::*;

    /// No library of this machine.
    const PART: &str = "libspecimen_part.so";

    /// A shared library without content in `folder`.
    fn compile(folder: &Path, name: &str, needs: &[&str]) -> PathBuf {
        let path = folder.join(name);
        let source = folder.join("empty.c");
        fs::write(&source, "int specimen_part = 1;\n").unwrap();
        // The compiler that links this very test.
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"])
            .arg(&path)
            .arg(source)
            .arg("-L")
            .arg(folder);
        let out = cc.args(needs).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        path
    }

    fn is_mapped(path: &Path) -> bool {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().any(|line| line.ends_with(path.to_str().unwrap()))
    }

    /// What libtorch says by a member function of `at::Context`.
    fn says(symbol: &[u8]) -> bool {
        // The one argument of some, an absent `std::optional<Float32Op>`, is eight zero bytes.
        type Getter = unsafe extern "C" fn(*mut c_void, u64) -> bool;
        #[expect(
            unsafe_code,
            reason = "the functions have these types in the headers, and do not throw here"
        )]
        unsafe {
            let getter = *libloading::os::unix::Library::this().get::<Getter>(symbol).unwrap();
            getter((switches().unwrap().context)(), 0)
        }
    }

    /// On a GPU libtorch would choose TF32, and attention by cuDNN wherever it can.
    #[test]
    fn convolutions_in_f32_compute_in_f32_and_attention_is_by_cudnn_only_where_it_is_allowed() {
        let tf32 = || says(b"_ZNK2at7Context14allowTF32CuDNNESt8optionalINS_9Float32OpEE");
        let cudnn_attention = || says(b"_ZNK2at7Context19userEnabledCuDNNSDPEv");
        // The symbols are those of a libtorch that is loaded. Where there is a GPU, no other test turns them off later.
        drop(tch::Tensor::from(0.0_f32));
        let _ = open();
        choose(Switch::Tf32, true);
        choose(Switch::CudnnAttention, true);
        assert!(tf32() && cudnn_attention());
        choose(Switch::Tf32, false);
        choose(Switch::CudnnAttention, false);
        assert!(!tf32() && !cudnn_attention());
        let allowed = CudnnAttention::allowed();
        assert!(cudnn_attention());
        drop(allowed);
        assert!(!cudnn_attention());
    }

    #[test]
    fn the_part_beside_libtorch_is_opened_and_stays_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = compile(&folder.path().canonicalize().unwrap(), PART, &[]);
        assert!(!is_mapped(&path));
        assert_eq!(open_part(path.parent(), PART).unwrap(), path);
        assert!(is_mapped(&path));
    }

    #[test]
    fn a_part_that_the_loader_refuses_is_named_with_what_the_loader_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PART);
        fs::write(&path, "a page that says 404\n").unwrap();
        let error = open_part(Some(folder.path()), PART).unwrap_err();
        assert!(matches!(&error, CudaError::Refused { path: named, .. } if *named == path), "{error:?}");
        let text = error.to_string();
        for part in [path.to_str().unwrap(), "cannot be opened", "make libtorch CUDA=1", "device = \"cpu\""] {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.contains("invalid ELF header") || text.contains("file too short"), "{text}");
    }

    #[test]
    fn what_a_part_needs_and_lacks_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let lacking = compile(&folder, "libspecimen_absent.so.13", &[]);
        let path = compile(&folder, PART, &["-l:libspecimen_absent.so.13"]);
        fs::remove_file(lacking).unwrap();
        let error = open_part(Some(&folder), PART).unwrap_err();
        assert!(error.to_string().contains("libspecimen_absent.so.13"), "{error}");
        assert!(matches!(&error, CudaError::Refused { path: named, .. } if *named == path), "{error:?}");
    }

    #[test]
    fn a_libtorch_without_the_part_says_where_it_was_looked_for_and_what_brings_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = open_part(Some(folder.path()), PART).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, CudaError::Absent { .. }), "{error:?}");
        assert_eq!(error.kind(), Some(FailureKind::Environment));
        let looked = folder.path().join(PART);
        for part in [looked.to_str().unwrap(), "that the loader finds", "make libtorch CUDA=1"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn without_a_file_beside_libtorch_the_loader_looks_for_the_name() {
        assert_eq!(open_part(None, "libc.so.6").unwrap(), Path::new("libc.so.6"));
    }

    #[test]
    fn this_libtorch_has_a_gpu_or_says_why_not() {
        match device(usize::MAX) {
            Ok(device) => panic!("there are not so many GPUs: {device:?}"),
            Err(CudaError::NoDevice { index, .. }) => assert_eq!(index, usize::MAX),
            Err(error) => assert_eq!(open().unwrap_err(), error),
        }
    }
}
