// The kernels of fused.cu as functions: blocks and threads as the program spreads them, then the kernel's own arguments.

extern "C" void run_add_norm(int n_rows, int n_threads, const Pack* x, const Pack* branch, const Pack* weight, Pack* sum,
                             Pack* normed, int n_packs, float eps) {
    spread({unsigned(n_rows), 1, 1}, n_threads, 32 + n_packs * N_PACKED,
           [&] { add_norm(x, branch, weight, sum, normed, n_packs, eps); });
}

extern "C" void run_gated(int n_rows, int n_threads, const Number* hidden, Number* out, int d_ffn, int activation) {
    spread({unsigned((d_ffn + n_threads - 1) / n_threads), unsigned(n_rows), 1}, n_threads, 0,
           [&] { gated(hidden, out, d_ffn, activation); });
}

extern "C" void run_rows(int most_rows, int n_threads, const Pack* x, const Pack* weight, Number* out, int n_rows, int n_packs,
                         int n_columns) {
    auto* kernel = most_rows == 1 ? rows_1 : most_rows == 2 ? rows_2 : rows_4;
    spread({unsigned(n_columns / 2), 1, 1}, n_threads, 16 * N_AHEAD * n_threads + 8 * most_rows,
           [&] { kernel(x, weight, out, n_rows, n_packs, n_columns); });
}

extern "C" void run_masked_softmax(int b, int n_heads, int n, int n_threads, const float* scores, const Number* mask,
                                   long long mask_by_row, long long mask_by_slot, float scale, Number* shares,
                                   int n_seen, int n_padded) {
    spread({unsigned(n), unsigned(n_heads), unsigned(b)}, n_threads, 32 + n_seen, [&] {
        masked_softmax(scores, mask, mask_by_row, mask_by_slot, scale, shares, n_seen, n_padded);
    });
}

extern "C" void run_turned(int b, int n, int n_heads, int n_threads, const Number* qkv, const float* turns,
                           long long by_row, long long by_slot, long long by_head, const float* weight,
                           const float* bias, float eps, Number* queries, int n_queries, int n_turned, Number* cache,
                           long long cache_by_row, long long cache_by_head, const long long* places,
                           long long places_by_row, long long first, int d_head) {
    spread({unsigned(n_heads), unsigned(n), unsigned(b)}, n_threads, 32, [&] {
        turned(qkv, turns, by_row, by_slot, by_head, weight, bias, eps, queries, n_queries, n_turned, cache,
               cache_by_row, cache_by_head, places, places_by_row, first, d_head);
    });
}
