//! Kernels that are compiled for the GPU at hand while the program runs: by NVRTC, which every CUDA build of libtorch brings.
//! They run on libtorch's own streams, and so are captured with its kernels.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    ptr::{null, null_mut},
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tch::{Device, Tensor};

use crate::{
    cuda,
    cuda_graph::{self, Current},
    libtorch,
};

/// libtorch's own opener of NVRTC and of the driver; both are among what it needs.
const SONAME: &str = "libcaffe2_nvrtc.so";
/// Of a GPU: the two numbers of its architecture.
const COMPUTE_CAPABILITY: [c_int; 2] = [75, 76];

/// A kernel that is ready to run on one GPU.
pub struct Kernel {
    device: Device,
    /// The driver's handle, an address.
    function: usize,
    launch: Launch,
    text: ErrorText,
}

/// What a kernel gets.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// Memory of the GPU, or null.
    Pointer(*mut c_void),
    /// An `int`.
    Int(i32),
    /// A `long long`.
    Long(i64),
    /// A `float`.
    Float(f32),
}

/// How a kernel is spread over the GPU.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Blocks.
    pub blocks: [u32; 3],
    /// Threads of a block.
    pub n_threads: u32,
    /// Bytes that the threads of a block share.
    pub n_shared_bytes: u32,
}

type Launch = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;
type ErrorText = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
type OfProgram = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type TextOfProgram = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;

/// Compiles `source` for the GPU `device`, and takes the kernels `names` of it. `defines`: macros, as `NAME` or `NAME=VALUE`. A
/// tensor of that GPU must have been made before.
pub fn compiled<const N: usize>(
    device: Device,
    source: &str,
    defines: &[&str],
    names: [&str; N],
) -> Result<[Kernel; N], String> {
    cuda::open().map_err(|error| error.to_string())?;
    // Kernels run on libtorch's streams, which the library of graphs knows.
    cuda_graph::available()?;
    let _current = Current::on(device)?;
    let library = opened()?;
    #[expect(
        unsafe_code,
        reason = "the functions have these types in the headers of NVRTC and of the driver"
    )]
    unsafe {
        let image = image(&library, source, defines)?;
        let text = *function::<ErrorText>(&library, b"cuGetErrorString")?;
        let checked = |code: c_int| if code == 0 { Ok(()) } else { Err(words(text, code)) };
        let load = function::<unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int>(
            &library,
            b"cuModuleLoadData",
        )?;
        let get = function::<unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int>(
            &library,
            b"cuModuleGetFunction",
        )?;
        let launch = *function::<Launch>(&library, b"cuLaunchKernel")?;
        let mut module = null_mut();
        checked(load(&raw mut module, image.as_ptr().cast()))?;
        let mut kernels = Vec::new();
        for name in names {
            let name = CString::new(name).map_err(|error| error.to_string())?;
            let mut found = null_mut();
            checked(get(&raw mut found, module, name.as_ptr()))?;
            kernels.push(Kernel { device, function: found as usize, launch, text });
        }
        // Kernels stay usable until the process ends.
        std::mem::forget(library);
        kernels.try_into().map_err(|_| "a kernel is lacking".to_owned())
    }
}

impl Kernel {
    /// Runs the kernel on the stream that libtorch uses on its GPU.
    ///
    /// # Safety
    /// The arguments are those of the kernel, in its order, and it stays within the memory of its GPU that they point to.
    ///
    /// # Panics
    /// If the GPU does not take it.
    #[expect(unsafe_code, reason = "what a kernel does with its arguments is known to its caller only")]
    pub unsafe fn run(&self, spread: Spread, arguments: &[Argument]) {
        let of_gpu =
            Current::on(self.device).and_then(|current| Ok((current, cuda_graph::stream(self.device)?)));
        let (_current, stream) = of_gpu.unwrap_or_else(|why| panic!("no stream of the GPU: {why}"));
        let mut slots: Vec<u64> = arguments.iter().map(Argument::bits).collect();
        let mut places: Vec<*mut c_void> = slots.iter_mut().map(|slot| (&raw mut *slot).cast()).collect();
        let Spread { blocks: [x, y, z], n_threads, n_shared_bytes } = spread;
        let (function, places) = (self.function as *mut c_void, places.as_mut_ptr());
        let code = unsafe {
            (self.launch)(function, x, y, z, n_threads, 1, 1, n_shared_bytes, stream, places, null_mut())
        };
        assert_eq!(code, 0, "CUDA error: {}", words(self.text, code));
    }
}

impl Argument {
    /// No memory.
    pub const NONE: Self = Self::Pointer(null_mut());

    /// The memory of `x`, from its first number on.
    pub fn of(x: &Tensor) -> Self {
        Self::Pointer(x.data_ptr())
    }

