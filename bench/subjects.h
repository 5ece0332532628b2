// SPDX-License-Identifier: Apache-2.0
//
// The calls that are timed, with their buffers.
#ifndef FOVEA_BENCH_SUBJECTS_H_
#define FOVEA_BENCH_SUBJECTS_H_

#include <cstddef>
#include <cstdint>

#include "bench/cases.h"
#include "bench/measure.h"
#include "fovea/fovea.h"

namespace fovea::bench {

// Allocates adjacent parts of a range of memory, each 64-byte aligned. Without memory it only counts.
class Arena {
 public:
  Arena() = default;
  Arena(void* memory, size_t bytes) : memory_(static_cast<unsigned char*>(memory)), bytes_(bytes) {}

  template <class T>
  T* take(size_t count) {
    const size_t begin = used_;
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return memory_ && used_ <= bytes_ ? reinterpret_cast<T*>(memory_ + begin) : nullptr;
  }
  size_t used() const { return used_; }

 private:
  unsigned char* memory_ = nullptr;
  size_t bytes_ = 0, used_ = 0;
};

// An array of random floats, uniform over [-half_width, half_width].
class RandomFloats {
 public:
  void take(Arena& arena, size_t count, float half_width);
  float* data() const { return data_; }
  void draw_all();
  void draw_some(uint32_t round);  // draws a part of the array, another part each round

 private:
  void draw(size_t begin, size_t end);

  float* data_ = nullptr;
  size_t count_ = 0;
  float half_width_ = 1;
  uint32_t state_ = 1;
};

// What timed calls have: the output, the workspace, and what the calls returned.
class Subject : public Timed {
 public:
  fovea_status status() const { return status_; }  // of all calls so far: FOVEA_OK, or the last error
  size_t workspace_bytes() const { return workspace_bytes_; }
  bool output_is_finite() const;

 protected:
  ~Subject() = default;
  void note(fovea_status status) {
    if (status != FOVEA_OK) status_ = status;
  }

  float* out_ = nullptr;
  size_t out_count_ = 0, workspace_bytes_ = 0;
  void* workspace_ = nullptr;
  fovea_status status_ = FOVEA_OK;
};

// Bytes of arena that the buffers of a call take.
template <class Call, class... Args>
size_t arena_bytes(const Args&... args) {
  Call call;
  Arena counter;
  call.take(args..., counter);
  return counter.used();
}

class AttentionCall final : public Subject {
 public:
  // Bytes of arena that init needs; 0 if no plan can be made.
  static size_t arena_bytes(const Shape& shape, fovea_target target);

  // Also makes a first call. executor: of shape.threads workers, or null if that is 1.
  fovea_status init(const Shape& shape, fovea_target target, const fovea_executor* executor, Arena& arena);
  void call() override;
  void redraw(uint32_t round) override;

  const fovea_attention_plan& plan() const { return plan_; }

 private:
  void take(const Shape& shape, Arena& arena);
  fovea_status fill(fovea_kv_cache* cache, const fovea_kv_cache_desc& kept, void* memory);
  fovea_status share_prefix();
  fovea_status make_map();
  fovea_status begin(fovea_stream_state* state);
  fovea_status push_all(fovea_stream_state* state);
  fovea_status call_once();

  Shape shape_;
  fovea_attention_plan plan_ = {};
  fovea_attention_args args_ = {};
  fovea_kv_cache cache_ = {};  // unless keys and values are f32 arrays
  fovea_kv_cache prefix_cache_ = {};
  fovea_kv_prefix prefix_ = {};
  void *cache_memory_ = nullptr, *prefix_memory_ = nullptr;
  const fovea_kv_prefix** prefixes_ = nullptr;  // [batch]
  size_t state_bytes_ = 0;
  fovea_stream_state* state_ = nullptr;  // of a stream
  fovea_stream_state* other_ = nullptr;  // to be merged into state_
  RandomFloats q_, keys_, values_, mask_f32_, slopes_, sinks_, score_vector_;
  uint8_t* mask_byte_ = nullptr;
  float* lse_ = nullptr;
  int64_t* positions_ = nullptr;
  size_t mask_count_ = 0;
  fovea_block_map map_ = {};
  uint32_t* map_offsets_ = nullptr;
  uint32_t* map_blocks_ = nullptr;
  fovea_modifier modifier_ = {};
};

class SoftmaxCall final : public Subject {
 public:
  void take(const SoftmaxShape& shape, Arena& arena);
  fovea_status init(const SoftmaxShape& shape, fovea_target target, Arena& arena);  // also makes a first call
  void call() override;
  void redraw(uint32_t round) override;

 private:
  bool log_ = false;
  fovea_softmax_args args_ = {};
  RandomFloats in_, mask_;
};

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_SUBJECTS_H_
