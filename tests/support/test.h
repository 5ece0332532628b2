// SPDX-License-Identifier: Apache-2.0
//
// What nearly every file of cases takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.h"
#include "fovea/fovea.h"
#include "support/array.h"
#include "support/bits.h"
#include "support/covering.h"
#include "support/every.h"
#include "support/formats.h"
#include "support/guarded.h"
#include "support/heap_trap.h"
#include "support/problem.h"
#include "support/text.h"
#include "support/tolerance.h"

namespace fovea_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A pointer some bytes further on.
template <class T>
T* shifted(const void* data, ptrdiff_t bytes) {
  return reinterpret_cast<T*>(const_cast<char*>(static_cast<const char*>(data)) + bytes);
}

// A call that must be refused: what is wrong, which may be left out, the status, and what makes it wrong.
template <class Call>
struct Misuse {
  Misuse(std::string what_, fovea_status want_, std::function<void(Call&)> change_)
      : what(std::move(what_)), want(want_), change(std::move(change_)) {}
  Misuse(fovea_status want_, std::function<void(Call&)> change_) : Misuse("", want_, std::move(change_)) {}

  std::string what;
  fovea_status want;
  std::function<void(Call&)> change;
};

// All targets, and the first once more as BEST.
inline std::vector<fovea_target> targets_and_best() {
  std::vector<fovea_target> all = targets();
  all.push_back(FOVEA_TARGET_BEST);
  return all;
}

// What a run that answers writes.
inline Outputs run(AttentionCase& test, const Run& how) {
  const std::string failed = test.run_unchecked(how);
  INFO(failed);
  REQUIRE(failed.empty());
  return test.outputs();
}

inline fovea_attention_plan plan_of(const fovea_attention_desc& desc) {
  fovea_attention_plan plan{};
  REQUIRE(fovea_attention_plan_init(&plan, &desc) == FOVEA_OK);
  return plan;
}

