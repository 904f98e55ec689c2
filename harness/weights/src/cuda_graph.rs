//! A captured piece of work of a GPU, which is done again by one call: CUDA graphs through `libspecimen_graphs.so`, a small
//! library around libtorch's own. `make libtorch CUDA=1` makes it; without it work is asked for kernel by kernel. The same
//! library knows the peak of a GPU's memory, and libtorch's streams.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use tch::Device;

use crate::{cuda, libtorch};

/// The library: beside the program, or in libtorch's folder `lib`.
const SONAME: &str = "libspecimen_graphs.so";
/// What makes it.
const REMEDY: &str = "`make libtorch CUDA=1` makes it";
/// Times that work runs on the side stream before it is captured: libraries make their workspaces then.
const N_WARMUP: usize = 3;

/// One step of a capture: 0 where it worked.
type Call = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What the library offers.
struct Functions {
    error: unsafe extern "C" fn() -> *const c_char,
    new: unsafe extern "C" fn(c_int) -> *mut c_void,
    begin: Call,
    end: Call,
    leave: Call,
    replay: Call,
    free: unsafe extern "C" fn(*mut c_void),
    peak_reset: unsafe extern "C" fn(c_int) -> c_int,
    peak: unsafe extern "C" fn(c_int, *mut u64) -> c_int,
    stream: unsafe extern "C" fn(c_int, *mut *mut c_void) -> c_int,
    enter: unsafe extern "C" fn(c_int, *mut c_int) -> c_int,
}

/// Work that was captured. What it reads and writes has to stay where it was.
pub struct Graph {
    functions: &'static Functions,
    capture: *mut c_void,
}

/// Whether work can be captured at all.
pub fn available() -> Result<(), String> {
    functions().map(drop)
}

/// Lets the peak of the memory of the GPU `device` begin anew; what no tensor uses goes back to the GPU.
pub fn reset_peak_memory(device: Device) -> Result<(), String> {
    let (index, functions) = (index_of(device)?, functions()?);
    #[expect(unsafe_code, reason = "the function takes any number and answers with a failure")]
    let failed = unsafe { (functions.peak_reset)(index) } != 0;
    if failed { Err(functions.reason()) } else { Ok(()) }
}

/// The most bytes that libtorch had of the GPU `device` at a time, in this process.
pub fn peak_memory(device: Device) -> Result<u64, String> {
    let (index, functions) = (index_of(device)?, functions()?);
    let mut bytes = 0;
    #[expect(unsafe_code, reason = "the function writes one number to the place that it gets")]
    let failed = unsafe { (functions.peak)(index, &raw mut bytes) } != 0;
    if failed { Err(functions.reason()) } else { Ok(bytes) }
}

/// The stream on which this thread's work for the GPU `device` runs, as the driver knows it.
pub(crate) fn stream(device: Device) -> Result<*mut c_void, String> {
    let (index, functions) = (index_of(device)?, functions()?);
    let mut stream = std::ptr::null_mut();
    #[expect(unsafe_code, reason = "the function writes one pointer to the place that it gets")]
    let failed = unsafe { (functions.stream)(index, &raw mut stream) } != 0;
    if failed { Err(functions.reason()) } else { Ok(stream) }
}

/// While this is kept, a GPU is the one that the driver means where none is named.
pub(crate) struct Current {
    before: c_int,
    functions: &'static Functions,
}

impl Current {
    /// Makes `device` the current GPU.
    pub(crate) fn on(device: Device) -> Result<Self, String> {
        let (index, functions) = (index_of(device)?, functions()?);
        functions.enter(index).map(|before| Self { before, functions })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // It was current before, so it can be again.
        let _ = self.functions.enter(self.before);
    }
}

fn index_of(device: Device) -> Result<c_int, String> {
    match device {
        Device::Cuda(index) => c_int::try_from(index).map_err(|error| error.to_string()),
        _ => Err("it computes on no GPU".to_owned()),
    }
}

impl Graph {
    /// Runs `work` on the GPU `device` a few times, then captures it; with what it gave while it was captured, whose tensors each
    /// [`Graph::replay`] writes anew. The work must not read from the device, and not write to it from the host.
    pub fn capture<T>(device: Device, mut work: impl FnMut() -> T) -> Result<(Self, T), String> {
        let (index, functions) = (index_of(device)?, functions()?);
        #[expect(unsafe_code, reason = "the function takes any number and gives a pointer or null")]
        let capture = unsafe { (functions.new)(index) };
        if capture.is_null() {
            return Err(functions.reason());
        }
        let graph = Self { functions, capture };
        let given = graph.warmed_up_and_captured(&mut work);
        let left = graph.call(functions.leave);
        // The first reason is the cause of the others.
        let given = given?;
        left.map(|()| (graph, given))
    }

    fn warmed_up_and_captured<T>(&self, work: &mut impl FnMut() -> T) -> Result<T, String> {
        for _ in 0..N_WARMUP {
            drop(caught(&mut *work)?);
        }
        self.call(self.functions.begin)?;
        let given = caught(work);
        let ended = self.call(self.functions.end);
        let given = given?;
        ended.map(|()| given)
    }

    /// Does the work again.
    ///
    /// # Panics
    /// If the GPU does not take it.
    pub fn replay(&self) {
        if let Err(why) = self.call(self.functions.replay) {
            panic!("a captured step was not replayed: {why}");
        }
    }

