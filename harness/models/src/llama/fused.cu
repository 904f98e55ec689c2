// What a decoder layer does for one node or a few, as a handful of kernels in place of some twenty. Each computes as the
// operations in its place do: in f32, rounded to the kind of the tensors where these round. Compiled for the GPU at hand by
// NVRTC, once for bf16 and, with WIDE, once for f32. Blocks have a power of two of threads, at least a warp.

#ifndef SHARED_FLOATS
#define SHARED_FLOATS(name) extern __shared__ float name[]
// Starts a copy of 16 bytes to shared memory, or of zeros where nothing is there; ends a group of copies; waits for all groups
// of this thread but the last.
#define START_COPY(to, from, is_there)                                                                        \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(                                        \
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),                                     \
                 "l"(from), "r"((is_there) ? 16 : 0)                                                           \
                 : "memory")
#define END_GROUP() asm volatile("cp.async.commit_group;" ::: "memory")
#define AWAIT_ALL_BUT_LAST() asm volatile("cp.async.wait_group 1;" ::: "memory")
#endif

#define INFINITE __uint_as_float(0x7f800000)

#ifdef WIDE
typedef float Number;
#define N_PACKED 4
__device__ inline float wide(Number x) { return x; }
__device__ inline Number narrow(float x) { return x; }
#else
typedef unsigned short Number;
#define N_PACKED 8
__device__ inline float wide(Number x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }
// To the nearest, ties to even.
__device__ inline Number narrow(float x) {
    const unsigned bits = __float_as_uint(x);
    if (x != x) return 0x7fc0;
    return static_cast<Number>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#endif

// What a thread reads and writes at once: 16 bytes.
struct alignas(16) Pack {
    Number at[N_PACKED];
};

// The sum over the threads of a warp, in each of them.
__device__ inline float warp_sum(float x) {
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffff, x, distance);
    return x;
}

// The largest of the threads of a warp, in each of them.
__device__ inline float warp_max(float x) {
    for (int distance = 16; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, distance));
    return x;
}

// The sum over the threads of a block, in each of them. `scratch`: a float a warp.
__device__ inline float block_sum(float x, float* scratch) {
    const int lane = threadIdx.x % 32, n_warps = blockDim.x / 32;
    x = warp_sum(x);
    if (lane == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    const float sum = warp_sum(lane < n_warps ? scratch[lane] : 0);
    __syncthreads();
    return sum;
}

// The largest of the threads of a block, in each of them. `scratch` as for the sum.
__device__ inline float block_max(float x, float* scratch) {
    const int lane = threadIdx.x % 32, n_warps = blockDim.x / 32;
    x = warp_max(x);
    if (lane == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    const float largest = warp_max(lane < n_warps ? scratch[lane] : -INFINITE);
    __syncthreads();
    return largest;
}

// `sum` = `x` + `branch`, and its RMSNorm; without a branch, that of `x`, and no sum. A block a row of `n_packs`; shared: 32
// floats, and the row.
extern "C" __global__ void add_norm(const Pack* x, const Pack* branch, const Pack* weight, Pack* sum, Pack* normed,
                                    int n_packs, float eps) {
    SHARED_FLOATS(scratch);
    float* row = scratch + 32;
    const long long from = static_cast<long long>(blockIdx.x) * n_packs;
    float squares = 0;
    for (int at = threadIdx.x; at < n_packs; at += blockDim.x) {
        Pack value = x[from + at];
        if (branch) {
            const Pack added = branch[from + at];
            for (int i = 0; i < N_PACKED; ++i) value.at[i] = narrow(wide(value.at[i]) + wide(added.at[i]));
            sum[from + at] = value;
        }
        for (int i = 0; i < N_PACKED; ++i) {
            const float number = wide(value.at[i]);
            row[at * N_PACKED + i] = number;
            squares += number * number;
        }
    }
    const float scale = rsqrtf(block_sum(squares, scratch) / (n_packs * N_PACKED) + eps);
    for (int at = threadIdx.x; at < n_packs; at += blockDim.x) {
        const Pack factor = weight[at];
        Pack value;
        for (int i = 0; i < N_PACKED; ++i) value.at[i] = narrow(row[at * N_PACKED + i] * scale * wide(factor.at[i]));
        normed[from + at] = value;
    }
}

// The gate of each row through SiLU (0) or GELU by its formula with a hyperbolic tangent (1), times its other half. `hidden`:
// rows of 2 `d_ffn`, the gate first. Threads along a row, blocks (.., rows).
extern "C" __global__ void gated(const Number* hidden, Number* out, int d_ffn, int activation) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= d_ffn) return;
    const Number* row = hidden + static_cast<long long>(blockIdx.y) * 2 * d_ffn;
    const float gate = wide(row[at]);
    float open;
    if (activation == 0) {
        open = gate / (1 + expf(-gate));
    } else {
        const float inner = 0.7978845608028654f * (gate + 0.044715f * gate * gate * gate);
        open = 0.5f * gate * (1 + tanhf(inner));
    }
    out[static_cast<long long>(blockIdx.y) * d_ffn + at] = narrow(wide(narrow(open)) * wide(row[d_ffn + at]));
}

