// SPDX-License-Identifier: Apache-2.0
//
// The tests of one header of half words.

struct Numbers {
  float at[half::kLanes];
};
Numbers NumbersOf(half::V v) {
  VF parts[half::kLanes / kLanes];
  half::Widen(v, parts);
  Numbers numbers;
  half::StoreFloats(parts, numbers.at);
  return numbers;
}

// Element i of e, which is at the end of the memory.
template <int i>
void TestMulAdd(ContractLog& log, half::Element* end, uint32_t& state) {
  // The sum is next to a tie, and in f32 it is the tie.
  const bool is_near_tie = Random(state) % 2 == 0;
  double x[half::kLanes], e[half::kReads], sum[half::kLanes];
  half::Element* const row = end - half::kReads;
  half::Element columns[half::kLanes], sums[half::kLanes];
  for (size_t k = 0; k < half::kLanes; ++k) {
    const double one = Random(state) % 2 == 0 ? 1.0 : -1.0;
    Put(&columns[k], x[k] = is_near_tie ? one * 0x1.004p-11 : k % 3 == 2 ? -0.0 : RandomHalf(state));
    Put(&sums[k], sum[k] = is_near_tie ? one * (1 + 0x1p-10 * double(Random(state) % 1024)) : RandomHalf(state));
  }
  for (size_t k = 0; k < half::kReads; ++k) Put(&row[k], e[k] = is_near_tie ? 1 - 0x1p-10 : RandomHalf(state));
  const half::V xs = half::Load(columns), start = half::Load(sums);
  const Numbers got = NumbersOf(half::MulAdd<i>(xs, half::LoadE(row), start));
  for (size_t k = 0; k < half::kLanes; ++k) {
    CompareBits(log, k, BitsOf(got.at[k]), BitsOf(float(MulAddOf(x[k], e[i], sum[k]))));
  }
  // Where the sign of x is set, the element does nothing, even if it is NaN.
  Put(&row[i], double(__builtin_nanf("")));
  const Numbers kept = NumbersOf(half::MulAddUnless<i>(half::SignMask(xs), xs, half::LoadE(row), start));
  for (size_t k = 0; k < half::kLanes; ++k) {
    const bool hidden = (BitsOf(float(x[k])) >> 31) != 0;
    if (hidden) Compare(log, Same::kNumber, k, BitsOf(kept.at[k]), BitsOf(float(sum[k])));
    if (!hidden) CompareBits(log, k, kept.at[k] != kept.at[k], 1);
  }
}

void TestWords(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 11;
  half::Element* const end = reinterpret_cast<half::Element*>(memory.last);
  log.begin("half: Load, LoadE, MulAdd, MulAddUnless, SignMask, Widen, StoreFloats");
  for (int round = 0; round < 2000; ++round) {
    TestMulAdd<0>(log, end, state);
    TestMulAdd<half::kReads - 1>(log, end, state);
  }

  log.begin("half: Store, LoadOne, LoadFloats, Zero");
  for (int round = 0; round < 1000; ++round) {
    half::Element* const to = end - half::kLanes;
    float x[half::kLanes];
    for (size_t k = 0; k < half::kLanes; ++k) {
      // A half, a tie, or what is next to one; 65520 and what is next to it.
      const double base = round % 10 == 0 ? 65504.0 : RandomHalf(state);
      const double next = ToHalf(base * (1 + 0x1p-10)),
                   middle = base + (next == base || next - next != 0 ? 16.0 : (next - base) / 2);
      x[k] = float(Random(state) % 3 == 0 ? base : middle);
      if (Random(state) % 3 == 0) x[k] = float(double(x[k]) * (1 + 0x1p-20));
    }
    for (size_t k = 0; k < half::kLanes; k += kLanes) half::Store(hn::LoadU(kF, x + k), to + k);
    const Numbers got = NumbersOf(half::Load(to));
    for (size_t k = 0; k < half::kLanes; ++k) {
      CompareBits(log, k, BitsOf(got.at[k]), BitsOf(float(ToHalf(double(x[k])))));
    }
    Put(end - 1, ToHalf(double(x[0])));
    half::Element one[half::kLanes];
    for (half::Element& element : one) Put(&element, 1.0);
    const Numbers single = NumbersOf(half::MulAdd<0>(half::Load(one), half::LoadOne(end - 1), half::Zero()));
    Compare(log, Same::kNumber, 0, BitsOf(single.at[0]), BitsOf(float(ToHalf(double(x[0])))));
    VF floats[half::kLanes / kLanes];
    half::LoadFloats(got.at, floats);
    Numbers again;
    half::StoreFloats(floats, again.at);
    for (size_t k = 0; k < half::kLanes; ++k) CompareBits(log, k, BitsOf(again.at[k]), BitsOf(got.at[k]));
  }
  log.begin("half: Store of NaN");
  half::Store(hn::Set(kF, __builtin_nanf("")), end - half::kLanes);
  for (size_t k = 0; k < half::kLanes - kLanes; ++k) Put(end - 1 - k, 0.0);
  const Numbers all = NumbersOf(half::Load(end - half::kLanes));
  for (size_t k = 0; k < kLanes; ++k) CompareBits(log, k, all.at[k] != all.at[k], 1);
}
