// SPDX-License-Identifier: Apache-2.0
//
// The test of the half word that reads elements of rows, and goes from row to row.

void TestNextE(ContractLog& log, const ContractMemory& memory) {
  half::Element* const end = reinterpret_cast<half::Element*>(memory.last);
  half::Element ones[half::kLanes];
  for (half::Element& one : ones) Put(&one, 1.0);
  log.begin("half: NextE");
  for (const ptrdiff_t step : {ptrdiff_t{half::kReads}, ptrdiff_t{half::kReads} + 3, -ptrdiff_t{half::kReads}}) {
    half::Element* const last = end - half::kReads;
    half::Element* const first = step > 0 ? last - step : last;
    Put(first, 2.0);
    Put(first + step, 3.0);
    const half::Element* p = first;
    for (int row = 0; row < 2; ++row) {
      const Numbers got = NumbersOf(half::MulAdd<0>(half::Load(ones), half::NextE(p, step), half::Zero()));
      Compare(log, Same::kNumber, size_t(row), BitsOf(got.at[0]), BitsOf(float(2 + row)));
      CompareBits(log, row, p == first + (row + 1) * step, 1);
    }
  }
}