    /// Whether the memory of `x` begins at a multiple of `n_bytes`.
    pub fn is_aligned(x: &Tensor, n_bytes: usize) -> bool {
        (x.data_ptr() as usize).is_multiple_of(n_bytes)
    }

    /// The first bytes are the argument.
    fn bits(&self) -> u64 {
        match *self {
            Self::Pointer(pointer) => pointer as u64,
            Self::Int(number) => u64::from(number.cast_unsigned()),
            Self::Long(number) => number.cast_unsigned(),
            Self::Float(number) => u64::from(number.to_bits()),
        }
    }
}

fn opened() -> Result<Library, String> {
    let beside = libtorch::loaded().map(|loaded| loaded.folder.join("lib").join(SONAME));
    let open = |name: &std::ffi::OsStr| {
        #[expect(unsafe_code, reason = "it is a part of the libtorch that runs already")]
        let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
        library.map_err(|error| cuda::reason_of(&error))
    };
    match beside.filter(|path| path.exists()).map(|path| open(path.as_os_str())) {
        Some(Ok(library)) => Ok(library),
        // A folder of links has not beside it what the library needs; the loader knows where that is.
        _ => open(SONAME.as_ref()),
    }
}

#[expect(unsafe_code, reason = "its caller knows the type of the function")]
unsafe fn function<T>(library: &Library, name: &[u8]) -> Result<libloading::os::unix::Symbol<T>, String> {
    unsafe { library.get::<T>(name) }.map_err(|error| cuda::reason_of(&error))
}

/// Machine code of the GPU that this thread uses.
#[expect(unsafe_code, reason = "the functions have these types in the headers of NVRTC and of the driver")]
unsafe fn image(library: &Library, source: &str, defines: &[&str]) -> Result<Vec<u8>, String> {
    type Create = unsafe extern "C" fn(
        *mut *mut c_void,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int;
    type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
    type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    unsafe {
        let text = *function::<ErrorText>(library, b"cuGetErrorString")?;
        let mut gpu = 0;
        let current =
            function::<unsafe extern "C" fn(*mut c_int) -> c_int>(library, b"cuCtxGetDevice")?(&raw mut gpu);
        if current != 0 {
            return Err(words(text, current));
        }
        let attribute = function::<Attribute>(library, b"cuDeviceGetAttribute")?;
        let mut capability = [0; 2];
        for (number, which) in capability.iter_mut().zip(COMPUTE_CAPABILITY) {
            attribute(&raw mut *number, which, gpu);
        }
        let mut options = vec![format!("--gpu-architecture=sm_{}{}", capability[0], capability[1])];
        options.push("--std=c++17".to_owned());
        options.extend(defines.iter().map(|define| format!("-D{define}")));
        let options: Vec<CString> =
            options.into_iter().filter_map(|option| CString::new(option).ok()).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let source = CString::new(source).map_err(|error| error.to_string())?;
        let mut program = null_mut();
        let create = function::<Create>(library, b"nvrtcCreateProgram")?;
        if create(&raw mut program, source.as_ptr(), null(), 0, null(), null()) != 0 {
            return Err("NVRTC takes no program".to_owned());
        }
        let bytes = |size: &[u8], get: &[u8]| -> Result<Vec<u8>, String> {
            let mut n = 0;
            function::<OfProgram>(library, size)?(program, &raw mut n);
            let mut bytes = vec![0_u8; n];
            function::<TextOfProgram>(library, get)?(program, bytes.as_mut_ptr().cast());
            Ok(bytes)
        };
        let compile = function::<Compile>(library, b"nvrtcCompileProgram")?;
        let failed = compile(program, options.len() as c_int, options.as_ptr()) != 0;
        let made = match failed {
            true => bytes(b"nvrtcGetProgramLogSize", b"nvrtcGetProgramLog").and_then(|log| {
                let log = String::from_utf8_lossy(&log).replace('\0', "");
                let first = log.lines().find(|line| !line.trim().is_empty());
                Err(first.unwrap_or("NVRTC gives no reason").to_owned())
            }),
            false => bytes(b"nvrtcGetCUBINSize", b"nvrtcGetCUBIN"),
        };
        function::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>(library, b"nvrtcDestroyProgram")?(
            &raw mut program,
        );
        made
    }
}

/// The driver's words for an error.
fn words(text: ErrorText, code: c_int) -> String {
    let mut found: *const c_char = null();
    #[expect(unsafe_code, reason = "the function writes a pointer to a text that stays, or null")]
    unsafe {
        text(code, &raw mut found);
        match found.is_null() {
            true => format!("number {code}"),
            false => CStr::from_ptr(found).to_string_lossy().into_owned(),
        }
    }
}
