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

void TestWordsOfSeveralLanes(ContractLog& log) {
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
}
