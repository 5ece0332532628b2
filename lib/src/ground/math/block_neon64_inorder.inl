// SPDX-License-Identifier: Apache-2.0
//
// What block_neon64.inl does with 8 rows or elements on processors that run instructions in the order of the text, as
// Cortex-A53 and A55 do. There a load of 128 bits takes two cycles in which no other instruction is issued,
// whatever instruction loads it (measured by ncnn's authors: docs/developer-guide/arm-a53-a55-dual-issue.md; XNNPACK's
// kernels agree). So a vector is loaded in halves: the lower half into the vector register; the upper half into a
// general register, in the same cycle as a multiply-add. They are joined in the same cycle as the lower half of the
// next vector is loaded.
//
// A batch of multiply-adds is four rows, or four elements, times one vector. Each vector is loaded when no batch needs
// what its register held, is joined a batch later, and is used a batch after that, since each of these takes time. With
// three vectors of columns the sums leave 8 registers, one for each vector that is loaded. Each instruction is its own
// assembly statement: compilers keep the order of these, and of no others.
#ifndef FOVEA_SRC_MATH_BLOCK_NEON64_INORDER_INL_
#define FOVEA_SRC_MATH_BLOCK_NEON64_INORDER_INL_

using RawV = hn::raw::V;

// Begins to load a vector: the lower half into v, the upper one into `upper`. Offsets are in bytes.
FOVEA_INLINE void LoadHalves(RawV& v, uint64_t& upper, const float* lower_at, ptrdiff_t lower_offset,
                             const float* upper_at, ptrdiff_t upper_offset) {
  asm volatile("ldr %d0, [%1, %2]" : "=w"(v) : "r"(lower_at), "ri"(lower_offset) : "memory");
  asm volatile("ldr %0, [%1, %2]" : "=r"(upper) : "r"(upper_at), "ri"(upper_offset) : "memory");
}
// The same for vector i, counted from p.
template <int i>
FOVEA_INLINE void LoadHalves(RawV& v, uint64_t& upper, const float* p) {
  LoadHalves(v, upper, p, 16 * i, p, 16 * i + 8);
}
FOVEA_INLINE void Join(RawV& v, uint64_t upper) { asm volatile("ins %0.d[1], %1" : "+w"(v) : "r"(upper)); }

// Loads the columns that a first step expects to be loaded.
template <int n>
FOVEA_INLINE void LoadFirstTwo(RawV (&v)[n], const float* p) {
  uint64_t upper[2];
  LoadHalves<0>(v[0], upper[0], p);
  LoadHalves<1>(v[1], upper[1], p);
  Join(v[0], upper[0]);
  Join(v[1], upper[1]);
}

