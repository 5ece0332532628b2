// SPDX-License-Identifier: Apache-2.0
//
// The words for vectors of four registers, in the namespace that it is included in. There kLanes is four times as large.
// The including file has the target's words in a namespace `one_register`.

constexpr size_t kLanes = 4 * one_register::kLanes;
namespace hn {
using one_register::kRegisters;
template <class T>
struct Tag {};
constexpr Tag<float> kF;
constexpr Tag<int32_t> kI;
namespace raw = one_register::raw;
typedef float VF __attribute__((vector_size(4 * kLanes)));
typedef int32_t VI __attribute__((vector_size(4 * kLanes)));
typedef uint32_t VU __attribute__((vector_size(4 * kLanes)));
#include "ground/simd/rvv_words.inl"
FOVEA_INLINE VF AddSet(VF a, float b) { return Add(a, Set(kF, b)); }
FOVEA_INLINE VF MulSet(VF a, float b) { return Mul(a, Set(kF, b)); }
FOVEA_INLINE VF MulAddSet(VF a, VF b, float c) { return MulAdd(a, b, Set(kF, c)); }
}  // namespace hn
using hn::kF;
using hn::kI;
using hn::MF;
using hn::VF;
using hn::VI;