// Packs of each column that a thread waits for at once, while it computes with as many.
#define N_AHEAD 2

// Two columns of a product of few rows with a matrix: `out` = `x` times the transpose of `weight`. `x`: `[n_rows, n_packs]`, at
// most ROWS rows; `weight`: `[n_columns, n_packs]`. A block two columns; shared: 16 * N_AHEAD floats a thread, and 8 *
// ROWS.
template <int ROWS>
__device__ inline void two_columns(const Pack* x, const Pack* weight, Number* out, int n_rows, int n_packs,
                                   int n_columns) {
    SHARED_FLOATS(copied);
    const int n_threads = blockDim.x;
    float* parts = copied + 16 * N_AHEAD * n_threads;
    Pack* mine = reinterpret_cast<Pack*>(copied) + threadIdx.x;
    const Pack* one = weight + 2 * static_cast<long long>(blockIdx.x) * n_packs;
    const Pack* two = one + n_packs;
    float sums[2][ROWS];
    const Pack* rows[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        sums[0][row] = sums[1][row] = 0;
        // Rows that are not there are the last once more, and are not written.
        rows[row] = x + static_cast<long long>(min(row, n_rows - 1)) * n_packs;
    }
    const auto fetch = [&](int start, int turn) {
#pragma unroll
        for (int ahead = 0; ahead < N_AHEAD; ++ahead) {
            const int at = start + ahead * n_threads;
            Pack* to = mine + (turn * N_AHEAD + ahead) * 2 * n_threads;
            START_COPY(to, one + at, at < n_packs);
            START_COPY(to + n_threads, two + at, at < n_packs);
        }
        END_GROUP();
    };
    int turn = 0;
    fetch(threadIdx.x, turn);
    for (int start = threadIdx.x; start < n_packs; start += N_AHEAD * n_threads, turn ^= 1) {
        fetch(start + N_AHEAD * n_threads, turn ^ 1);
        AWAIT_ALL_BUT_LAST();
#pragma unroll
        for (int ahead = 0; ahead < N_AHEAD; ++ahead) {
            const Pack* here = mine + (turn * N_AHEAD + ahead) * 2 * n_threads;
            const Pack a = here[0], b = here[n_threads];
            const int at = min(start + ahead * n_threads, n_packs - 1);
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const Pack factor = rows[row][at];
#pragma unroll
                for (int i = 0; i < N_PACKED; ++i) {
                    sums[0][row] += wide(factor.at[i]) * wide(a.at[i]);
                    sums[1][row] += wide(factor.at[i]) * wide(b.at[i]);
                }
            }
        }
    }
    const int warp = threadIdx.x / 32;
    for (int row = 0; row < ROWS; ++row)
        for (int column = 0; column < 2; ++column) {
            const float sum = warp_sum(sums[column][row]);
            if (threadIdx.x % 32 == 0) parts[(warp * ROWS + row) * 2 + column] = sum;
        }
    __syncthreads();
    const int row = threadIdx.x / 2, column = threadIdx.x % 2;
    if (row >= n_rows) return;
    float sum = 0;
    for (int part = 0; part < n_threads / 32; ++part) sum += parts[(part * ROWS + row) * 2 + column];
    out[static_cast<long long>(row) * n_columns + 2 * blockIdx.x + column] = narrow(sum);
}

#define FEW_ROWS(ROWS)                                                                                               \
    extern "C" __global__ void rows_##ROWS(const Pack* x, const Pack* weight, Number* out, int n_rows, int n_packs,  \
                                           int n_columns) {                                                          \
        two_columns<ROWS>(x, weight, out, n_rows, n_packs, n_columns);                                               \
    }
FEW_ROWS(1)
FEW_ROWS(2)
FEW_ROWS(4)

