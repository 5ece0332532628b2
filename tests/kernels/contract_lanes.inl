// SPDX-License-Identifier: Apache-2.0
//
// The contract of the words that only backends with several lanes have. Included after contract.inl.

template <size_t k>
void TestSwapLanes(ContractLog& log) {
  uint32_t bits[kLanes], wanted[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) bits[i] = 0x7f800001u + i;
  for (size_t i = 0; i < kLanes; ++i) wanted[i] = bits[i ^ k];
  CompareLanes(log, Same::kBits, LanesOf(hn::SwapLanes<k>(FromBits(bits))), wanted);
  if constexpr (2 * k < kLanes) TestSwapLanes<2 * k>(log);
}

#if !FOVEA_FOR_HELIUM && !FOVEA_FOR_SCALAR
// Vectors as bytes.
struct VectorBytes {
  uint8_t bytes[4 * kLanes];
};
VectorBytes BytesOf(VI v) {
  const Lanes lanes = LanesOf(v);
  VectorBytes bytes;
  __builtin_memcpy(bytes.bytes, lanes.bits, sizeof bytes);
  return bytes;
}
VI RandomBytes(uint32_t& state) {
  uint32_t bits[kLanes];
  for (uint32_t& lane : bits) lane = Random(state);
  return IntsFromBits(bits);
}

template <int i>
void TestSpreadLane(ContractLog& log) {
  uint32_t bits[kLanes], wanted[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) bits[lane] = 0x7f800001u + lane;
  for (size_t lane = 0; lane < kLanes; ++lane) wanted[lane] = bits[lane / 4 * 4 + i];
  CompareLanes(log, Same::kBits, LanesOf(hn::SpreadLane<i>(FromBits(bits))), wanted);
}

void TestBytes(ContractLog& log) {
  uint32_t state = 11;
  log.begin("LookUp, MaxU8, SubU8, AbsI8");
  for (int round = 0; round < 64; ++round) {
    const VI a = RandomBytes(state), b = RandomBytes(state);
    const VectorBytes x = BytesOf(a), y = BytesOf(b);
    VectorBytes at;
    for (size_t i = 0; i < 4 * kLanes; ++i) at.bytes[i] = y.bytes[i] & 0x40 ? 255 : y.bytes[i] & 15;
    uint32_t bits[kLanes];
    __builtin_memcpy(bits, at.bytes, sizeof bits);
    const VectorBytes found = BytesOf(hn::LookUp(a, IntsFromBits(bits)));
    const VectorBytes largest = BytesOf(hn::MaxU8(a, b)), difference = BytesOf(hn::SubU8(a, b)),
                      magnitude = BytesOf(hn::AbsI8(a));
    for (size_t i = 0; i < 4 * kLanes; ++i) {
      CompareBits(log, i, found.bytes[i], at.bytes[i] == 255 ? 0 : x.bytes[i / 16 * 16 + at.bytes[i]]);
      CompareBits(log, i, largest.bytes[i], x.bytes[i] < y.bytes[i] ? y.bytes[i] : x.bytes[i]);
      CompareBits(log, i, difference.bytes[i], uint8_t(x.bytes[i] - y.bytes[i]));
      CompareBits(log, i, magnitude.bytes[i], x.bytes[i] < 128 ? x.bytes[i] : uint8_t(-x.bytes[i]));
    }
  }

  log.begin("LargestU8");
  for (int round = 0; round < 64; ++round) {
    VI v[4];
    uint32_t wanted[kLanes] = {};
    for (size_t i = 0; i < 4; ++i) {
      v[i] = RandomBytes(state);
      const VectorBytes x = BytesOf(v[i]);
      for (size_t k = 0; k < 4 * kLanes; ++k) {
        uint32_t& most = wanted[k / 16 * 4 + i];
        if (most < x.bytes[k]) most = x.bytes[k];
      }
    }
    CompareLanes(log, Same::kBits, LanesOf(hn::LargestU8(v)), wanted);
  }

  log.begin("SpreadLane");
  TestSpreadLane<0>(log);
  TestSpreadLane<1>(log);
  TestSpreadLane<2>(log);
  TestSpreadLane<3>(log);
}

