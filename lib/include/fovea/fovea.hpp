// SPDX-License-Identifier: Apache-2.0
//
// fovea for C++17: names, types and defaults over fovea.h, which stays the manual. Nothing here computes, but for the
// loops that modifiers run around a function of the caller's. Nothing allocates, throws or needs the standard library;
// every function is one call of C.
//
//     fovea::AttentionDesc desc;                        // all zero, struct_bytes filled in
//     desc.q_heads = 8; ...
//     fovea::Plan plan;
//     if (plan.init(desc) != FOVEA_OK) ...
//     fovea::AttentionArgs args;
//     args.q = fovea::heads_first(q, 8, tokens, 64);    // [batch][heads][tokens][dim]
//     ...
//     plan.run(args, workspace);
#ifndef FOVEA_FOVEA_HPP_
#define FOVEA_FOVEA_HPP_

#include <cstddef>
#include <cstdint>
#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

#include "fovea/fovea.h"

namespace fovea {

// ------------------------------------------------------------------------------------------------------- names

using Status = fovea_status;
using Target = fovea_target;

inline const char* to_string(Status status) { return fovea_status_string(status); }
inline const char* to_string(Target target) {
  return fovea_target_name(target);
}  // NULL for a number that is no target

// A structure of C whose members are 0, but for its size.
template <class C>
struct Sized : C {
  constexpr Sized() : C{} { this->struct_bytes = sizeof(C); }
};

// ------------------------------------------------------------------------------------------------------- views

// A pointer and a count of elements: std::span where the standard library has it. Converts from an array, and from
// whatever has data() and size().
#if defined(__cpp_lib_span)
template <class T>
using Span = std::span<T>;
#else
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <std::size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}
  template <class U, class = decltype(Span(static_cast<U*>(nullptr), 0))>
  constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}
  template <class C, class = decltype(Span(static_cast<C*>(nullptr)->data(), static_cast<C*>(nullptr)->size()))>
  constexpr Span(C& container) : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};
#endif

// Aligned memory for what a macro of fovea.h sizes: a static array, or a member.
//     static fovea::Memory<FOVEA_LINEAR_WORKSPACE_BYTES(384, FOVEA_I8)> workspace;
template <std::size_t Bytes>
struct alignas(FOVEA_WORKSPACE_ALIGNMENT) Memory {
  std::byte bytes[Bytes];

  constexpr operator Span<std::byte>() { return {bytes, sizeof bytes}; }
};

// An array [batch][heads][tokens][dim] whose dimensions lie in any order in memory: its first element, and how many
// elements lie between neighbours in each dimension. The last dimension is contiguous.
template <class T>
struct View {
  T* data;
  std::ptrdiff_t batch_stride, head_stride, token_stride;

  // The elements of one token of one head.
  constexpr T* row(std::size_t batch, std::size_t head, std::size_t token) const {
    return data + static_cast<std::ptrdiff_t>(batch) * batch_stride + static_cast<std::ptrdiff_t>(head) * head_stride +
           static_cast<std::ptrdiff_t>(token) * token_stride;
  }

  constexpr operator fovea_in() const { return {data, batch_stride, head_stride, token_stride}; }
  constexpr operator fovea_out() const { return {data, batch_stride, head_stride, token_stride}; }  // T is not const
};

// Memory in the order [batch][heads][tokens][dim].
template <class T>
constexpr View<T> heads_first(T* data, std::size_t heads, std::size_t tokens, std::size_t dim) {
  return {data, static_cast<std::ptrdiff_t>(heads * tokens * dim), static_cast<std::ptrdiff_t>(tokens * dim),
          static_cast<std::ptrdiff_t>(dim)};
}

// Memory in the order [batch][tokens][heads][dim].
template <class T>
constexpr View<T> tokens_first(T* data, std::size_t tokens, std::size_t heads, std::size_t dim) {
  return {data, static_cast<std::ptrdiff_t>(tokens * heads * dim), static_cast<std::ptrdiff_t>(dim),
          static_cast<std::ptrdiff_t>(heads * dim)};
}

// Memory in the order [batch][tokens][dim], for a multi-head layer's tokens, which have no heads yet.
template <class T>
constexpr View<T> tokens_of(T* data, std::size_t tokens, std::size_t dim) {
  return {data, static_cast<std::ptrdiff_t>(tokens * dim), 0, static_cast<std::ptrdiff_t>(dim)};
}