// Softmax of `scale` times the scores, under an additive mask in steps of `mask_by_row` and `mask_by_slot`, if there is one.
// `scores`: `[rows, heads, slots, n_seen]`; `shares`: `[rows, heads, slots, n_padded]`, of which the first `n_seen` are
// written. A slot that sees nothing has shares of 0. Blocks (slots, heads, rows); shared: 32 floats, and `n_seen`.
extern "C" __global__ void masked_softmax(const float* scores, const Number* mask, long long mask_by_row,
                                          long long mask_by_slot, float scale, Number* shares, int n_seen,
                                          int n_padded) {
    SHARED_FLOATS(scratch);
    float* row = scratch + 32;
    const long long at_row = (static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const float* from = scores + at_row * n_seen;
    const Number* hidden = mask ? mask + blockIdx.z * mask_by_row + blockIdx.x * mask_by_slot : mask;
    float largest = -INFINITE;
    for (int at = threadIdx.x; at < n_seen; at += blockDim.x) {
        const float score = from[at] * scale + (hidden ? wide(hidden[at]) : 0);
        row[at] = score;
        largest = fmaxf(largest, score);
    }
    largest = block_max(largest, scratch);
    float sum = 0;
    for (int at = threadIdx.x; at < n_seen; at += blockDim.x) {
        const float share = largest == -INFINITE ? 0 : expf(row[at] - largest);
        row[at] = share;
        sum += share;
    }
    sum = block_sum(sum, scratch);
    const float factor = sum > 0 ? 1 / sum : sum;
    for (int at = threadIdx.x; at < n_seen; at += blockDim.x) shares[at_row * n_padded + at] = narrow(row[at] * factor);
}

// Turns query and key heads and puts queries into `queries` (`[b, n_queries, n, d_head]`), keys and values into a cache at
// `places`, or from `first` on; there the values of a head follow its keys. `qkv`: `[b, n, heads, d_head]`, a pair of neighbours
// is a complex number; `turns`: complex, in steps of `by_row`, `by_slot`, `by_head`. With `weight` and `bias` (`[n_turned,
// d_head]`, f32), turned heads are normed by LayerNorm before. Blocks (heads, n, b), at least half a head's threads; shared: 32
// floats.
extern "C" __global__ void turned(const Number* qkv, const float* turns, long long by_row, long long by_slot,
                                  long long by_head, const float* weight, const float* bias, float eps,
                                  Number* queries, int n_queries, int n_turned, Number* cache,
                                  long long cache_by_row, long long cache_by_head, const long long* places,
                                  long long places_by_row, long long first, int d_head) {
    SHARED_FLOATS(scratch);
    const int head = blockIdx.x, slot = blockIdx.y, row = blockIdx.z, n = gridDim.y, pair = threadIdx.x;
    const bool is_here = pair < d_head / 2;
    const long long place = places ? places[row * places_by_row + slot] : first + slot;
    const long long heads_before = (static_cast<long long>(row) * n + slot) * gridDim.x + head;
    const Number* from = qkv + heads_before * d_head + 2 * pair;
    float real = is_here ? wide(from[0]) : 0, imaginary = is_here ? wide(from[1]) : 0;
    if (head < n_turned) {
        if (weight) {
            const float mean = block_sum(real + imaginary, scratch) / d_head;
            real = is_here ? real - mean : 0;
            imaginary = is_here ? imaginary - mean : 0;
            const float variance = block_sum(real * real + imaginary * imaginary, scratch) / d_head;
            const float scale = rsqrtf(variance + eps);
            if (is_here) {
                const long long at = static_cast<long long>(head) * d_head + 2 * pair;
                real = bias[at] + real * scale * weight[at];
                imaginary = bias[at + 1] + imaginary * scale * weight[at + 1];
            }
        }
        if (is_here) {
            const float* turn = turns + 2 * (row * by_row + slot * by_slot + head * by_head + pair);
            const float turned = real * turn[0] - imaginary * turn[1];
            imaginary = real * turn[1] + imaginary * turn[0];
            real = turned;
        }
    }
    if (!is_here) return;
    Number* to;
    if (head < n_queries) {
        to = queries + ((static_cast<long long>(row) * n_queries + head) * n + slot) * d_head;
    } else {
        const int key = head - n_queries, value = head - n_turned;
        to = cache + row * cache_by_row + (head < n_turned ? 2 * key : 2 * value + 1) * cache_by_head + place * d_head;
    }
    to[2 * pair] = narrow(real);
    to[2 * pair + 1] = narrow(imaginary);
}