// A call in a workspace of its own; of a case, with the plan of the last run.
inline fovea_status call_of(const fovea_attention_plan& plan, const fovea_attention_args& args) {
  const Guarded workspace(made(plan).workspace_bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  return fovea_attention(&plan, &args, workspace.as<void>(), workspace.bytes());
}
inline fovea_status call_again(const AttentionCase& test, const fovea_attention_args& args) {
  return call_of(test.plan, args);
}

// Calls with some queries at a time, one, two and so on up to `most`, then one again: into the outputs of the case, which
// has a mask of one entry's or head's own rows, and positions where queries are not told apart without them.
inline void call_with_some_queries(AttentionCase& test, uint32_t most) {
  const Problem& p = test.problem;
  fovea_attention_args part = test.args;
  std::vector<int64_t> positions = p.positions;
  if (!positions.empty()) part.first_positions = positions.data();
  test.fill_outputs();
  for (uint32_t first = 0, step = 0; first < p.q_tokens; first += part.q_tokens, ++step) {
    part.q_tokens = std::min(1 + step % most, p.q_tokens - first);
    part.q.data = row_bytes(test.args.q, unit_size(p.q_dtype), 0, 0, first);
    part.out.data = row_bytes(test.args.out, unit_size(p.out_dtype), 0, 0, first);
    part.lse.data = row(test.args.lse, 0, 0, first);
    if (p.mask != FOVEA_MASK_NONE) {
      const size_t mask_bytes = first * size_t(test.args.mask.q_stride) * mask_element_size(p.mask);
      part.mask.data = static_cast<const uint8_t*>(test.args.mask.data) + mask_bytes;
    }
    for (size_t b = 0; b < positions.size(); ++b) positions[b] = p.positions[b] + first;
    REQUIRE(call_again(test, part) == FOVEA_OK);
  }
}

// The call of one entry of a ragged call.
inline fovea_attention_args entry_of(const fovea_attention_args& ragged, uint32_t b) {
  const uint32_t first_q = ragged.q_offsets[b], first_key = ragged.kv_offsets[b];
  const auto skip = [](auto& array, uint32_t tokens) {
    array.data = const_cast<float*>(static_cast<const float*>(array.data)) + ptrdiff_t(tokens) * array.token_stride;
  };
  fovea_attention_args one = ragged;
  one.batch = 1, one.q_offsets = one.kv_offsets = nullptr;
  one.q_tokens = ragged.q_offsets[b + 1] - first_q, one.kv_tokens = ragged.kv_offsets[b + 1] - first_key;
  skip(one.q, first_q), skip(one.out, first_q), skip(one.lse, first_q);
  skip(one.kv.keys, first_key), skip(one.kv.values, first_key);
  return one;
}
// Each entry of a ragged call has the bits of a call of its own, whose arguments complete(b, args) completes.
template <class Complete>
void check_ragged(AttentionCase& all, const Complete& complete) {
  all.plan = plan_of(all.desc);
  all.fill_outputs();
  REQUIRE(call_again(all, all.args) == FOVEA_OK);
  const Outputs want = all.outputs();
  all.fill_outputs();
  for (uint32_t b = 0; b < all.args.batch; ++b) {
    fovea_attention_args one = entry_of(all.args, b);
    complete(b, one);
    INFO("entry " << b << " on " << fovea_target_name(all.desc.target));
    REQUIRE(call_again(all, one) == FOVEA_OK);
  }
  CHECK(same_bits(all.outputs(), want));
}

// Each misuse of a call that make() returns has its status from run(call), and untouched(call) says that nothing was
// written.
template <class Call, class Make, class Run, class Untouched>
void check_refused(const std::vector<Misuse<Call>>& all, Make make, Run run, Untouched untouched) {
  for (const auto& misuse : all) {
    INFO(misuse.what);
    set_current_case(misuse.what);
    Call call = make();
    misuse.change(call);
    CHECK(std::string(fovea_status_string(run(call))) == fovea_status_string(misuse.want));
    CHECK(untouched(call));
  }
}

// The workspace of a call that may be wrong.
struct CallMemory {
  explicit CallMemory(size_t bytes) : memory(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart) {}
  Guarded memory;
  char* workspace = memory.as<char>();
  size_t workspace_bytes = memory.bytes();
};

// The arguments of a call, which may be the call.
template <class Call>
auto arguments_of(Call& call, int) -> decltype((call.args)) {
  return call.args;
}
template <class Call>
Call& arguments_of(Call& call, long) {
  return call;
}

// The place of a field in its structure.
template <class T, class Args>
std::string place_of(T Args::* field) {
  const Args args{};
  const auto at = reinterpret_cast<const char*>(&(args.*field)) - reinterpret_cast<const char*>(&args);
  return Text() << "the field at byte " << size_t(at);
}

// Adds that a change of a field is refused.
template <class Call, class T, class Args, class Change>
void add_misuse(std::vector<Misuse<Call>>& all, fovea_status want, T Args::* field, Change change) {
  all.push_back({place_of(field), want, [=](Call& c) { change(arguments_of(c, 0).*field); }});
}

// Adds that each of these fields is refused with each of these values.
template <class Call, class T, class Args>
void add_misuses(std::vector<Misuse<Call>>& all, fovea_status want, std::initializer_list<T Args::*> fields,
                 std::initializer_list<std::common_type_t<T>> values) {
  for (T Args::* const field : fields) {
    for (const T value : values) {
      add_misuse(all, want, field, [=](T& x) { x = value; });
      all.back().what += std::string(Text() << ", value " << size_t(&value - values.begin()));
    }
  }
}

// Adds that these pointers are refused where they are off their alignment.
template <class Call, class... Pointers>
void add_misaligned(std::vector<Misuse<Call>>& all, Pointers... fields) {
  const auto shift = [](auto*& pointer) { pointer = shifted<std::remove_reference_t<decltype(*pointer)>>(pointer, 1); };
  (add_misuse(all, FOVEA_ERR_ALIGNMENT, fields, shift), ...);
}

// Adds that each of these arrays is refused where it begins at place(call), which is written.
template <class Call, class Array, class Args, class Place>
void add_overlaps(std::vector<Misuse<Call>>& all, std::initializer_list<Array Args::*> arrays, Place place) {
  for (Array Args::* const array : arrays) {
    all.push_back({place_of(array), FOVEA_ERR_OVERLAP, [=](Call& c) { (arguments_of(c, 0).*array).data = place(c); }});
  }
}

// Sets what is reserved for later versions.
template <class Struct>
void set_reserved(Struct& structure) {
  std::memset(&structure.reserved, 1, sizeof structure.reserved);
}
template <class T, class = void>
constexpr bool kHasReserved = false;
template <class T>
constexpr bool kHasReserved<T, std::void_t<decltype(T::reserved)>> = true;

// Adds that arguments of fewer bytes are refused, those of too many, and those with fields that are not known.
template <class Call>
void add_struct_misuses(std::vector<Misuse<Call>>& all) {
#if defined(FOVEA_TESTS_TRAP_HEAP)
  all.push_back({"struct_bytes", FOVEA_ERR_STRUCT, [](Call& c) { arguments_of(c, 0).struct_bytes += kLaterBytes; }});
#endif
  all.push_back({"struct_bytes", FOVEA_ERR_STRUCT, [](Call& c) { arguments_of(c, 0).struct_bytes -= 12; }});
  if constexpr (kHasReserved<std::decay_t<decltype(arguments_of(std::declval<Call&>(), 0))>>) {
    all.push_back({"reserved", FOVEA_ERR_STRUCT, [](Call& c) { set_reserved(arguments_of(c, 0)); }});
  }
  for (const uint32_t bytes : {0u, 65536u, 0u - 1u}) {
    all.push_back({"struct_bytes", FOVEA_ERR_STRUCT, [=](Call& c) { arguments_of(c, 0).struct_bytes = bytes; }});
  }
}

// And targets that are none, or are not there.
template <class Call>
void add_misuses(std::vector<Misuse<Call>>& all) {
  add_struct_misuses(all);
  for (const uint32_t target : {63u, 77u, 0u - 1u}) {
    all.push_back(
        {"target", FOVEA_ERR_ENUM, [=](Call& c) { arguments_of(c, 0).target = enum_of<fovea_target>(target); }});
  }
  for (const fovea_target target : {FOVEA_TARGET_AVX512, FOVEA_TARGET_NEON, FOVEA_TARGET_HELIUM, FOVEA_TARGET_WASM}) {
    const std::vector<fovea_target> here = targets();
    if (std::find(here.begin(), here.end(), target) != here.end()) continue;
    all.push_back({"target", FOVEA_ERR_TARGET, [=](Call& c) { arguments_of(c, 0).target = target; }});
  }
}

// Adds what is refused of a required array of several entries, heads and tokens whose elements have several bytes; rows
// of outputs may not share their places.
template <class Call, class Array, class Args>
void add_array(std::vector<Misuse<Call>>& all, Array Args::* array) {
  add_misuse(all, FOVEA_ERR_NULL, array, [](Array& a) { a.data = nullptr; });
  add_misuse(all, FOVEA_ERR_ALIGNMENT, array, [](Array& a) { a.data = shifted<char>(a.data, 1); });
  for (ptrdiff_t Array::* const stride : {&Array::batch_stride, &Array::head_stride, &Array::token_stride}) {
    for (const ptrdiff_t far : {PTRDIFF_MAX, PTRDIFF_MAX / 2, PTRDIFF_MAX / 4 + 1, -PTRDIFF_MAX, PTRDIFF_MIN}) {
      add_misuse(all, FOVEA_ERR_SIZE, array, [=](Array& a) { a.*stride = far; });
    }
    if (std::is_same_v<Array, fovea_out>) add_misuse(all, FOVEA_ERR_STRIDE, array, [=](Array& a) { a.*stride = 0; });
  }
}
template <class Call, class... Arrays>
void add_arrays(std::vector<Misuse<Call>>& all, Arrays... arrays) {
  (add_array(all, arrays), ...);
}

// One dense row of these elements in, and one out.
template <class Args>
Args one_row(fovea_target target, size_t dim, const float* x, float* y) {
  auto a = sized<Args>();
  a.target = target, a.batch = a.heads = a.tokens = 1, a.dim = uint32_t(dim), a.x.data = x, a.y.data = y;
  return a;
}

// The best of `count` elements and the first k are those of the row, sorted by is_before(i, j).
template <class T, class Before>
void check_largest(fovea_status (*argmax)(const T*, uint32_t, uint32_t*),
                   fovea_status (*top_k)(const T*, uint32_t, uint32_t, uint32_t*), const T* x, uint32_t count,
                   const Before& is_before) {
  std::vector<uint32_t> sorted(count);
  for (uint32_t i = 0; i < count; ++i) sorted[i] = i;
  // Not by stable_sort, whose memory links exceptions, which some boards have no functions for.
  std::sort(sorted.begin(), sorted.end(), is_before);
  uint32_t best = 77;
  REQUIRE(argmax(x, count, &best) == FOVEA_OK);
  CHECK(best == sorted[0]);
  for (const uint32_t k : std::initializer_list<uint32_t>{0, 1, 2, 3, 7, count / 2, count}) {
    if (k > count) continue;
    Guarded found(k * 4, 4, Placement::kEnd);
    REQUIRE(top_k(x, count, k, found.as<uint32_t>()) == FOVEA_OK);
    CHECK(std::equal(found.as<uint32_t>(), found.as<uint32_t>() + k, sorted.begin()));
    CHECK(found.margin_intact());
  }
}

}  // namespace fovea_test