// Queries, keys and values as one projection writes them: [batch][tokens][q_heads + kv_heads + kv_heads][dim], which
// with equal heads is [batch][tokens][3][heads][dim].
template <class T>
struct PackedQkv {
  View<T> q, keys, values;
};

template <class T>
constexpr PackedQkv<T> packed_qkv(T* data, std::size_t tokens, std::size_t q_heads, std::size_t kv_heads,
                                  std::size_t dim) {
  const View<T> q = tokens_first(data, tokens, q_heads + 2 * kv_heads, dim);
  View<T> keys = q, values = q;
  keys.data = q.row(0, q_heads, 0);
  values.data = q.row(0, q_heads + kv_heads, 0);
  return {q, keys, values};
}

// ----------------------------------------------------------------------------------------------------- softmax

// The structures of C with struct_bytes filled in and everything else zero, which is each field's simplest choice.
using SoftmaxArgs = Sized<fovea_softmax_args>;

inline Status softmax(const fovea_softmax_args& args) { return fovea_softmax_f32(&args); }
inline Status log_softmax(const fovea_softmax_args& args) { return fovea_log_softmax_f32(&args); }

// The arguments for one row of in.size() elements. out is as long as in, and may be the same memory.
inline SoftmaxArgs softmax_row(Span<float> out, Span<const float> in, float scale = 1.0f) {
  SoftmaxArgs args;
  args.out = out.data();
  args.in = in.data();
  args.out_axis_stride = args.in_axis_stride = 1;
  args.outer = args.inner = 1;
  args.axis = in.size();
  args.scale = scale;
  return args;
}

// One row. FOVEA_ERR_SIZE when out is not as long as in.
inline Status softmax(Span<float> out, Span<const float> in, float scale = 1.0f) {
  return out.size() == in.size() ? softmax(softmax_row(out, in, scale)) : FOVEA_ERR_SIZE;
}

inline Status log_softmax(Span<float> out, Span<const float> in, float scale = 1.0f) {
  return out.size() == in.size() ? log_softmax(softmax_row(out, in, scale)) : FOVEA_ERR_SIZE;
}

// ------------------------------------------------------------------------------------------- integer attention

struct IntegerAttentionArgs : Sized<fovea_integer_attention_args> {
  // FOVEA_ERR_NUMBER where a number has no such multiplier and shift.
  Status set_score(double octaves) { return fovea_integer_multiplier(octaves, &score_multiplier, &score_shift); }
  Status set_out(double factor) { return fovea_integer_multiplier(factor, &out_multiplier, &out_shift); }
};

inline std::size_t integer_attention_workspace_bytes(const fovea_integer_attention_args& args) {
  return fovea_integer_attention_workspace_bytes(&args);
}
inline Status integer_attention(const fovea_integer_attention_args& args, Span<std::byte> workspace) {
  return fovea_integer_attention(&args, workspace.data(), workspace.size());
}

// -------------------------------------------------------------------------------------------- linear attention

using DeltaArgs = Sized<fovea_delta_args>;

inline std::size_t delta_state_bytes(std::uint32_t batch, std::uint32_t v_heads, std::uint32_t key_dim,
                                     std::uint32_t value_dim, std::uint32_t decay_dim = 1) {
  return fovea_delta_state_bytes(batch, v_heads, key_dim, value_dim, decay_dim);
}
inline std::size_t delta_workspace_bytes(const fovea_delta_args& args) { return fovea_delta_workspace_bytes(&args); }

// What linear attention knows of some sequences, in the caller's memory, to which a DeltaState refers; a copy of a
// DeltaState is another name for the same state. Until begin or import_from has returned FOVEA_OK, the other functions
// return FOVEA_ERR_NULL.
class DeltaState {
 public:
  // memory: at least delta_state_bytes of these counts, 64-byte aligned.
  Status begin(Span<std::byte> memory, std::uint32_t batch, std::uint32_t v_heads, std::uint32_t key_dim,
               std::uint32_t value_dim, std::uint32_t decay_dim = 1) {
    fovea_delta_state* const state = reinterpret_cast<fovea_delta_state*>(memory.data());
    return attach(state, fovea_delta_begin(state, memory.size(), batch, v_heads, key_dim, value_dim, decay_dim));
  }
  // Begins an entry again, or all of them, from zeros or from given matrices.
  Status reset(std::uint32_t entry = FOVEA_ALL_ENTRIES) { return fovea_delta_set(state_, entry, nullptr); }
  Status set(const fovea_in& matrices, std::uint32_t entry = FOVEA_ALL_ENTRIES) {
    return fovea_delta_set(state_, entry, &matrices);
  }
  Status get(const fovea_out& matrices, Target target = FOVEA_TARGET_BEST,
             std::uint32_t entry = FOVEA_ALL_ENTRIES) const {
    return fovea_delta_get(state_, target, entry, &matrices);
  }

