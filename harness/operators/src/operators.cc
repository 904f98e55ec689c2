// Counts the operators that one thread dispatches, by torch's own observer of them.
//
// An operator that only calls others, or only makes a view or empty memory, is no kernel: a kernel is what has no kernel
// inside it and is not in the first list. Those of the second list are one, whatever they call. Those of the third make the
// host wait for the device, whatever else they do, and are counted apart as well.

#include <ATen/record_function.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace {

// Views and allocations: no device computes anything for them.
const std::unordered_set<std::string_view> kFree = {
    "aten::alias", "aten::as_strided", "aten::chunk", "aten::contiguous", "aten::detach", "aten::diagonal",
    "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::expand", "aten::flatten", "aten::lift_fresh",
    "aten::matrix_H", "aten::narrow", "aten::new_empty", "aten::numpy_T", "aten::permute", "aten::reshape",
    "aten::resize_", "aten::resolve_conj", "aten::resolve_neg", "aten::select", "aten::set_", "aten::slice",
    "aten::split", "aten::split_with_sizes", "aten::squeeze", "aten::squeeze_", "aten::t", "aten::to",
    "aten::transpose", "aten::unbind", "aten::unflatten", "aten::unsafe_split", "aten::unsafe_view",
    "aten::unsqueeze", "aten::unsqueeze_", "aten::view", "aten::view_as", "aten::view_as_complex",
    "aten::view_as_real", "aten::_conj", "aten::_reshape_alias", "aten::_unsafe_view", "aten::is_floating_point",
    "aten::result_type", "aten::can_cast", "aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::detach_",
    "aten::_has_compatible_shallow_copy_type", "aten::set_data", "aten::expand_as", "aten::real", "aten::imag",
};

// Products with a sum, which a CPU does as a copy and a product, and the norm by the root mean square, which it does as
// several operations and CUDA as one (`_fused_rms_norm_cuda`).
const std::unordered_set<std::string_view> kWhole = {
    "aten::addbmm", "aten::addmm", "aten::addmm_", "aten::addmv", "aten::addr", "aten::baddbmm", "aten::baddbmm_",
    "aten::_fused_rms_norm",
};

// What the host reads of a device: a number, or how large a result is.
const std::unordered_set<std::string_view> kWaits = {
    "aten::_is_all_true", "aten::_is_any_true", "aten::_local_scalar_dense", "aten::_unique", "aten::_unique2",
    "aten::allclose", "aten::argwhere", "aten::bincount", "aten::equal", "aten::is_nonzero", "aten::item",
    "aten::linalg_matrix_rank", "aten::masked_select", "aten::nonzero", "aten::nonzero_numpy", "aten::unique_consecutive",
    "aten::unique_dim", "aten::unique_dim_consecutive",
};

struct Counting {
  at::CallbackHandle handle = 0;
  // Whether each operator under way has met a kernel inside it.
  std::vector<bool> under_way;
  // How many of those under way are whole: what they call is not counted.
  int n_whole = 0;
  // How many of those under way make the host wait: what they call is the same wait.
  int n_waiting = 0;
  std::map<std::string, std::uint64_t> kernels;
  std::map<std::string, std::uint64_t> waits;
};

thread_local std::unique_ptr<Counting> counting;

bool is_whole(const at::RecordFunction& operation) {
  return kWhole.count(std::string_view(operation.name())) != 0;
}

bool is_wait(const at::RecordFunction& operation) {
  return kWaits.count(std::string_view(operation.name())) != 0;
}

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction& operation) {
  if (counting) {
    counting->under_way.push_back(false);
    counting->n_whole += is_whole(operation) ? 1 : 0;
    counting->n_waiting += is_wait(operation) ? 1 : 0;
  }
  return nullptr;
}

void end_operator(const at::RecordFunction& operation, at::ObserverContext*) {
  if (!counting || counting->under_way.empty()) {
    return;
  }
  bool has_kernel = counting->under_way.back();
  counting->under_way.pop_back();
  std::string_view name = operation.name();
  bool whole = is_whole(operation);
  counting->n_whole -= whole ? 1 : 0;
  if (is_wait(operation)) {
    counting->n_waiting -= 1;
    if (counting->n_waiting == 0) {
      counting->waits[std::string(name)] += 1;
    }
  }
  if (counting->n_whole == 0 && (whole || (!has_kernel && kFree.count(name) == 0))) {
    counting->kernels[std::string(name)] += 1;
    has_kernel = true;
  }
  if (has_kernel && !counting->under_way.empty()) {
    counting->under_way.back() = true;
  }
}

}  // namespace

extern "C" {

// Begins to count on this thread. 0, or 1 where it counts already, or 2 where torch refuses.
int specimen_operators_begin() {
  try {
    if (counting) {
      return 1;
    }
    auto fresh = std::make_unique<Counting>();
    auto callback = at::RecordFunctionCallback(begin_operator, end_operator).scopes({at::RecordScope::FUNCTION});
    fresh->handle = at::addThreadLocalCallback(callback);
    counting = std::move(fresh);
    return 0;
  } catch (...) {
    return 2;
  }
}

// Stops, and writes lines `kernel name count` and `wait name count` of at most `size` bytes in all into `out`. How many
// bytes there are, or -1 where nothing was counted.
std::int64_t specimen_operators_end(char* out, std::size_t size) {
  try {
    if (!counting) {
      return -1;
    }
    at::removeCallback(counting->handle);
    std::string text;
    for (const auto& [name, n] : counting->kernels) {
      text += "kernel " + name + " " + std::to_string(n) + "\n";
    }
    for (const auto& [name, n] : counting->waits) {
      text += "wait " + name + " " + std::to_string(n) + "\n";
    }
    counting.reset();
    std::memcpy(out, text.data(), text.size() < size ? text.size() : size);
    return static_cast<std::int64_t>(text.size());
  } catch (...) {
    counting.reset();
    return -1;
  }
}

}  // extern "C"
