// CUDA graphs for a program that opens libtorch's CUDA part while it runs: a few functions around at::cuda::CUDAGraph.
// Compiled by scripts/cuda_graphs.sh into libspecimen_graphs.so; its symbols are resolved when that is opened, after the
// CUDA part. A function that answers an int gives 0, or 1 with the reason in specimen_graph_error. The peak of a GPU's memory
// and its streams are here too: nothing else is compiled with the headers of the CUDA part.

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/headeronly/version.h>

#include <cstdint>
#include <exception>
#include <string>

namespace {

thread_local std::string reason;

struct Capture {
    at::cuda::CUDAGraph graph;
    c10::cuda::CUDAStream outside = c10::cuda::getCurrentCUDAStream();
    c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
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

// A capture to be: work runs on a stream of its own from now on. Null where there is none.
void* specimen_graph_new() {
    Capture* made = nullptr;
    const int failed = attempt([&] {
        c10::cuda::device_synchronize();
        made = new Capture();
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
    return attempt([&] {
        static const auto pool = at::cuda::graph_pool_handle();
        static_cast<Capture*>(capture)->side.synchronize();
        static_cast<Capture*>(capture)->graph.capture_begin(pool);
    });
}

int specimen_graph_end(void* capture) {
    return attempt([&] { static_cast<Capture*>(capture)->graph.capture_end(); });
}

// Work runs on the stream of before again.
int specimen_graph_leave(void* capture) {
    return attempt([&] {
        auto* made = static_cast<Capture*>(capture);
        c10::cuda::setCurrentCUDAStream(made->outside);
        c10::cuda::device_synchronize();
    });
}

int specimen_graph_replay(void* capture) {
    return attempt([&] { static_cast<Capture*>(capture)->graph.replay(); });
}

void specimen_graph_free(void* capture) {
    (void)attempt([&] { delete static_cast<Capture*>(capture); });
}

}  // extern "C"
