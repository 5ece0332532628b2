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

#if !FOVEA_FOR_HELIUM
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
  log.begin("LookUp, MaxU8, SubU8");
  for (int round = 0; round < 64; ++round) {
    const VI a = RandomBytes(state), b = RandomBytes(state);
    const VectorBytes x = BytesOf(a), y = BytesOf(b);
    VectorBytes at;
    for (size_t i = 0; i < 4 * kLanes; ++i) at.bytes[i] = y.bytes[i] & 0x40 ? 255 : y.bytes[i] & 15;
    uint32_t bits[kLanes];
    __builtin_memcpy(bits, at.bytes, sizeof bits);
    const VectorBytes found = BytesOf(hn::LookUp(a, IntsFromBits(bits)));
    const VectorBytes largest = BytesOf(hn::MaxU8(a, b)), difference = BytesOf(hn::SubU8(a, b));
    for (size_t i = 0; i < 4 * kLanes; ++i) {
      Compare(log, Same::kBits, i, found.bytes[i], at.bytes[i] == 255 ? 0 : x.bytes[i / 16 * 16 + at.bytes[i]]);
      Compare(log, Same::kBits, i, largest.bytes[i], x.bytes[i] < y.bytes[i] ? y.bytes[i] : x.bytes[i]);
      Compare(log, Same::kBits, i, difference.bytes[i], uint8_t(x.bytes[i] - y.bytes[i]));
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

// Blocks that end where memory ends.
void TestBlocks(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 12;
  log.begin("LoadBlocks, StoreBlockPairs, LoadF16Blocks");
  for (size_t n = 1; n <= kLanes / 4; ++n) {
    uint8_t* const loaded = memory.last - 16 * n;
    for (size_t i = 0; i < 16 * n; ++i) loaded[i] = uint8_t(Random(state));
    const VI a = hn::LoadBlocks(kI, loaded, n), b = RandomBytes(state);
    const VectorBytes x = BytesOf(a), y = BytesOf(b);
    for (size_t i = 0; i < 4 * kLanes; ++i) Compare(log, Same::kBits, i, x.bytes[i], i < 16 * n ? loaded[i] : 0);
    uint8_t* const stored = memory.last - 32 * n;
    hn::StoreBlockPairs(a, b, stored, n);
    for (size_t i = 0; i < 32 * n; ++i) {
      const size_t at = i / 32 * 16 + i % 16;
      Compare(log, Same::kBits, i, stored[i], i % 32 < 16 ? x.bytes[at] : y.bytes[at]);
    }
    for (const size_t stride : {size_t{0}, n, n + 3}) {
      uint8_t* const first = memory.last - 2 * (3 * stride + n);
      uint32_t wanted[kLanes] = {};
      for (size_t i = 0; i < 4; ++i) {
        for (size_t k = 0; k < n; ++k) {
          const float number = float(i * stride + k + 1);
          hn::StoreF16N(hn::Set(kF, number), reinterpret_cast<uint16_t*>(first) + i * stride + k, 1);
          wanted[4 * k + i] = BitsOf(number);
        }
      }
      const auto* const halves = reinterpret_cast<const uint16_t*>(first);
      CompareLanes(log, Same::kBits, LanesOf(hn::LoadF16Blocks(kF, halves, ptrdiff_t(stride), n)), wanted);
    }
  }
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
  for (size_t i = 0; i < kLanes; ++i) Compare(log, Same::kBits, i, got.bits[i], BitsOf(sums[i]));

#if !FOVEA_FOR_HELIUM
  TestBytes(log);
  TestBlocks(log, memory);
#endif
}
