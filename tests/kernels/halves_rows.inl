// SPDX-License-Identifier: Apache-2.0
//
// The tests of the half words for vectors along a row.

template <int i>
void TestZeroIf(ContractLog& log, half::V v) {
  half::Element signs[half::kLanes];
  const Numbers numbers = NumbersOf(v);
  for (const bool hides : {false, true}) {
    for (size_t k = 0; k < half::kLanes; ++k) Put(&signs[k], (k == i) == hides ? -0.0 : 0.0);
    const Numbers got = NumbersOf(half::ZeroIf<i>(half::SignMask(half::Load(signs)), v));
    for (size_t k = 0; k < half::kLanes; ++k) CompareBits(log, k, BitsOf(got.at[k]), hides ? 0 : BitsOf(numbers.at[k]));
  }
}

void TestRowWords(ContractLog& log) {
  log.begin("half: Transpose, ZeroIf");
  half::V rows[half::kLanes];
  for (size_t r = 0; r < half::kLanes; ++r) {
    half::Element row[half::kLanes];
    for (size_t k = 0; k < half::kLanes; ++k) Put(&row[k], double(r * half::kLanes + k) + 1);
    rows[r] = half::Load(row);
  }
  half::Transpose(rows);
  for (size_t r = 0; r < half::kLanes; ++r) {
    const Numbers got = NumbersOf(rows[r]);
    for (size_t k = 0; k < half::kLanes; ++k) {
      CompareBits(log, k, BitsOf(got.at[k]), BitsOf(float(k * half::kLanes + r) + 1));
    }
  }
  TestZeroIf<0>(log, rows[1]);
  TestZeroIf<half::kReads - 1>(log, rows[2]);
}
