// SPDX-License-Identifier: Apache-2.0
//
// The functions of ExecuTorch's runtime that kernels call, as its headers declare them: tensors that may change their
// shape within their memory, a list of kernels, an end of the program.
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace executorch::runtime {
namespace {

constexpr size_t kMostKernels = 64;
alignas(Kernel) unsigned char kernels[kMostKernels * sizeof(Kernel)];
size_t kernel_count = 0;

}  // namespace

namespace etensor {

ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  ssize_t count = 1;
  for (ssize_t i = 0; i < dim; ++i) count *= sizes[i];
  return count;
}

TensorImpl::TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data, DimOrderType* dim_order,
                       StridesType* strides, TensorShapeDynamism dynamism, DeviceType device, DeviceIndex index)
    : sizes_(sizes),
      dim_order_(dim_order),
      strides_(strides),
      data_(data),
      dim_(dim),
      numel_(compute_numel(sizes, dim)),
      numel_bound_(static_cast<size_t>(numel_)),
      type_(type),
      shape_dynamism_(dynamism),
      device_(device, index) {}

ssize_t TensorImpl::element_size() const { return static_cast<ssize_t>(elementSize(type_)); }

size_t TensorImpl::nbytes() const { return static_cast<size_t>(numel_ * element_size()); }

Error TensorImpl::internal_resize_contiguous(ArrayRef<SizesType> sizes) {
  if (static_cast<ssize_t>(sizes.size()) != dim_) return Error::NotSupported;
  const ssize_t count = compute_numel(sizes.data(), dim_);
  if (shape_dynamism_ == TensorShapeDynamism::STATIC) {
    for (ssize_t i = 0; i < dim_; ++i) {
      if (sizes[i] != sizes_[i]) return Error::NotSupported;
    }
  }
  if (static_cast<size_t>(count) > numel_bound_) return Error::NotSupported;
  for (ssize_t i = dim_ - 1, stride = 1; i >= 0; stride *= sizes_[i--]) {
    sizes_[i] = sizes[i];
    strides_[i] = static_cast<StridesType>(stride);
  }
  numel_ = count;
  return Error::Ok;
}

}  // namespace etensor

namespace internal {

class TensorResizerFriend {
 public:
  static Error resize(etensor::TensorImpl* impl, ArrayRef<etensor::TensorImpl::SizesType> sizes) {
    return impl->internal_resize_contiguous(sizes);
  }
};

Error resize_tensor_impl(etensor::TensorImpl* impl, ArrayRef<etensor::TensorImpl::SizesType> sizes) {
  return TensorResizerFriend::resize(impl, sizes);
}

et_timestamp_t get_log_timestamp() { return 0; }

void vlogf(LogLevel, et_timestamp_t, const char*, const char*, size_t, const char*, va_list) {}

}  // namespace internal

void runtime_abort() {
  printf("the runtime was ended\n");
  exit(1);
}

// Called before main, maybe before other objects of this file are constructed: so these are bytes.
Error register_kernels(const Span<const Kernel> added) {
  for (const Kernel& kernel : added) {
    if (kernel_count == kMostKernels) return Error::RegistrationExceedingMaxKernels;
    memcpy(kernels + sizeof(Kernel) * kernel_count++, static_cast<const void*>(&kernel), sizeof kernel);
  }
  return Error::Ok;
}

Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta>) {
  for (size_t i = 0; i < kernel_count; ++i) {
    const Kernel& kernel = reinterpret_cast<const Kernel*>(kernels)[i];
    if (strcmp(kernel.name_, name) == 0) return kernel.op_;
  }
  return Error::OperatorMissing;
}

}  // namespace executorch::runtime