  Status run(const fovea_delta_args& args, Span<std::byte> workspace) {
    return fovea_delta(state_, &args, workspace.data(), workspace.size());
  }

  // How many of the last tokens can be rolled back.
  std::uint32_t pending(std::uint32_t entry = FOVEA_ALL_ENTRIES) const { return fovea_delta_pending(state_, entry); }
  Status roll_back(std::uint32_t tokens, std::uint32_t entry = FOVEA_ALL_ENTRIES) {
    return fovea_delta_roll_back(state_, entry, tokens);
  }

  // Writes the state's image, which has state_bytes() bytes, and makes a state from an image.
  Status export_to(Span<std::byte> image) const { return fovea_delta_export(state_, image.data(), image.size()); }
  Status import_from(Span<std::byte> memory, Span<const std::byte> image) {
    fovea_delta_state* const state = reinterpret_cast<fovea_delta_state*>(memory.data());
    return attach(state, fovea_delta_import(state, memory.size(), image.data(), image.size()));
  }

  std::size_t state_bytes() const {
    return state_ ? delta_state_bytes(state_->batch, state_->v_heads, state_->key_dim, state_->value_dim,
                                      state_->decay_dim)
                  : 0;
  }
  const fovea_delta_state* state() const { return state_; }

 private:
  Status attach(fovea_delta_state* state, Status status) {
    state_ = status == FOVEA_OK ? state : nullptr;
    return status;
  }

  fovea_delta_state* state_ = nullptr;
};

// ------------------------------------------------------------------------------------- what stands beside attention

using NormArgs = Sized<fovea_norm_args>;
using ActivationArgs = Sized<fovea_activation_args>;
using Conv1dArgs = Sized<fovea_conv1d_args>;

inline Status norm(const fovea_norm_args& args) { return fovea_norm_f32(&args); }
inline Status activation(const fovea_activation_args& args) { return fovea_activation_f32(&args); }
inline Status conv1d(const fovea_conv1d_args& args) { return fovea_conv1d_f32(&args); }

// -------------------------------------------------------------------------------------------------------- rope

using RopeArgs = Sized<fovea_rope_args>;

inline Status rope(const fovea_rope_args& args) { return fovea_rope_f32(&args); }

// The number of turns is half of rotary_dim.
inline Status rope_frequencies(Span<std::uint64_t> turns, double base = 0, double position_scale = 0) {
  if (turns.size() > 0x7fffffff) return FOVEA_ERR_SIZE;
  const auto rotary_dim = static_cast<std::uint32_t>(2 * turns.size());
  return fovea_rope_frequencies(turns.data(), base, position_scale, rotary_dim);
}

// ------------------------------------------------------------------------------------------------------ linear

using LinearArgs = Sized<fovea_linear_args>;

inline std::size_t linear_workspace_bytes(const fovea_linear_args& args) { return fovea_linear_workspace_bytes(&args); }

inline Status linear(const fovea_linear_args& args, Span<std::byte> workspace) {
  return fovea_linear(&args, workspace.data(), workspace.size());
}

// --------------------------------------------------------------------------------------------------- attention

using AttentionDesc = Sized<fovea_attention_desc>;
using AttentionArgs = Sized<fovea_attention_args>;

// Memory for calls on f32 arrays by one worker, without a budget: a static array, or a member. For other formats and
// sources use Memory<FOVEA_KV_WORKSPACE_BYTES(HeadDim, ValueDim)>, for integer products
// Memory<FOVEA_I8_WORKSPACE_BYTES(HeadDim, ValueDim)>.
template <std::size_t HeadDim, std::size_t ValueDim = HeadDim>
using Workspace = Memory<FOVEA_WORKSPACE_BYTES(HeadDim, ValueDim)>;

