// SPDX-License-Identifier: Apache-2.0
//
// fovea/base.hpp: names, views of arrays and executors: what all C++ headers share. base.h is the manual.
#ifndef FOVEA_BASE_HPP_
#define FOVEA_BASE_HPP_

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "fovea's headers for C++ need C++17. Those for C, fovea/fovea.h and others, do not"
#endif

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

#include "fovea/base.h"

// With FOVEA_USE (lean/names.h) these functions call others than without it. They are then in an inline namespace of
// that name, so that source files of one program can use different configurations; a program writes
// fovea::AttentionPlan all the same.
#if defined(FOVEA_USE)
#define FOVEA_LEAN_BEGIN_ inline namespace FOVEA_USE {
#define FOVEA_LEAN_END_ }
#else
#define FOVEA_LEAN_BEGIN_
#define FOVEA_LEAN_END_
#endif

namespace fovea {
FOVEA_LEAN_BEGIN_

// ----------------------------------------------------------------------------------------------------------- names

#ifndef Status  // X11 has a macro of this name
using Status = fovea_status;
#endif
using Target = fovea_target;

// Whether the linked library has a feature, as "KEY_MASS".
inline bool has(const char* feature) { return fovea_has(feature) != 0; }
inline const char* to_string(fovea_status status) { return fovea_status_string(status); }
inline const char* to_string(Target target) {
  return fovea_target_name(target);
}  // NULL for a number that is no target

// A structure of C with struct_bytes set and all other members 0.
template <class C>
struct Sized : C {
  constexpr Sized() : C{} { this->struct_bytes = sizeof(C); }
};

// ----------------------------------------------------------------------------------------------------------- views

// A pointer and a count of elements: std::span where the standard library has it. An array converts to it, and so does
// a container that has data() and size().
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

// Memory of Bytes bytes, aligned as workspaces, states and caches are. workspace.h has macros for Bytes. Use it as a
// static array or as a member.
//     static fovea::Memory<FOVEA_LINEAR_WORKSPACE_BYTES(384, FOVEA_I8)> workspace;
template <std::size_t Bytes>
struct alignas(FOVEA_WORKSPACE_ALIGNMENT) Memory {
  std::byte bytes[Bytes];  // the memory itself

  constexpr operator Span<std::byte>() { return {bytes, sizeof bytes}; }
};

// An array [batch][heads][tokens][dim], whose first three dimensions may be in any order in memory: its first element,
// and a stride for each of them, in elements. The elements of the last dimension are adjacent.
template <class T>
struct View {
  T* data;                                                 // the first element
  std::ptrdiff_t batch_stride, head_stride, token_stride;  // from an entry, a head, a token to the next, in elements

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

// Memory in the order [batch][tokens][dim], for the tokens of a multi-head layer, which are not divided into heads.
template <class T>
constexpr View<T> tokens_of(T* data, std::size_t tokens, std::size_t dim) {
  return {data, static_cast<std::ptrdiff_t>(tokens * dim), 0, static_cast<std::ptrdiff_t>(dim)};
}

// Queries, keys and values in one array, as one projection writes them: [batch][tokens][q_heads + kv_heads + kv_heads]
// [dim]. If q_heads == kv_heads this is [batch][tokens][3][heads][dim].
template <class T>
struct PackedQkv {
  View<T> q, keys, values;  // parts of the one array
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

// --------------------------------------------------------------------------------------------------------- threads

// What an executor runs. The executor calls the task once for each index, with a worker that no other running task has.
struct Task {
  void (*function)(void* arg, std::size_t index, std::uint32_t worker);  // the library's
  void* arg;                                                             // for function

  void operator()(std::size_t index, std::uint32_t worker) const { function(arg, index, worker); }
};

// Makes an executor from f, a lambda for example, which is called as int(std::size_t tasks, fovea::Task task) and must
// not throw. The executor points to f: f must keep its address as long as the executor is used.
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
fovea_executor executor_of(const F&& f, std::uint32_t workers) = delete;  // a temporary f would be destroyed

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_BASE_HPP_
