// A GPU of threads of the processor: what fused.cu takes from CUDA, so that its arithmetic runs here.
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

struct Place {
    unsigned x, y, z;
};

static thread_local Place threadIdx, blockIdx;
static Place blockDim, gridDim;
static thread_local std::barrier<>* all;
static thread_local float* shared_floats;

#define __device__ static
#define __global__
#define __syncthreads() all->arrive_and_wait()
#define SHARED_FLOATS(name) float* name = shared_floats

static inline float __uint_as_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

static inline unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

// Copies are done when they are started.
#define START_COPY(to, from, is_there)      \
    if (is_there)                           \
        std::memcpy(to, from, sizeof *(to)); \
    else                                    \
        std::memset(to, 0, sizeof *(to))
#define END_GROUP()
#define AWAIT_ALL_BUT_LAST()

using std::min;

// All threads of a block exchange at once.
static float exchanged[1024];
static inline float __shfl_xor_sync(unsigned, float x, int distance) {
    exchanged[threadIdx.x] = x;
    __syncthreads();
    const float other = exchanged[threadIdx.x ^ distance];
    __syncthreads();
    return other;
}

static inline float rsqrtf(float x) { return 1 / std::sqrt(x); }

// Runs `kernel` for every thread of every block, the threads of a block at the same time.
template <typename Kernel>
static void spread(Place blocks, unsigned n_threads, unsigned n_shared, Kernel kernel) {
    gridDim = blocks;
    blockDim = {n_threads, 1, 1};
    for (unsigned z = 0; z < blocks.z; ++z)
        for (unsigned y = 0; y < blocks.y; ++y)
            for (unsigned x = 0; x < blocks.x; ++x) {
                // From an address that packs of 16 bytes can have.
                std::vector<float> memory(n_shared + 4);
                auto* shared = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 15) / 16 * 16);
                std::barrier<> together(n_threads);
                std::vector<std::thread> threads;
                for (unsigned at = 0; at < n_threads; ++at)
                    threads.emplace_back([&, at] {
                        threadIdx = {at, 0, 0};
                        blockIdx = {x, y, z};
                        all = &together;
                        shared_floats = shared;
                        kernel();
                        together.arrive_and_drop();
                    });
                for (auto& thread : threads) thread.join();
            }
}
