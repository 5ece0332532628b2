// SPDX-License-Identifier: Apache-2.0
//
// What the backend keeps from one operator to the next, and the operators that it takes.
#ifndef FOVEA_GGML_CONTEXT_H_
#define FOVEA_GGML_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fovea/fovea.h"
#include "ggml.h"
#include "platform/platform.h"

struct ggml_backend_buffer;

namespace fovea_ggml {

// Memory and threads. It allocates where an operator needs more memory than any before it: in a decoder's steps hardly
// ever after the first.
class Context {
 public:
  Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  void set_threads(int threads);
  uint32_t workers() const { return executor_.workers; }
  const fovea_executor* executor() const { return executor_.workers > 1 ? &executor_ : nullptr; }

  // Memory for the operator that is computed, aligned for the library. nullptr: there is none.
  char* memory(size_t bytes);

  // Runs each(index, worker) for each index below count: by all threads, if there are enough elements in all for them.
  template <class Each>
  void run(int64_t count, int64_t elements, const Each& each) {
    constexpr int64_t kElementsToShare = 16384;  // below that threads take longer to wake than to work
    if (executor_.workers == 1 || elements < kElementsToShare) {
      for (int64_t i = 0; i < count; ++i) each(i, 0);
      return;
    }
    const auto task = [](void* arg, size_t index, uint32_t worker) {
      (*static_cast<const Each*>(arg))(static_cast<int64_t>(index), worker);
    };
    executor_.run(executor_.self, static_cast<size_t>(count), task, const_cast<Each*>(&each));
  }

 private:
  fovea_executor executor_;
  char* memory_ = nullptr;
  size_t bytes_ = 0;
};

// An operator of ggml that the library computes.
struct Operator {
  ggml_op op;
  const char* name;  // as the program's ggml must call the number
  bool (*takes)(const ggml_tensor* node);
  bool (*compute)(Context& context, ggml_tensor* node);  // false: it failed, which was said
};

extern const Operator kMultiply, kMultiplyExperts, kAttend, kDelta, kGate, kNormalize;

// A parameter of an operator, which ggml keeps as bytes.
inline float option(const ggml_tensor* node, int i) {
  float value;
  std::memcpy(&value, node->op_params + i, sizeof value);
  return value;
}

// Formats that both have. -1: the library has none.
int format_of(ggml_type type);

// Whether the processor multiplies halves: then products of F16 are in halves, as ggml's own are.
inline bool multiplies_halves() { return (fovea::platform::processor_features() & FOVEA_FEATURE_NEON_FP16) != 0; }

// From an element to the next, or, in formats of blocks, a byte: what the library counts strides in.
inline size_t unit_of(ggml_type type) { return ggml_is_quantized(type) ? 1 : ggml_type_size(type); }
inline ptrdiff_t stride(const ggml_tensor* t, int i) { return static_cast<ptrdiff_t>(t->nb[i] / unit_of(t->type)); }

inline size_t aligned(size_t bytes) {
  return (bytes + FOVEA_WORKSPACE_ALIGNMENT - 1) / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
}

// Whether strides are whole numbers of units, and the elements of a row adjacent.
bool has_rows(const ggml_tensor* tensor);

// Row r, of floats.
inline float* row_of(const ggml_tensor* t, int64_t r) {
  const int64_t i1 = r % t->ne[1], i2 = r / t->ne[1] % t->ne[2], i3 = r / t->ne[1] / t->ne[2];
  return reinterpret_cast<float*>(static_cast<char*>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3]);
}

// One row as floats: a copy, whatever its format.
bool widens(const ggml_tensor* rows);
void widen(const ggml_tensor* rows, const void* row, float* out);

// Whether a buffer is of this backend's own type.
bool is_ours(ggml_backend_buffer* buffer);

// False, with a line on stderr, if the status is not FOVEA_OK.
bool report(const ggml_tensor* node, fovea_status status);

}  // namespace fovea_ggml

#endif  // FOVEA_GGML_CONTEXT_H_
