// SPDX-License-Identifier: Apache-2.0
//
// The test of the half word that reads a part of a vector along a row.

void TestLoadPart(ContractLog& log, const ContractMemory& memory) {
  half::Element* const end = reinterpret_cast<half::Element*>(memory.last);
  log.begin("half: LoadPart");
  for (size_t n = 0; n <= half::kLanes; ++n) {
    for (size_t k = 0; k < n; ++k) Put(end - n + k, double(k) + 1);
    const Numbers got = NumbersOf(half::LoadPart(end - n, n));
    for (size_t k = 0; k < half::kLanes; ++k) {
      CompareBits(log, k, BitsOf(got.at[k]), BitsOf(k < n ? float(k) + 1 : 0.0f));
    }
  }
}