// A plan: init makes it once, then it is read-only. Until init has returned FOVEA_OK, run returns FOVEA_ERR_PLAN.
class Plan {
 public:
  Status init(const fovea_attention_desc& desc) { return fovea_plan_init(&plan_, &desc); }

  std::size_t workspace_bytes() const { return fovea_workspace_bytes(&plan_); }
  std::size_t slow_workspace_bytes(std::size_t workspace_bytes) const {
    return fovea_slow_workspace_bytes(&plan_, workspace_bytes);
  }
  // Bytes of a stream's state for these counts.
  std::size_t state_bytes(std::uint32_t batch, std::uint32_t q_tokens) const {
    return fovea_state_bytes(&plan_, batch, q_tokens);
  }
  Target target() const { return plan_.desc.target; }
  const fovea_plan& get() const { return plan_; }

  // Writes one line that says what a call of these counts will do. Like snprintf, returns the length of the whole line
  // without the closing 0.
  std::size_t describe(std::uint32_t q_tokens, std::uint32_t kv_tokens, Span<char> text) const {
    return fovea_plan_describe(&plan_, q_tokens, kv_tokens, text.data(), text.size());
  }

  Status run(const fovea_attention_args& args, void* workspace, std::size_t workspace_bytes) const {
    return fovea_attention(&plan_, &args, workspace, workspace_bytes);
  }
  Status run(const fovea_attention_args& args, Span<std::byte> workspace) const {
    return run(args, workspace.data(), workspace.size());
  }
  // With a fast and a slow part of workspace, where no single region is large enough.
  Status run(const fovea_attention_args& args, Span<std::byte> workspace, Span<std::byte> slow_workspace) const {
    fovea_attention_args with_slow = args;
    with_slow.slow_workspace = slow_workspace.data();
    with_slow.slow_workspace_bytes = slow_workspace.size();
    return run(with_slow, workspace);
  }

 private:
  fovea_plan plan_{};
};

// -------------------------------------------------------------------------------------------------- block maps

using BlockMapArgs = Sized<fovea_block_map_args>;

inline Status make_block_map(const fovea_block_map_args& args, fovea_block_map& map) {
  return fovea_block_map_make(&args, &map);
}
inline std::uint32_t block_map_count(const fovea_block_map_args& args) { return fovea_block_map_count(&args); }

// The arguments with a function that says what a block of queries sees of a block of keys, a lambda for instance. It is
// called as fovea_block_kind(const fovea_block& block), and is not needed once the map is made.
template <class F>
BlockMapArgs classified_by(const F& f, const fovea_block_map_args& args) {
  BlockMapArgs result;
  static_cast<fovea_block_map_args&>(result) = args;
  result.classify = [](void* self, const fovea_block* block) -> fovea_block_kind {
    return (*static_cast<const F*>(self))(*block);
  };
  result.self = const_cast<void*>(static_cast<const void*>(&f));
  return result;
}

template <class F>
Status make_block_map(const fovea_block_map_args& args, const F& classify, fovea_block_map& map) {
  return make_block_map(classified_by(classify, args), map);
}
template <class F>
std::uint32_t block_map_count(const fovea_block_map_args& args, const F& classify) {
  return block_map_count(classified_by(classify, args));
}

// mask: row i begins at mask + i * row_stride.
inline Status tree_mask(Span<const std::int32_t> parents, std::uint8_t* mask, std::size_t row_stride) {
  if (parents.size() > 0xffffffff) return FOVEA_ERR_SIZE;
  return fovea_tree_mask(parents.data(), static_cast<std::uint32_t>(parents.size()), mask, row_stride);
}

// --------------------------------------------------------------------------------------------------- modifiers

// Where a score or a weight stands.
struct ScorePlace {
  std::uint32_t batch;    // the entry
  std::uint32_t head;     // of the query
  std::uint32_t token;    // of the query, in its entry
  std::int64_t position;  // of the query
  std::int64_t key;
  std::int32_t relative;  // key - position, below 2^31

  // From the key to the query: negative for keys behind it.
  float distance() const { return -static_cast<float>(relative); }
};

