// SPDX-License-Identifier: Apache-2.0
//
// The largest elements of a row. Indices in a heap: no index comes before that at half its place, so the last of those
// that were kept is at place 0.
#include "ground/base/arithmetic.h"
#include "layers/tensors/call.h"

namespace fovea {
namespace {

bool is_nan(float x) { return x != x; }
bool is_nan(int8_t) { return false; }

// Whether element i comes before element j.
template <typename T>
bool before(const T* x, uint32_t i, uint32_t j) {
  if (x[i] > x[j]) return true;
  const bool i_is_nan = is_nan(x[i]), j_is_nan = is_nan(x[j]);
  if (i_is_nan != j_is_nan) return j_is_nan;
  return !(x[i] < x[j]) && i < j;
}

// Puts an index into the heap in the place of the one at `place`, of which all below it are in order.
template <typename T>
void sink(const T* x, uint32_t* heap, uint32_t count, uint32_t place, uint32_t index) {
  for (uint32_t next; place < count / 2; place = next) {
    next = 2 * place + 1;
    if (next + 1 < count && before(x, heap[next], heap[next + 1])) ++next;
    if (before(x, heap[next], index)) break;
    heap[place] = heap[next];
  }
  heap[place] = index;
}

template <typename T>
uint32_t first_of(const T* x, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; ++i) {
    if (x[i] > x[best] || (is_nan(x[best]) && !is_nan(x[i]))) best = i;
  }
  return best;
}

template <typename T>
void first_k_of(const T* x, uint32_t count, uint32_t k, uint32_t* indices) {
  if (k == 0) return;
  for (uint32_t i = 0; i < k; ++i) indices[i] = i;
  for (uint32_t i = k / 2; i-- > 0;) sink(x, indices, k, i, indices[i]);
  for (uint32_t i = k; i < count; ++i) {
    if (before(x, i, indices[0])) sink(x, indices, k, 0, i);
  }
  for (uint32_t left = k; left-- > 1;) {  // the last one goes to the end
    const uint32_t last = indices[0];
    sink(x, indices, left, 0, indices[left]);
    indices[left] = last;
  }
}

}  // namespace

uint32_t largest_of(const float* x, uint32_t count) { return first_of(x, count); }
uint32_t largest_of(const int8_t* x, uint32_t count) { return first_of(x, count); }
void largest_k_of(const float* x, uint32_t count, uint32_t k, uint32_t* indices) { first_k_of(x, count, k, indices); }
void largest_k_of(const int8_t* x, uint32_t count, uint32_t k, uint32_t* indices) { first_k_of(x, count, k, indices); }

}  // namespace fovea
