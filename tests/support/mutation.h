// SPDX-License-Identifier: Apache-2.0
//
// Makes all library calls ignore one field, parameter or status of fovea.h, so that the test which checks it must fail.
// The environment variable FOVEA_TEST_IGNORE names it; scripts/check_mutations.py sets it for each row of FIELDS.md.
//
//   reads fovea_attention_desc.softcap    calls read 0 there; a call that refuses 0 gets the next value of Instead. A
//                                         field that is a structure becomes zeros, even if the call refuses them
//   gives fovea_attention_plan.lanes                calls that write it write 0, and callbacks get 0
//   gives FOVEA_ERR_MASK                  calls return FOVEA_OK instead
//   reads fovea_kv_cache_desc.max_tokens = 9   calls read 9 instead of 0
//
// The field changes in every structure of its type that a call can reach, but not in the descriptions that plans hold.
// If a call refuses a value in all of them, the value is tried in each alone. The field is changed in the caller's
// memory for the time of the call, not in a copy: a state must keep the memory that follows it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "support/heap_trap.h"

namespace fovea_test {

struct Structure;

// What a field becomes for a call, in the order in which values are tried until the call is not refused.
enum class Instead {
  kZero,    // or null; or the value in FOVEA_TEST_IGNORE
  kOther,   // 1; memory of zeros, for outputs other memory; a function that does nothing; the right struct_bytes
  kBefore,  // the number before the test changed it
  kOnes,    // memory of bytes 0xff
  kNext,    // one more; an array from its next element on
  kOwn,     // the test's own value
  kGreat,   // 2^30
};

// A field of a structure, or a parameter of a function.
struct Field {
  const char* name;
  size_t offset;
  size_t bytes;
  const Structure* structure;  // which it is, or points to, or to whose address; or null
  bool is_pointer, is_list;    // a list of pointers: of its structures the first is changed
  bool is_number;
  // Writes that value to one of several places; false if the field has no such value. Null: only 0 is tried.
  bool (*put)(void* at, Instead value, size_t index);
};

struct Structure {
  const char* name;
  size_t bytes;
  const Field* fields;
  size_t count;
};

// scripts/wrap_calls.py writes one for each structure of fovea.h.
template <class T>
struct StructureOf {
  static constexpr const Structure* kValue = nullptr;
};

// Memory for pointers where null is refused: g_zeros and g_ones for inputs, never written; g_elsewhere for outputs, at
// multiples of 4 MiB.
extern unsigned char g_zeros[], g_ones[], g_elsewhere[];

template <class Result, class... Arguments>
Result do_nothing(Arguments...) {
  return Result();
}
template <class Result, class... Arguments>
constexpr auto doing_nothing(Result (*)(Arguments...)) {
  return do_nothing<Result, Arguments...>;
}

template <class T>
constexpr bool is_array(T pointer) {
  return pointer != nullptr && StructureOf<std::remove_cv_t<std::remove_pointer_t<T>>>::kValue == nullptr;
}
inline const void* next_element(const void* array) { return static_cast<const float*>(array) + 1; }
template <class T>
const T* next_element(const T* array) {
  return array + 1;
}

template <class T>
bool put(void* at, Instead value, [[maybe_unused]] size_t index) {
  T own;
  std::memcpy(&own, at, sizeof own);
  const auto becomes = [at](T other) {
    std::memcpy(at, &other, sizeof other);
    return true;
  };
  if constexpr (!std::is_pointer_v<T>) {
    if (value == Instead::kOther) return becomes(static_cast<T>(1));
    if (value == Instead::kNext) return becomes(static_cast<T>(own + 1));
    if (value == Instead::kGreat) return becomes(static_cast<T>(1 << 30));
  } else if constexpr (std::is_function_v<std::remove_pointer_t<T>>) {
    if (value == Instead::kOther) return becomes(doing_nothing(T()));
  } else if constexpr (!std::is_const_v<std::remove_pointer_t<T>>) {
    if (value == Instead::kOther) return becomes(reinterpret_cast<T>(g_elsewhere + (index % 16 << 22)));
  } else {
    if (value == Instead::kOther) return becomes(reinterpret_cast<T>(g_zeros));
    if (value == Instead::kOnes) return becomes(reinterpret_cast<T>(g_ones));
    if (value == Instead::kNext && is_array<T>(own)) return becomes(next_element(own));
  }
  return false;
}

// The value of struct_bytes, of which only one is right.
template <class T>
bool put_bytes(void* at, Instead value, size_t) {
  const uint32_t bytes = sizeof(T);
  std::memcpy(at, &bytes, sizeof bytes);
  return value == Instead::kOther;
}

template <class T>
constexpr Field field(const char* name, size_t offset) {
  using Element = std::remove_all_extents_t<T>;
  using Target = std::remove_pointer_t<std::remove_pointer_t<Element>>;
  Field made = {name,
                offset,
                sizeof(T),
                StructureOf<std::remove_cv_t<Target>>::kValue,
                std::is_pointer_v<T>,
                std::is_pointer_v<std::remove_pointer_t<T>>,
                std::is_arithmetic_v<T> || std::is_enum_v<T>,
                nullptr};
  if constexpr (std::is_scalar_v<T>) made.put = put<T>;
  return made;
}

template <class T>
constexpr Field struct_bytes() {
  Field made = field<uint32_t>("struct_bytes", 0);
  made.put = put_bytes<T>;
  return made;
}

// What the library does with a structure.
enum class Use { kRead, kReadAndWritten, kWritten };

// A parameter of a call, and what the library does to the structure, if it points to one.
struct Parameter {
  Field field;
  void* at;
  Use use;
};

// The status of this name, or FOVEA_OK. scripts/wrap_calls.py writes it.
fovea_status status_of(const char* name);

bool anything_is_ignored();
fovea_status given(fovea_status status);  // what the caller gets

// Those of the caller, in whose place stand functions that call them with arguments that lack the field.
struct Callbacks {
  void stand_in_for(fovea_loader* own);
  void stand_in_for(fovea_modifier* own);
  void stand_in_for(fovea_block_map_args* own);