// The elements of a block, of which a function changes each. Neighbours in memory are taken 8 or 4 at a time, in arrays
// that nothing else refers to and loops of constant counts: so compilers make vectors of them, without checks.
class ScoreBlock {
 public:
  explicit ScoreBlock(const fovea_score_block& block)
      : block_(block), first_relative_(static_cast<std::uint32_t>(block.first_key - block.first_position)) {}

  template <class F>
  void change(const F& f) const {
    if (block_.key_stride == 1) {
      for (std::size_t r = 0; r < block_.rows; ++r) change_row(f, r);
    } else {
      std::size_t r = 0;
      for (; block_.rows - r >= 8; r += 8) change_rows<8>(f, r);
      if (block_.rows - r >= 4) change_rows<4>(f, r), r += 4;
      for (std::size_t rest = block_.rows % 4; rest > 0; --rest, ++r) change_rows<1>(f, r);
    }
  }

 private:
  ScorePlace place(std::uint32_t head, std::uint32_t token, std::size_t key) const {
    const auto relative = static_cast<std::int32_t>(first_relative_ + static_cast<std::uint32_t>(key) - token);
    return {block_.batch, head, token, block_.first_position + token, block_.first_key + static_cast<std::int64_t>(key),
            relative};
  }

  // kCount elements from x on, of which place_of(i) says where each stands.
  template <std::size_t kCount, class F, class PlaceOf>
  static void change_some(float* x, const F& f, const PlaceOf& place_of) {
    float own[kCount];
    for (std::size_t i = 0; i < kCount; ++i) own[i] = f(x[i], place_of(i));
    for (std::size_t i = 0; i < kCount; ++i) x[i] = own[i];
  }

  template <class F>
  void change_row(const F& f, std::size_t row) const {
    const std::uint32_t head = block_.heads[row], token = block_.tokens[row];
    float* const x = block_.data + static_cast<std::ptrdiff_t>(row) * block_.row_stride;
    std::size_t k = 0;
    for (; block_.keys - k >= 8; k += 8) {
      change_some<8>(x + k, f, [&](std::size_t i) { return place(head, token, k + i); });
    }
    for (std::size_t rest = block_.keys % 8; rest > 0; --rest, ++k) x[k] = f(x[k], place(head, token, k));
  }

  // All keys of kCount rows.
  template <std::size_t kCount, class F>
  void change_rows(const F& f, std::size_t row) const {
    std::uint32_t heads[kCount], tokens[kCount];
    for (std::size_t i = 0; i < kCount; ++i) heads[i] = block_.heads[row + i];
    for (std::size_t i = 0; i < kCount; ++i) tokens[i] = block_.tokens[row + i];
    float* x = block_.data + row;
    for (std::size_t k = 0; k < block_.keys; ++k, x += block_.key_stride) {
      change_some<kCount>(x, f, [&](std::size_t i) { return place(heads[i], tokens[i], k); });
    }
  }

  const fovea_score_block& block_;
  std::uint32_t first_relative_;
};

// A modifier of scores: a function float(float score, const ScorePlace& at) of each score, a lambda for instance. It
// may be called from several threads at once, and does not throw. The modifier holds the function and stays where it is
// as long as arguments refer to it.
//     const fovea::ScoreModifier alibi([](float score, const fovea::ScorePlace& at) {
//       return score - 0.1f * at.distance();
//     });
//     args.modifier = &alibi;
template <class F>
class ScoreModifier : public fovea_modifier {
 public:
  explicit ScoreModifier(F f) : fovea_modifier{change, nullptr, this}, f_(f) {}
  ScoreModifier(const ScoreModifier&) = delete;
  ScoreModifier& operator=(const ScoreModifier&) = delete;

 private:
  static void change(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const ScoreModifier*>(self)->f_);
  }

  F f_;
};

// The same for weights.
template <class F>
class WeightModifier : public fovea_modifier {
 public:
  explicit WeightModifier(F f) : fovea_modifier{nullptr, change, this}, f_(f) {}
  WeightModifier(const WeightModifier&) = delete;
  WeightModifier& operator=(const WeightModifier&) = delete;

 private:
  static void change(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const WeightModifier*>(self)->f_);
  }

  F f_;
};

// Both, a function for each.
template <class Scores, class Weights>
class Modifier : public fovea_modifier {
 public:
  Modifier(Scores of_scores, Weights of_weights)
      : fovea_modifier{change_scores, change_weights, this}, scores_(of_scores), weights_(of_weights) {}
  Modifier(const Modifier&) = delete;
  Modifier& operator=(const Modifier&) = delete;