template <int kLane>
FOVEA_INLINE void AddLaneProduct(RawV x, RawV row, RawV& sum) {
  asm volatile("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum) : "w"(x), "w"(row), "i"(kLane));
}

// Copies sums from acc to the raw vectors that assembly takes, or back.
template <int kVectors>
FOVEA_INLINE void TakeSums(const VF (&acc)[8][kVectors], RawV (&sum)[8][kVectors]) {
  FOVEA_EACH(k, 8) {
    FOVEA_EACH(v, kVectors) sum[k][v] = hn::Raw(acc[k][v]);
  }
}
template <int kVectors>
FOVEA_INLINE void PutSums(const RawV (&sum)[8][kVectors], VF (&acc)[8][kVectors]) {
  FOVEA_EACH(k, 8) {
    FOVEA_EACH(v, kVectors) acc[k][v] = VF{sum[k][v]};
  }
}

// ---- Rows times columns. A step takes two elements of each row: pair[i] holds those of rows 2 i and 2 i + 1.

// The sums of four rows, half of the register block, += vector v of columns times element i of the pairs.
template <int i, int kHalf, int v, int kVectors>
FOVEA_INLINE void AddRows(RawV x, const RawV (&pair)[4], RawV (&sum)[8][kVectors]) {
  AddLaneProduct<i>(x, pair[2 * kHalf], sum[4 * kHalf][v]);
  AddLaneProduct<2 + i>(x, pair[2 * kHalf], sum[4 * kHalf + 1][v]);
  AddLaneProduct<i>(x, pair[2 * kHalf + 1], sum[4 * kHalf + 2][v]);
  AddLaneProduct<2 + i>(x, pair[2 * kHalf + 1], sum[4 * kHalf + 3][v]);
}

template <int kHalf>
FOVEA_INLINE void LoadPairs(const float* const (&at)[8], ptrdiff_t bytes, RawV (&pair)[4], uint64_t (&upper)[2]) {
  FOVEA_EACH(i, 2) {
    const int row = 4 * kHalf + 2 * i;
    LoadHalves(pair[2 * kHalf + i], upper[i], at[row], bytes, at[row + 1], bytes);
  }
}
template <int kHalf>
FOVEA_INLINE void JoinPairs(RawV (&pair)[4], const uint64_t (&upper)[2]) {
  Join(pair[2 * kHalf], upper[0]);
  Join(pair[2 * kHalf + 1], upper[1]);
}

// The addresses that a step and the next one load from.
struct RowStep {
  const float *first, *second, *next;  // vectors of columns of the step's elements, and of the next step's first
  ptrdiff_t bytes, next_bytes;         // from the beginning of the rows on
};

// Before a step x[0], x[1] and the pairs of the first half are loaded.
FOVEA_INLINE void MultiplyStep(const RowStep& step, const float* const (&at)[8], RawV (&x)[3], RawV (&pair)[4],
                               RawV (&sum)[8][3]) {
  uint64_t upper, uppers[2];
  LoadHalves<2>(x[2], upper, step.first);
  AddRows<0, 0, 0>(x[0], pair, sum);
  Join(x[2], upper);
  LoadPairs<1>(at, step.bytes, pair, uppers);
  AddRows<0, 0, 1>(x[1], pair, sum);
  JoinPairs<1>(pair, uppers);
  AddRows<0, 0, 2>(x[2], pair, sum);
  AddRows<0, 1, 0>(x[0], pair, sum);
  LoadHalves<0>(x[0], upper, step.second);
  AddRows<0, 1, 1>(x[1], pair, sum);
  Join(x[0], upper);
  LoadHalves<1>(x[1], upper, step.second);
  AddRows<0, 1, 2>(x[2], pair, sum);
  Join(x[1], upper);
  LoadHalves<2>(x[2], upper, step.second);
  AddRows<1, 0, 0>(x[0], pair, sum);
  Join(x[2], upper);
  AddRows<1, 0, 1>(x[1], pair, sum);
  AddRows<1, 0, 2>(x[2], pair, sum);
  LoadPairs<0>(at, step.next_bytes, pair, uppers);
  AddRows<1, 1, 0>(x[0], pair, sum);
  JoinPairs<0>(pair, uppers);
  LoadHalves<0>(x[0], upper, step.next);
  AddRows<1, 1, 1>(x[1], pair, sum);
  Join(x[0], upper);
  LoadHalves<1>(x[1], upper, step.next);
  AddRows<1, 1, 2>(x[2], pair, sum);
  Join(x[1], upper);
}

// With two vectors of columns those of the second element have their own registers: x[2] and x[3].
FOVEA_INLINE void MultiplyStep(const RowStep& step, const float* const (&at)[8], RawV (&x)[4], RawV (&pair)[4],
                               RawV (&sum)[8][2]) {
  uint64_t upper, uppers[2];
  LoadPairs<1>(at, step.bytes, pair, uppers);
  AddRows<0, 0, 0>(x[0], pair, sum);
  JoinPairs<1>(pair, uppers);
  LoadHalves<0>(x[2], upper, step.second);
  AddRows<0, 0, 1>(x[1], pair, sum);
  Join(x[2], upper);
  LoadHalves<1>(x[3], upper, step.second);
  AddRows<0, 1, 0>(x[0], pair, sum);
  Join(x[3], upper);
  AddRows<0, 1, 1>(x[1], pair, sum);
  LoadHalves<0>(x[0], upper, step.next);
  AddRows<1, 0, 0>(x[2], pair, sum);
  Join(x[0], upper);
  LoadHalves<1>(x[1], upper, step.next);
  AddRows<1, 0, 1>(x[3], pair, sum);
  Join(x[1], upper);
  LoadPairs<0>(at, step.next_bytes, pair, uppers);
  AddRows<1, 1, 0>(x[2], pair, sum);
  JoinPairs<0>(pair, uppers);
  AddRows<1, 1, 1>(x[3], pair, sum);
}

// The last step has no next one: it loads its own first data again.
template <int kVectors>
FOVEA_INLINE void MultiplyInOrder(const float*& x, size_t columns, size_t steps, const float* (&at)[8],
                                  VF (&acc)[8][kVectors]) {
  if (steps == 0) return;
  RawV sum[8][kVectors], pair[4], loaded[kVectors == 3 ? 3 : 4];
  TakeSums(acc, sum);
  ptrdiff_t bytes = 0;
  uint64_t upper[2];
  LoadPairs<0>(at, bytes, pair, upper);
  JoinPairs<0>(pair, upper);
  LoadFirstTwo(loaded, x);
  for (; steps > 0; --steps) {
    const bool more = steps > 1;
    RowStep step = {x, x + columns, more ? x + 2 * columns : x, bytes, more ? bytes + 8 : bytes};
    FOVEA_OPAQUE(step.second);
    FOVEA_OPAQUE(step.next);
    FOVEA_OPAQUE(step.next_bytes);
    MultiplyStep(step, at, loaded, pair, sum);
    x += 2 * columns;
    bytes += 8;
    FOVEA_OPAQUE(x);
    FOVEA_OPAQUE(bytes);
  }
  FOVEA_EACH(k, 8) at[k] = ::fovea::advanced(at[k], bytes);
  PutSums(sum, acc);
}

// ---- Weights times values. A step takes one key: element[h] holds the elements of half h of the register block.

template <int kHalf, int v, int kVectors>
FOVEA_INLINE void AddElements(RawV p, const RawV (&element)[2], RawV (&sum)[8][kVectors]) {
  AddLaneProduct<0>(p, element[kHalf], sum[4 * kHalf][v]);
  AddLaneProduct<1>(p, element[kHalf], sum[4 * kHalf + 1][v]);
  AddLaneProduct<2>(p, element[kHalf], sum[4 * kHalf + 2][v]);
  AddLaneProduct<3>(p, element[kHalf], sum[4 * kHalf + 3][v]);
}

struct ValueStep {
  const float *p, *value, *next_p, *next_value;
};

// Before a step p[0], p[1] and element[0] are loaded.
template <int kSet>
FOVEA_INLINE void AddStep(const ValueStep& step, RawV (&p)[3], RawV (&element)[2], RawV (&sum)[8][3]) {
  uint64_t upper;
  LoadHalves<2>(p[2], upper, step.p);
  AddElements<0, 0>(p[0], element, sum);
  Join(p[2], upper);
  LoadHalves<1>(element[1], upper, step.value);
  AddElements<0, 1>(p[1], element, sum);
  Join(element[1], upper);
  AddElements<0, 2>(p[2], element, sum);
  LoadHalves<0>(element[0], upper, step.next_value);
  AddElements<1, 0>(p[0], element, sum);
  Join(element[0], upper);
  LoadHalves<0>(p[0], upper, step.next_p);
  AddElements<1, 1>(p[1], element, sum);
  Join(p[0], upper);
  LoadHalves<1>(p[1], upper, step.next_p);
  AddElements<1, 2>(p[2], element, sum);
  Join(p[1], upper);
}

// Two pairs of vectors alternate: a step uses p[2 kSet] and p[2 kSet + 1].
template <int kSet>
FOVEA_INLINE void AddStep(const ValueStep& step, RawV (&p)[4], RawV (&element)[2], RawV (&sum)[8][2]) {
  RawV &first = p[2 * kSet], &second = p[2 * kSet + 1], &next_first = p[2 - 2 * kSet], &next_second = p[3 - 2 * kSet];
  uint64_t upper;
  LoadHalves<1>(element[1], upper, step.value);
  AddElements<0, 0>(first, element, sum);
  Join(element[1], upper);
  LoadHalves<0>(next_first, upper, step.next_p);
  AddElements<0, 1>(second, element, sum);
  Join(next_first, upper);
  LoadHalves<0>(element[0], upper, step.next_value);
  AddElements<1, 0>(first, element, sum);
  Join(element[0], upper);
  LoadHalves<1>(next_second, upper, step.next_p);
  AddElements<1, 1>(second, element, sum);
  Join(next_second, upper);
}

// Goes to the next step. The last step has no next one: it loads its own data again.
FOVEA_INLINE void NextValue(uint32_t left, size_t columns, ptrdiff_t stride, ValueStep& step) {
  const bool more = left > 1;
  step.p = step.next_p, step.value = step.next_value;
  step.next_p = more ? step.p + columns : step.p;
  step.next_value = more ? step.value + stride : step.value;
  FOVEA_OPAQUE(step.next_p);
  FOVEA_OPAQUE(step.next_value);
}

template <int kVectors>
FOVEA_INLINE void AddInOrder(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                             VF (&acc)[8][kVectors]) {
  if (n == 0) return;
  RawV sum[8][kVectors], element[2], loaded[kVectors == 3 ? 3 : 4];
  TakeSums(acc, sum);
  ValueStep step = {p, value, p, value};
  uint64_t upper;
  LoadHalves<0>(element[0], upper, value);
  Join(element[0], upper);
  LoadFirstTwo(loaded, p);
  for (;;) {
    NextValue(n, columns, stride, step);
    AddStep<0>(step, loaded, element, sum);
    if (--n == 0) break;
    NextValue(n, columns, stride, step);
    AddStep<1>(step, loaded, element, sum);
    if (--n == 0) break;
  }
  PutSums(sum, acc);
}

#endif  // FOVEA_SRC_MATH_BLOCK_NEON64_INORDER_INL_
