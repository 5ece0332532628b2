// SPDX-License-Identifier: Apache-2.0
//
// The dot words of the few-rows kernel, for each header that has them: inside its namespace and behind it.

// Scores of a block of keys, of every width up to a few steps. The last key ends where memory does.
template <int kRows>
void TestFewScores(ContractLog& log, const ContractMemory& memory) {
  constexpr size_t kStep = dot::FewReads(kRows), kSteps = 3, kKeys = kLanes / kRows, kVectors = dot::kFewVectors<kRows>;
  uint32_t state = 9;
  log.begin("StoreFewQueries, LoadFewX, LoadFew, LoadFewPart, FewStart, FewScoreDot, SumsOfRows");
  for (size_t dim = 1; dim <= kSteps * kStep; ++dim) {
    static dot::FewCode queries[kSteps * kStep * kRows];
    static int8_t codes[kRows][kSteps * kStep], keys[kKeys][kSteps * kStep];
    const size_t steps = (dim + kStep - 1) / kStep;
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t d = 0; d < steps * kStep; d += kLanes) {
        float biased[kLanes];
        for (size_t i = 0; i < kLanes; ++i) {
          codes[r][d + i] = d + i < dim ? RandomCode(state) : int8_t{0};
          biased[i] = kRoundingBias + float(codes[r][d + i]);
        }
        dot::StoreFewQueries(hn::LoadU(kF, biased), queries + (d / kStep * kRows + r) * kStep + d % kStep);
      }
    }
    const int8_t* at[kKeys];
    for (size_t k = 0; k < kKeys; ++k) {
      int8_t* const key = k + 1 < kKeys ? keys[k] : reinterpret_cast<int8_t*>(memory.last) - dim;
      for (size_t d = 0; d < dim; ++d) key[d] = RandomCode(state);
      at[k] = key;
    }
    decltype(dot::FewStart(queries, steps)) sums[kVectors * kKeys];
    for (auto& sum : sums) sum = dot::FewStart(queries, steps);
    for (size_t d = 0; d < dim; d += kStep) {
      for (size_t v = 0; v < kVectors; ++v) {
        const auto x = dot::LoadFewX(queries + d * kRows + v * dot::kFewXCodes);
        for (size_t k = 0; k < kKeys; ++k) {
          auto& sum = sums[v * kKeys + k];
          const bool whole = dim - d >= kStep;
          sum = dot::FewScoreDot(
              x, whole ? dot::LoadFew<kRows>(at[k] + d) : dot::LoadFewPart<kRows>(at[k] + d, dim - d), sum);
        }
      }
    }
    const Lanes lanes = LanesOf(dot::SumsOfRows<kRows>(sums));
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t k = 0; k < kKeys; ++k) {
        int32_t wanted = 0;
        for (size_t d = 0; d < dim; ++d) wanted += codes[r][d] * at[k][d];
        CompareBits(log, dim, lanes.bits[r * kKeys + k], BitsOf(float(wanted)));
      }
    }
  }
}

// Sums of values, of every number of elements up to as many as the vectors have.
template <int kRows>
void TestFewValues(ContractLog& log, const ContractMemory& memory) {
  constexpr size_t kGroup = dot::kFewKeysAtOnce, kKeys = 16, kVectors = dot::kFewValueVectors<kRows>;
  uint32_t state = 10;
  log.begin("StoreFewWeights, SetFewWeights, LoadFewValues, LoadFewValuesPart, FewValueStart, FewValueDot, InOrder");
  for (size_t n = 1; n <= kVectors * kLanes; ++n) {
    static dot::FewWeight weights[kKeys];
    static int8_t values[kKeys][kVectors * kLanes];
    uint32_t codes[kKeys];
    for (size_t j = 0; j < kKeys; j += kLanes) {
      float biased[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        codes[j + i] = Random(state) % 3 == 0 ? 255 : Random(state) & 255;
        biased[i] = kRoundingBias + float(codes[j + i]);
      }
      dot::StoreFewWeights(hn::LoadU(kF, biased), weights + j);
    }
    decltype(dot::FewZero()) sums[kVectors];
    for (auto& sum : sums) sum = dot::FewAdd(dot::FewZero(), dot::FewValueStart(weights, kKeys));
    const int8_t* at[kKeys];
    for (size_t j = 0; j < kKeys; ++j) {
      int8_t* const value = j + 1 < kKeys ? values[j] : reinterpret_cast<int8_t*>(memory.last) - n;
      for (size_t e = 0; e < n; ++e) value[e] = RandomCode(state);
      at[j] = value;
    }
    for (size_t j = 0; j < kKeys; j += kGroup) {
      const int8_t* group[kGroup];
      for (size_t i = 0; i < kGroup; ++i) group[i] = at[j + i];
      dot::FewX x[kVectors];
      if (n == kVectors * kLanes) {
        dot::LoadFewValues(group, x);
      } else {
        dot::LoadFewValuesPart(group, n, x);
      }
      const auto weight = dot::SetFewWeights(weights + j);
      for (size_t v = 0; v < kVectors; ++v) sums[v] = dot::FewValueDot(weight, x[v], sums[v]);
    }
    VF floats[kVectors];
    dot::InOrder(sums, floats);
    for (size_t e = 0; e < n; ++e) {
      int32_t wanted = 0;
      for (size_t j = 0; j < kKeys; ++j) wanted += int32_t(codes[j]) * at[j][e];
      CompareBits(log, n, LanesOf(floats[e / kLanes]).bits[e % kLanes], BitsOf(float(wanted)));
    }
  }
}

template <int kRows = 1>
void TestFewRows(ContractLog& log, const ContractMemory& memory) {
  TestFewScores<kRows>(log, memory);
  TestFewValues<kRows>(log, memory);
  if constexpr (2 * kRows < int(kLanes) && 2 * kRows <= int(::fovea::kMostRowsOfFew))
    TestFewRows<2 * kRows>(log, memory);
}