 private:
  static void change_scores(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const Modifier*>(self)->scores_);
  }
  static void change_weights(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const Modifier*>(self)->weights_);
  }

  Scores scores_;
  Weights weights_;
};

// ----------------------------------------------------------------------------------------------------- threads

// What an executor runs: it calls the task once for each index, with a worker that no other task has at the same time.
struct Task {
  void (*function)(void* arg, std::size_t index, std::uint32_t worker);
  void* arg;

  void operator()(std::size_t index, std::uint32_t worker) const { function(arg, index, worker); }
};

// Makes an executor from anything that can be called as int(std::size_t tasks, fovea::Task task) and does not throw, a
// lambda for instance. The executor refers to f, which must stay where it is as long as the executor is used.
//     auto run = [&](std::size_t tasks, fovea::Task task) {
//       pool.parallel_for(tasks, [=](std::size_t i) { task(i, pool.this_worker()); });
//       return 0;
//     };
//     const fovea_executor executor = fovea::executor_of(run, pool.workers());
//     args.executor = &executor;
template <class F>
fovea_executor executor_of(F& f, std::uint32_t workers) {
  fovea_executor executor{};
  executor.run = [](void* self, std::size_t tasks, void (*function)(void*, std::size_t, std::uint32_t), void* arg) {
    return static_cast<int>((*static_cast<F*>(self))(tasks, Task{function, arg}));
  };
  executor.self = const_cast<void*>(static_cast<const void*>(&f));
  executor.workers = workers;
  return executor;
}
template <class F>
fovea_executor executor_of(const F&& f, std::uint32_t workers) = delete;  // a temporary f would be gone

// ----------------------------------------------------------------------------------------------------- streams

// Memory for a stream's state, for Rows = batch * q_heads * q_tokens: a static array, or a member.
template <std::size_t Rows, std::size_t ValueDim>
using State = Memory<FOVEA_STATE_BYTES(Rows, ValueDim)>;

// Attention over keys that come in pieces. A Stream refers to its plan and to the state in the caller's memory; a copy
// of a Stream is another name for the same state. Until begin or import_from has returned FOVEA_OK, the other functions
// return FOVEA_ERR_NULL.
class Stream {
 public:
  // memory: at least plan.state_bytes(batch, q_tokens), 64-byte aligned.
  Status begin(const Plan& plan, Span<std::byte> memory, std::uint32_t batch, std::uint32_t q_tokens,
               std::int64_t first_key = 0) {
    fovea_state* const state = reinterpret_cast<fovea_state*>(memory.data());
    return attach(plan, state, fovea_stream_begin(&plan.get(), state, memory.size(), batch, q_tokens, first_key));
  }
  Status push(const fovea_attention_args& args, Span<std::byte> workspace) {
    return fovea_stream_push(plan_, state_, &args, workspace.data(), workspace.size());
  }
  // Takes in what the other stream has seen; the other stays as it is.
  Status merge(const Stream& other) { return fovea_stream_merge(plan_, state_, other.state_); }
  Status end(const fovea_attention_args& args, Span<std::byte> workspace) const {
    return fovea_stream_end(plan_, state_, &args, workspace.data(), workspace.size());
  }

  // Writes the state's image, which has state_bytes() bytes, and makes a state from an image.
  Status export_to(Span<std::byte> image) const { return fovea_stream_export(state_, image.data(), image.size()); }
  Status import_from(const Plan& plan, Span<std::byte> memory, Span<const std::byte> image) {
    fovea_state* const state = reinterpret_cast<fovea_state*>(memory.data());
    return attach(plan, state, fovea_stream_import(state, memory.size(), image.data(), image.size()));
  }

  std::size_t state_bytes() const { return state_ ? fovea_state_bytes(plan_, state_->batch, state_->q_tokens) : 0; }
  std::int64_t next_key() const { return state_ ? state_->next_key : 0; }
  const fovea_state* state() const { return state_; }

 private:
  Status attach(const Plan& plan, fovea_state* state, Status status) {
    plan_ = status == FOVEA_OK ? &plan.get() : nullptr;
    state_ = status == FOVEA_OK ? state : nullptr;
    return status;
  }

  const fovea_plan* plan_ = nullptr;
  fovea_state* state_ = nullptr;
};

