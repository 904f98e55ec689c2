// CUDA graphs for a program that opens libtorch's CUDA part while it runs: a few functions around at::cuda::CUDAGraph.
// Compiled by scripts/cuda_graphs.sh into libspecimen_graphs.so; its symbols are resolved when that is opened, after the
// CUDA part. A function that answers an int gives 0, or 1 with the reason in specimen_graph_error. The peak of a GPU's memory
// and its streams are here too: nothing else is compiled with the headers of the CUDA part.

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/headeronly/version.h>

#include <cstdint>
#include <exception>
#include <string>

namespace {

thread_local std::string reason;

struct Capture {
    explicit Capture(c10::DeviceIndex device)
        : device(device),
          outside(c10::cuda::getCurrentCUDAStream(device)),
          side(c10::cuda::getStreamFromPool(false, device)) {}

    c10::DeviceIndex device;
    at::cuda::CUDAGraph graph;
    c10::cuda::CUDAStream outside;
    c10::cuda::CUDAStream side;
};

template <typename Work>
int attempt(Work work) {
    try {
        work();
        return 0;
    } catch (const std::exception& error) {
        reason = error.what();
    } catch (...) {
        reason = "an exception without a text";
    }
    return 1;
}

// What libtorch does without a tensor it does on the GPU that is current.
template <typename Work>
int on_gpu_of(void* capture, Work work) {
    return attempt([&] {
        auto& made = *static_cast<Capture*>(capture);
        const c10::cuda::CUDAGuard current(made.device);
        work(made);
    });
}

}  // namespace

extern "C" {

// Read in the file too, by what makes and packs it.
const char* specimen_graph_torch() { return "specimen graphs of torch " TORCH_VERSION; }

const char* specimen_graph_error() { return reason.c_str(); }

// Gives back what no tensor uses, and lets the peak of GPU `device` begin anew.
int specimen_gpu_peak_reset(int device) {
    return attempt([&] {
        c10::cuda::CUDACachingAllocator::emptyCache();
        c10::cuda::CUDACachingAllocator::resetPeakStats(static_cast<c10::DeviceIndex>(device));
    });
}

// The most bytes that libtorch had of GPU `device` at a time.
int specimen_gpu_peak(int device, std::uint64_t* bytes) {
    return attempt([&] {
        const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
        *bytes = static_cast<std::uint64_t>(stats.reserved_bytes[0].peak);
    });
}

// The stream on which this thread's work for GPU `device` runs.
int specimen_gpu_stream(int device, void** stream) {
    return attempt([&] { *stream = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream(); });
}

// Makes GPU `device` the current one, and gives that which was.
int specimen_gpu_enter(int device, int* before) {
    return attempt([&] {
        *before = c10::cuda::current_device();
        if (*before != device) c10::cuda::set_device(static_cast<c10::DeviceIndex>(device));
    });
}

// A capture to be on GPU `device`: work runs on a stream of its own from now on. Null where there is none.
void* specimen_graph_new(int device) {
    Capture* made = nullptr;
    const int failed = attempt([&] {
        const c10::cuda::CUDAGuard current(static_cast<c10::DeviceIndex>(device));
        c10::cuda::device_synchronize();
        made = new Capture(static_cast<c10::DeviceIndex>(device));
        c10::cuda::setCurrentCUDAStream(made->side);
    });
    if (failed) {
        delete made;
        return nullptr;
    }
    return made;
}

// What is asked for from now on is noted, not done. All graphs of the process share one pool of memory.
int specimen_graph_begin(void* capture) {
    return on_gpu_of(capture, [](Capture& made) {
        static const auto pool = at::cuda::graph_pool_handle();
        made.side.synchronize();
        made.graph.capture_begin(pool);
    });
}

int specimen_graph_end(void* capture) {
    return on_gpu_of(capture, [](Capture& made) { made.graph.capture_end(); });
}

// Work runs on the stream of before again.
int specimen_graph_leave(void* capture) {
    return on_gpu_of(capture, [](Capture& made) {
        c10::cuda::setCurrentCUDAStream(made.outside);
        c10::cuda::device_synchronize();
    });
}

int specimen_graph_replay(void* capture) {
    return on_gpu_of(capture, [](Capture& made) { made.graph.replay(); });
}

void specimen_graph_free(void* capture) {
    (void)on_gpu_of(capture, [](Capture& made) { delete &made; });
}

}  // extern "C"