    fn call(&self, function: Call) -> Result<(), String> {
        #[expect(
            unsafe_code,
            reason = "`capture` is one that the library made, and it is freed at the end only"
        )]
        let failed = unsafe { function(self.capture) } != 0;
        if failed { Err(self.functions.reason()) } else { Ok(()) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        #[expect(
            unsafe_code,
            reason = "`capture` is one of the library's own, and nothing uses it afterwards"
        )]
        unsafe {
            (self.functions.free)(self.capture);
        }
    }
}

impl Functions {
    /// Makes the GPU of this index current, and gives that which was.
    fn enter(&self, index: c_int) -> Result<c_int, String> {
        let mut before = 0;
        #[expect(unsafe_code, reason = "the function writes one number to the place that it gets")]
        let failed = unsafe { (self.enter)(index, &raw mut before) } != 0;
        if failed { Err(self.reason()) } else { Ok(before) }
    }

    /// Why the last call of this thread failed.
    fn reason(&self) -> String {
        #[expect(unsafe_code, reason = "the library's text ends in 0 and stays until its next call")]
        let text = unsafe { CStr::from_ptr((self.error)()) };
        text.to_string_lossy().lines().next().unwrap_or("no reason was given").to_owned()
    }
}

fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Functions, String> {
    cuda::open().map_err(|error| error.to_string())?;
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join(SONAME)));
    let of_libtorch = libtorch::loaded().map(|loaded| loaded.folder.join("lib").join(SONAME));
    let places: Vec<PathBuf> = beside.into_iter().chain(of_libtorch).collect();
    match places.iter().find(|path| path.exists()) {
        Some(path) => {
            open(path).map_err(|reason| format!("{} cannot be used: {reason}; {REMEDY}", path.display()))
        }
        None => {
            let looked: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
            Err(format!("there is no {}; {REMEDY}", looked.join(" and no ")))
        }
    }
}

/// The functions of the library at `path`, which stays open.
fn open(path: &Path) -> Result<Functions, String> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    let said = |error: libloading::Error| cuda::reason_of(&error);
    #[expect(unsafe_code, reason = "the library is made of our own file, and its functions have these types")]
    unsafe {
        let library = Library::open(Some(path), RTLD_NOW | RTLD_LOCAL).map_err(said)?;
        let torch =
            *library.get::<unsafe extern "C" fn() -> *const c_char>(b"specimen_graph_torch").map_err(said)?;
        check_torch(
            &CStr::from_ptr(torch()).to_string_lossy(),
            libtorch::loaded().and_then(|it| it.version),
        )?;
        let functions = Functions {
            error: *library.get(b"specimen_graph_error").map_err(said)?,
            new: *library.get(b"specimen_graph_new").map_err(said)?,
            begin: *library.get(b"specimen_graph_begin").map_err(said)?,
            end: *library.get(b"specimen_graph_end").map_err(said)?,
            leave: *library.get(b"specimen_graph_leave").map_err(said)?,
            replay: *library.get(b"specimen_graph_replay").map_err(said)?,
            free: *library.get(b"specimen_graph_free").map_err(said)?,
            peak_reset: *library.get(b"specimen_gpu_peak_reset").map_err(said)?,
            peak: *library.get(b"specimen_gpu_peak").map_err(said)?,
            stream: *library.get(b"specimen_gpu_stream").map_err(said)?,
            enter: *library.get(b"specimen_gpu_enter").map_err(said)?,
        };
        std::mem::forget(library);
        Ok(functions)
    }
}

/// Refuses a library that was made for another libtorch than the one of version `loaded`: its calls would not fit.
fn check_torch(made: &str, loaded: Option<String>) -> Result<(), String> {
    let made = made.rsplit(' ').next().unwrap_or_default();
    match loaded {
        Some(loaded) if libtorch::numbers_of(&loaded) != libtorch::numbers_of(made) => {
            Err(format!("it was made for torch {made}, and {loaded} is loaded"))
        }
        _ => Ok(()),
    }
}

/// What `work` gives, or what it panicked with, in one line.
fn caught<T>(work: impl FnMut() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.and_then(|text| text.lines().next()).unwrap_or("the work panicked").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_cuda_part_the_reason_names_what_brings_it() {
        // Where there is one, the library or what makes it is named.
        let Err(why) = available() else { return };
        assert!(why.contains("make libtorch CUDA=1"), "{why}");
        assert_eq!(peak_memory(Device::Cuda(0)), Err(why.clone()));
        assert_eq!(reset_peak_memory(Device::Cuda(0)), Err(why));
        assert_eq!(peak_memory(Device::Cpu), Err("it computes on no GPU".to_owned()));
    }

    #[test]
    fn a_library_for_another_libtorch_is_refused() {
        let made = "specimen graphs of torch 2.13.0";
        assert_eq!(check_torch(made, Some("2.13.0+cu130".to_owned())), Ok(()));
        assert_eq!(check_torch(made, None), Ok(()));
        let why = check_torch(made, Some("2.11.0+cu130".to_owned())).err().unwrap_or_default();
        assert!(why.contains("for torch 2.13.0") && why.contains("2.11.0+cu130"), "{why}");
    }

    #[test]
    fn what_panics_gives_its_first_line() {
        assert_eq!(caught(|| 3), Ok(3));
        assert_eq!(caught(|| -> u8 { panic!("no room\nat all") }), Err("no room".to_owned()));
    }
}