  fovea_loader loader{};
  fovea_modifier modifier{};
  fovea_block_map_args map_args{};
};

// Changes a call's arguments, one attempt after the other.
class Mutation {
 public:
  Mutation(const char* function, std::initializer_list<Parameter> parameters);
  void change();                // for the next attempt
  void restore(bool accepted);  // after it
  bool done() const { return done_; }

 private:
  struct Place {
    const Field* field;  // null: callbacks
    void* at;
    Use use;
    std::vector<unsigned char> before, changed;
  };
  static bool is_zero(const Place& place) {
    return std::all_of(place.before.begin(), place.before.end(), [](unsigned char byte) { return byte == 0; });
  }
  static bool is_structure(const Place& place) {
    return place.field != nullptr && place.field->structure != nullptr && !place.field->is_pointer;
  }
  void find(const char* owner, const Field& field, void* at, Use use);
  void find_in(const Structure& structure, void* at, Use use);
  void find_callbacks(const char* owner, const Field& field, void* at);
  template <class Holder>
  void stand_in_for(void* at, const Field& field);
  Place* add(const Field* field, void* at, size_t bytes, Use use);
  bool try_value(Instead value, const Place* only);
  bool try_next();

  std::vector<Place> places_;
  Callbacks callbacks_;
  size_t attempt_ = 0;
  bool done_ = false;
};

// A call that failed because of a callback or an executor was not refused.
template <class Result>
bool accepted(Result result) {
  if constexpr (std::is_same_v<Result, fovea_status>) {
    return result == FOVEA_OK || result == FOVEA_ERR_LOAD || result == FOVEA_ERR_EXECUTOR;
  } else {
    return result != Result();
  }
}

// Makes a call without the field that is ignored. `parameters` are the call's arguments.
template <class Call>
auto call_ignoring(const char* function, std::initializer_list<Parameter> parameters, Call call) {
  if (!anything_is_ignored()) return call();
  const Within tests(nullptr);
  Mutation mutation(function, parameters);
  for (;;) {
    mutation.change();
    const auto result = call();
    mutation.restore(accepted(result));
    if (!mutation.done()) continue;
    if constexpr (std::is_same_v<decltype(call()), fovea_status>) return given(result);
    return result;
  }
}

}  // namespace fovea_test
