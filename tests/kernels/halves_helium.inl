// SPDX-License-Identifier: Apache-2.0
//
// The tests of the half words that only Helium has.

// The numbers of a vector of columns, whose halves have every other place.
Numbers ColumnsOf(half::V v) {
  Numbers numbers;
  hn::StoreU(half::WidenFirst(v), kF, numbers.at);
  hn::StoreU(half::WidenSecond(v), kF, numbers.at + kLanes);
  return numbers;
}

void TestColumns(ContractLog& log, half::Element* end, uint32_t& state) {
  float x[half::kLanes];
  for (float& number : x) number = float(RandomHalf(state));
  half::Element* const to = end - half::kLanes;
  for (int way = 0; way < 2; ++way) {
    if (way == 0) {
      half::StoreFirst(hn::LoadU(kF, x), to);
      half::StoreSecond(hn::LoadU(kF, x + kLanes), to);
    } else {
      half::StoreBoth(hn::LoadU(kF, x), hn::LoadU(kF, x + kLanes), to);
    }
    const half::Element* p = to;
    const Numbers got = ColumnsOf(half::Next<6>(p));
    CompareBits(log, 0, p - to, 6);
    for (size_t k = 0; k < half::kLanes; ++k) CompareBits(log, k, BitsOf(got.at[k]), BitsOf(x[k]));
  }
  half::StoreRow(half::Load(to), to);
  const half::Element* p = end - 2;
  const half::E two = half::NextTwo(p);
  CompareBits(log, 0, p - end, 0);
  CompareBits(log, 1, two, half::LoadE(end - 2));
  CompareBits(log, 2, two >> 16, half::LoadOne(end - 1));
}

void TestMulAddTwoSeen(ContractLog& log, uint32_t& state) {
  half::Element x[half::kLanes], e[2];
  for (half::Element& number : x) Put(&number, RandomHalf(state));
  Put(&x[3], -0.0);
  for (half::Element& number : e) Put(&number, RandomHalf(state));
  const half::E elements[2] = {half::LoadOne(e), half::LoadOne(e + 1)};
  const half::V xs = half::Load(x), start = half::MulAdd<0>(xs, elements[1], half::Zero());
  half::V got[2] = {start, start};
  half::MulAddTwoSeen(xs, elements, got[0], got[1]);
  for (int i = 0; i < 2; ++i) {
    const Numbers a = NumbersOf(got[i]),
                  b = NumbersOf(half::MulAddUnless<0>(half::SignMask(xs), xs, elements[i], start));
    for (size_t k = 0; k < half::kLanes; ++k) CompareBits(log, k, BitsOf(a.at[k]), BitsOf(b.at[k]));
  }
}

// Rows of one element, in both directions of memory, of which the last one is repeated.
void TestGather(ContractLog& log, half::Element* end) {
  constexpr ptrdiff_t kStride = 3;
  constexpr size_t kCount = kStride * (half::kLanes - 1) + 1;
  half::Element* const begin = end - kCount;
  for (size_t k = 0; k < kCount; ++k) Put(begin + k, double(k) + 1);
  for (const ptrdiff_t stride : {kStride, -kStride}) {
    const half::Element* const p = stride < 0 ? end - 1 : begin;
    for (uint32_t last = 0; last < half::kLanes; ++last) {
      const half::Places first = half::PlacesOf(0, last, stride), second = half::PlacesOf(kLanes, last, stride);
      const Numbers far = ColumnsOf(half::GatherFar(p, first, second));
      const Numbers near = stride < 0 ? far : ColumnsOf(half::Gather(p, half::NearPlaces(first, second)));
      for (size_t k = 0; k < half::kLanes; ++k) {
        const ptrdiff_t place = ptrdiff_t(k < last ? k : last) * stride;
        const float expected = float((stride < 0 ? ptrdiff_t(kCount) - 1 : 0) + place + 1);
        CompareBits(log, k, BitsOf(far.at[k]), BitsOf(expected));
        CompareBits(log, k, BitsOf(near.at[k]), BitsOf(expected));
      }
    }
  }
}

void TestGatherFloats(ContractLog& log, float* end) {
  constexpr ptrdiff_t kStride = 3;
  constexpr size_t kCount = kStride * (kLanes - 1) + 1;
  float* const begin = end - kCount;
  for (size_t k = 0; k < kCount; ++k) begin[k] = float(k) + 1;
  for (const ptrdiff_t stride : {kStride, -kStride}) {
    for (uint32_t last = 0; last < kLanes; ++last) {
      Numbers got;
      hn::StoreU(half::GatherFloats(stride < 0 ? end - 1 : begin, half::PlacesOf(0, last, stride)), kF, got.at);
      for (size_t k = 0; k < kLanes; ++k) {
        const ptrdiff_t place = ptrdiff_t(k < last ? k : last) * stride;
        const float expected = float((stride < 0 ? ptrdiff_t(kCount) - 1 : 0) + place + 1);
        CompareBits(log, k, BitsOf(got.at[k]), BitsOf(expected));
      }
    }
  }
}

void TestHeliumWords(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 17;
  half::Element* const end = reinterpret_cast<half::Element*>(memory.last);
  log.begin("half: StoreFirst, StoreSecond, StoreBoth, WidenFirst, WidenSecond, Next, NextTwo, StoreRow");
  for (int round = 0; round < 200; ++round) TestColumns(log, end, state);
  log.begin("half: MulAddTwoSeen");
  for (int round = 0; round < 200; ++round) TestMulAddTwoSeen(log, state);
  log.begin("half: PlacesOf, NearPlaces, Gather, GatherFar");
  TestGather(log, end);
  log.begin("half: GatherFloats");
  TestGatherFloats(log, reinterpret_cast<float*>(memory.last));
}
