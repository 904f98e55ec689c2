// What libtorch 2.13 declares and 2.11 does not, or with fewer arguments. tch wraps each of them, so each has to compile;
// this program calls none, and a call throws. scripts/libtorch.sh puts this behind the torch.h of an older libtorch.

#include <stdexcept>
#include <string>
#include <tuple>

namespace torch {

[[noreturn]] inline void needs_newer(const char* name) {
  throw std::runtime_error(std::string(name) + " needs libtorch 2.13");
}

#define SPECIMEN_NEWER(result, name)   \
  template <class... Arguments>        \
  result name(Arguments&&...) {        \
    needs_newer(#name);                \
  }
SPECIMEN_NEWER(at::Tensor, _flash_attention_forward_no_dropout_inplace)
SPECIMEN_NEWER(at::Tensor, _philox_key_fold_in)
SPECIMEN_NEWER(at::Tensor, _philox_key_split)
SPECIMEN_NEWER(at::Tensor, _philox_normal)
SPECIMEN_NEWER(at::Tensor, _philox_normal_)
SPECIMEN_NEWER(at::Tensor, _philox_normal_out)
SPECIMEN_NEWER(at::Tensor, _philox_uniform)
SPECIMEN_NEWER(at::Tensor, _philox_uniform_)
SPECIMEN_NEWER(at::Tensor, _philox_uniform_out)
SPECIMEN_NEWER(at::Tensor, _upsample_lanczos2d_aa)
SPECIMEN_NEWER(at::Tensor, _upsample_lanczos2d_aa_backward)
SPECIMEN_NEWER(at::Tensor, _upsample_lanczos2d_aa_backward_out)
SPECIMEN_NEWER(at::Tensor, _upsample_lanczos2d_aa_out)
using TwoTensors = std::tuple<at::Tensor, at::Tensor>;
SPECIMEN_NEWER(TwoTensors, _scaled_dot_product_attention_math_for_mps)
#undef SPECIMEN_NEWER

}  // namespace torch
