// SPDX-License-Identifier: Apache-2.0
//
// The dot words that make codes of whole rows of queries.

void TestQueries(ContractLog& log, const ContractMemory& memory) {
  constexpr size_t kGroup = ::fovea::kDotTraits[dot::kKind].group, kStep = ::fovea::kDotTraits[dot::kKind].reads;
  constexpr size_t kColumns = 3;
  uint32_t state = 8;
  log.begin("LargestMagnitude, PutQueries");
  const auto largest_of = [](const float* row, size_t n) {
    float lanes[kLanes];
    hn::StoreU(dot::LargestMagnitude(row, n), kF, lanes);
    return lanes[0];
  };
  for (size_t n = 0; n <= 2 * kStep + 1; ++n) {
    float* const row = reinterpret_cast<float*>(memory.last) - n;
    float largest = 0.0f;
    for (size_t i = 0; i < n; ++i) {
      row[i] = float(int32_t(Random(state))) * 0x1p-31f;
      largest = row[i] > largest ? row[i] : -row[i] > largest ? -row[i] : largest;
    }
    CompareBits(log, n, BitsOf(largest_of(row, n)), BitsOf(largest));
    for (int ends = 0; ends < 2; ++ends) {
      alignas(4) dot::Code x[3 * kStep * kColumns];
      const size_t done = dot::PutQueries(row, n, hn::Set(kF, 2.0f), hn::Set(kF, 63.5f), x, kColumns);
      CompareBits(log, n, done, n / kStep * kStep);
      for (size_t i = 0; i < done; ++i) {
        const size_t place = dot::PlaceOf(i);
        const uint32_t wanted = row[i] == row[i] ? BitsOf(row[i] * 127.0f + kRoundingBias) - BitsOf(kRoundingBias) : 0;
        CompareBits(log, i, x[place / kGroup * kColumns * kGroup + place % kGroup], wanted);
      }
      if (n == 0) continue;
      row[n / 2] = -__builtin_nanf("");
      CompareBits(log, n, largest_of(row, n) != largest_of(row, n), 1);
    }
  }
}
