// SPDX-License-Identifier: Apache-2.0
//
// Calls operators of ExecuTorch's registry on arrays of Python, for tests and the benchmark. Memory that an operator
// takes for the time of a call comes from an arena, which is emptied before each call.
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <string.h>
#include <time.h>

#include <deque>
#include <vector>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::runtime::EValue;
using executorch::runtime::OpFunction;
using executorch::runtime::TensorMeta;

namespace {

struct Value {
  int32_t kind;  // 0 none, 1 int, 2 double, 3 bool, 4 tensor, 5 string of `integer` bytes
  int32_t dtype, dims;
  int32_t is_result;
  int32_t sizes[8];
  int64_t integer;
  double number;
  void* data;
};

struct Array {
  int32_t sizes[8], strides[8];
  uint8_t order[8];
};

// The arguments of a call, as the runtime has them: inputs, outputs, then the results.
struct Stack {
  std::deque<Array> arrays;
  std::deque<TensorImpl> impls;
  std::deque<executorch::runtime::ArrayRef<char>> strings;
  std::deque<EValue> values;
  std::vector<EValue*> pointers;
  std::vector<TensorMeta> metas;
  size_t outputs = 0;
  EValue list;

  void add(const Value& value) {
    switch (value.kind) {
      case 0: values.emplace_back(); break;
      case 1: values.emplace_back(value.integer); break;
      case 2: values.emplace_back(value.number); break;
      case 3: values.emplace_back(value.integer != 0); break;
      case 5:
        strings.emplace_back(static_cast<const char*>(value.data), static_cast<size_t>(value.integer));
        values.emplace_back(&strings.back());
        break;
      default: add_tensor(value); break;
    }
    pointers.push_back(&values.back());
  }

  // The result of an operator is its output once more. Several outputs are one list, which a kernel's key leaves out.
  void add_results() {
    if (outputs == 1) {
      pointers.push_back(pointers.back());
      metas.push_back(metas.back());
    } else {
      pointers.push_back(&list);
    }
  }

  void add_tensor(const Value& value) {
    arrays.emplace_back();
    Array& array = arrays.back();
    int32_t stride = 1;
    for (int i = value.dims - 1; i >= 0; --i) {
      array.sizes[i] = value.sizes[i];
      array.strides[i] = stride;
      array.order[i] = static_cast<uint8_t>(i);
      stride *= value.sizes[i];
    }
    outputs += value.is_result != 0;
    impls.emplace_back(static_cast<ScalarType>(value.dtype), value.dims, array.sizes, value.data, array.order,
                       array.strides, executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
    values.emplace_back(Tensor(&impls.back()));
    metas.emplace_back(static_cast<ScalarType>(value.dtype),
                       executorch::runtime::Span<executorch::aten::DimOrderType>(array.order, value.dims));
  }
};

alignas(64) uint8_t arena[1u << 30];

// Of the processor, for this thread: other programs do not count.
double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

extern "C" {

// Calls the operator: with_keys chooses the kernel that a program would get, else the one without a key. Returns 0, the
// runtime's error, or -1 where there is no such operator. seconds, if not NULL, is the time of one of `repeats` calls;
// used is the memory that the operator took.
__attribute__((visibility("default"))) int caller_call(const char* name, const Value* values, int count, int with_keys,
                                                       int repeats, double* seconds, uint64_t* used) {
  Stack stack;
  for (int i = 0; i < count; ++i) stack.add(values[i]);
  stack.add_results();
  executorch::runtime::Span<const TensorMeta> metas(stack.metas.data(), with_keys ? stack.metas.size() : 0);
  auto function = executorch::runtime::get_op_function_from_registry(name, metas);
  if (!function.ok()) return -1;
  int error = 0;
  const double start = thread_seconds();
  for (int i = 0; i < repeats; ++i) {
    executorch::runtime::MemoryAllocator allocator(sizeof arena, arena);
    executorch::runtime::KernelRuntimeContext context(nullptr, &allocator);
    (*function)(context, {stack.pointers.data(), stack.pointers.size()});
    error = static_cast<int>(context.failure_state());
    if (used) *used = allocator.used_size();
  }
  const double end = thread_seconds();
  if (seconds) *seconds = (end - start) / repeats;
  return error;
}

// How many kernels the operator has.
__attribute__((visibility("default"))) int caller_count(const char* name) {
  int kernels = 0;
  for (const auto& kernel : executorch::runtime::get_registered_kernels()) kernels += strcmp(kernel.name_, name) == 0;
  return kernels;
}
}