// ------------------------------------------------------------------------------------------------------ caches

// The first part of a cache: its kind, formats and sizes.
using KvCacheDesc = Sized<fovea_kv_cache>;
using KvAppendArgs = Sized<fovea_kv_append_args>;

inline std::size_t kv_cache_bytes(const fovea_kv_cache& desc) { return fovea_kv_cache_bytes(&desc); }

// The keys and values of some sequences. They and their lengths lie in the caller's memory, to which a KvCache refers;
// a copy of a KvCache is another name for the same cache. Until init has returned FOVEA_OK, the other functions return
// FOVEA_ERR_PLAN. An init that fails leaves the KvCache as it was.
class KvCache {
 public:
  // memory: at least kv_cache_bytes(desc), 64-byte aligned.
  Status init(const fovea_kv_cache& desc, Span<std::byte> memory) {
    fovea_kv_cache cache = desc;
    const Status status = fovea_kv_cache_init(&cache, memory.data(), memory.size());
    if (status == FOVEA_OK) cache_ = cache;
    return status;
  }

  Status append(const fovea_kv_append_args& args) { return fovea_kv_append(&cache_, &args); }
  Status truncate(std::uint32_t entry, std::uint32_t length) { return fovea_kv_truncate(&cache_, entry, length); }
  Status reset(std::uint32_t entry = FOVEA_ALL_ENTRIES) { return fovea_kv_reset(&cache_, entry); }
  Status set_length(std::uint32_t entry, std::uint32_t length, std::uint32_t first_token = 0) {
    return fovea_kv_set_length(&cache_, entry, length, first_token);
  }
  // Makes this entry the first tokens of an entry of another cache, or of another entry of this one.
  Status copy(std::uint32_t entry, const KvCache& from, std::uint32_t from_entry, std::uint32_t tokens) {
    return fovea_kv_copy(&cache_, entry, &from.cache_, from_entry, tokens);
  }

  Status describe(fovea_attention_desc& desc) const { return fovea_kv_describe(&cache_, &desc); }
  Status attach(fovea_attention_args& args) const { return fovea_kv_attach(&cache_, &args); }

  const fovea_kv_cache& get() const { return cache_; }  // lengths, and the page table, which the caller fills in

 private:
  friend class Multihead;
  fovea_kv_cache cache_ = KvCacheDesc();
};

// ------------------------------------------------------------------------------------------- multi-head layers

struct MultiheadDesc : Sized<fovea_multihead_desc> {
  constexpr MultiheadDesc() { attention.struct_bytes = sizeof(fovea_attention_desc); }
};

struct MultiheadArgs : Sized<fovea_multihead_args> {
  constexpr MultiheadArgs() { attention.struct_bytes = sizeof(fovea_attention_args); }
};

// Dense f32 weights [out][in]; bias [out] or null.
inline fovea_linear_weights linear_weights(const float* data, std::size_t in_dim, const float* bias = nullptr) {
  fovea_linear_weights weights{};
  weights.dtype = FOVEA_F32;
  weights.data = data;
  weights.row_stride = static_cast<std::ptrdiff_t>(in_dim);
  weights.bias = bias;
  return weights;
}

// A multi-head layer: init plans it once, then it is read-only. Until init has returned FOVEA_OK, the other functions
// return FOVEA_ERR_PLAN.
class Multihead {
 public:
  Status init(const fovea_multihead_desc& desc) { return fovea_multihead_plan_init(&plan_, &desc); }

  std::size_t workspace_bytes() const { return fovea_multihead_workspace_bytes(&plan_); }
  const fovea_multihead_plan& get() const { return plan_; }

  Status run(const fovea_multihead_args& args, Span<std::byte> workspace) const {
    return fovea_multihead(&plan_, &args, workspace.data(), workspace.size());
  }
  // Projects keys and values into a cache.
  Status append(KvCache& cache, const fovea_multihead_args& args, Span<std::byte> workspace) const;

 private:
  fovea_multihead_plan plan_{};
};

inline Status Multihead::append(KvCache& cache, const fovea_multihead_args& args, Span<std::byte> workspace) const {
  return fovea_multihead_append(&plan_, &cache.cache_, &args, workspace.data(), workspace.size());
}

}  // namespace fovea

#endif  // FOVEA_FOVEA_HPP_
