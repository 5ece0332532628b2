// SPDX-License-Identifier: Apache-2.0
//
// What all operators share: tensors as fovea's arrays, memory for the time of a call, threads, statuses as errors.
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

#include "fovea/fovea.h"

namespace fovea_executorch {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using Context = executorch::runtime::KernelRuntimeContext;
using OptionalTensor = std::optional<Tensor>;

// Where a tensor of four dimensions has its tokens: [batch][tokens][heads][dim] or [batch][heads][tokens][dim].
struct Layout {
  int heads, tokens;
};
constexpr Layout kTokensFirst{2, 1};
constexpr Layout kHeadsFirst{1, 2};

inline uint32_t count(const Tensor& t, int dim) { return static_cast<uint32_t>(t.size(dim)); }

// The elements after dimension `dim`, in a tensor whose elements are adjacent.
inline ptrdiff_t stride_of(const Tensor& t, int dim) {
  ptrdiff_t stride = 1;
  for (int i = dim + 1; i < t.dim(); ++i) stride *= t.size(i);
  return stride;
}

inline fovea_in input(const Tensor& t, Layout layout) {
  return {t.const_data_ptr(), stride_of(t, 0), stride_of(t, layout.heads), stride_of(t, layout.tokens)};
}

inline fovea_out output(Tensor& t, Layout layout) {
  return {t.mutable_data_ptr(), stride_of(t, 0), stride_of(t, layout.heads), stride_of(t, layout.tokens)};
}

// The elements are adjacent in the order of the dimensions.
inline bool is_contiguous(const Tensor& t) {
  return executorch::runtime::is_contiguous_dim_order(t.dim_order().data(), t.dim());
}

// F32, F16 or BF16; false for other types.
inline bool format_of(ScalarType type, fovea_dtype* dtype) {
  if (type == ScalarType::Float) return *dtype = FOVEA_F32, true;
  if (type == ScalarType::Half) return *dtype = FOVEA_F16, true;
  if (type == ScalarType::BFloat16) return *dtype = FOVEA_BF16, true;
  return false;
}

// Memory that the runtime takes back when the operator returns. NULL after context.fail().
void* temporary(Context& context, size_t bytes);

// The same for a workspace, of which a call without one needs no byte, but a pointer.
inline void* workspace(Context& context, size_t bytes) { return temporary(context, bytes + (bytes == 0)); }

// Makes an error of a status. True for FOVEA_OK, which is none.
bool report(Context& context, fovea_status status);

// ExecuTorch's thread pool as an executor; one worker where the library was built without it, or where the work, in
// multiply-adds, is too little to wake threads for it.
class Threads {
 public:
  explicit Threads(double work);
  uint32_t workers() const { return executor_.workers; }
  // Runs tasks of an operator's own; false if the pool refused.
  bool run(size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) const;
  const fovea_executor* executor() const { return executor_.workers > 1 ? &executor_ : nullptr; }

 private:
  fovea_executor executor_;
};

// Computes attention for a description and arguments that are complete but for plan, workspace and threads.
void attend(Context& context, fovea_attention_desc& desc, fovea_attention_args& args);

}  // namespace fovea_executorch

// Ends the operator with an error, before anything was written, unless the condition holds.
#define FOVEA_REQUIRE(context, condition, result) ET_KERNEL_CHECK(context, condition, InvalidArgument, result)