// Blocks at any place, of which the last ends where memory ends. `run` of them are adjacent, from the first on.
template <int kRun>
VI TestLoadBlocks(ContractLog& log, const ContractMemory& memory, uint32_t& state) {
  constexpr size_t kBlocks = kLanes / 4;
  const uint8_t* at[kBlocks];
  uint8_t wanted[4 * kLanes], *to = memory.last - 19 * kBlocks;
  for (size_t b = 0; b < kBlocks; ++b, to += 16) {
    if (b % kRun == 0) to += b + kRun == kBlocks ? memory.last - 16 * kRun - to : 3;
    for (size_t i = 0; i < 16; ++i) to[i] = wanted[16 * b + i] = uint8_t(Random(state));
    at[b] = to;
  }
  const VI v = hn::LoadBlocks<kRun>(kI, at);
  const VectorBytes got = BytesOf(v);
  for (size_t i = 0; i < 4 * kLanes; ++i) CompareBits(log, i, got.bytes[i], wanted[i]);
  return v;
}

void TestStoreNearestI8(ContractLog& log, const ContractMemory& memory) {
  log.begin("StoreNearestI8");
  uint32_t state = 13;
  for (int round = 0; round < 64; ++round) {
    float x[4 * kLanes];
    uint8_t wanted[4 * kLanes];
    for (size_t i = 0; i < 4 * kLanes; ++i) {
      const int twice = int(Random(state) % 509) - 254, below = (twice - (twice & 1)) / 2;
      x[i] = float(twice) * 0.5f;
      wanted[i] = uint8_t(below + (twice & below & 1));  // ties to even
    }
    const VF v[4] = {hn::LoadU(kF, x), hn::LoadU(kF, x + kLanes), hn::LoadU(kF, x + 2 * kLanes),
                     hn::LoadU(kF, x + 3 * kLanes)};
    uint8_t* const p = memory.last - 4 * kLanes;
    hn::StoreNearestI8(v, p);
    for (size_t i = 0; i < 4 * kLanes; ++i) CompareBits(log, i, p[i], wanted[i]);
  }
}

void TestBlocks(ContractLog& log, const ContractMemory& memory) {
  constexpr size_t kBlocks = kLanes / 4, kHalf = kBlocks > 1 ? kBlocks / 2 : 1;
  uint32_t state = 12;
  log.begin("LoadBlocks, StoreBlockPairs, WidenF16Blocks");
  TestLoadBlocks<1>(log, memory, state);
  TestLoadBlocks<int(kHalf)>(log, memory, state);
  const VI a = TestLoadBlocks<int(kBlocks)>(log, memory, state), b = RandomBytes(state);
  const VectorBytes x = BytesOf(a), y = BytesOf(b);
  for (size_t n = 1; n <= kBlocks; ++n) {
    const size_t in_front = n < kHalf ? n : kHalf, behind = n - in_front;
    uint8_t* const p = memory.last - 32 * (behind + in_front) - 5;
    uint8_t* const q = memory.last - 32 * behind;
    hn::StoreBlockPairs(a, b, p, q, n);
    for (size_t i = 0; i < 32 * n; ++i) {
      const size_t at = i / 32 * 16 + i % 16;
      const uint8_t stored = i < 32 * kHalf ? p[i] : q[i - 32 * kHalf];
      CompareBits(log, i, stored, i % 32 < 16 ? x.bytes[at] : y.bytes[at]);
    }
  }
  uint64_t halves[4] = {};
  uint32_t wanted[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    const float number = float(i + 1) * 0.25f;
    uint16_t half;
    hn::StoreF16N(hn::Set(kF, number), &half, 1);
    halves[i % 4] |= uint64_t{half} << (i / 4 * 16);
    wanted[i] = BitsOf(number);
  }
  CompareLanes(log, Same::kBits, LanesOf(hn::WidenF16Blocks(kF, halves)), wanted);
}
#endif

void TestWordsOfSeveralLanes(ContractLog& log, [[maybe_unused]] const ContractMemory& memory) {
  log.begin("SwapLanes");
  TestSwapLanes<1>(log);

  log.begin("SumsOfLanes");
  VF v[kLanes];
  float sums[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    float x[kLanes];
    sums[i] = 0.0f;
    for (size_t j = 0; j < kLanes; ++j) {
      x[j] = float((i + 2) * (j * j + 3));
      sums[i] += x[j];
    }
    v[i] = hn::LoadU(kF, x);
  }
  const Lanes got = LanesOf(hn::SumsOfLanes(v));
  for (size_t i = 0; i < kLanes; ++i) CompareBits(log, i, got.bits[i], BitsOf(sums[i]));

#if !FOVEA_FOR_HELIUM && !FOVEA_FOR_SCALAR
  TestBytes(log);
  TestBlocks(log, memory);
  TestStoreNearestI8(log, memory);
#endif
}
