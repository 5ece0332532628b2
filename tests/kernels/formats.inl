// SPDX-License-Identifier: Apache-2.0
//
// A loop over FormatRow of ground/formats/rows.inl, as an attention kernel has it, for convert_test.cc: the dot product of
// an f32 row with a row of a format. The step is a whole group of i4.

template <fovea_dtype kType>
float DotOfRowAs(const float* x, const void* data, const void* scales, size_t dim) {
  const auto row = FormatRow<kType>::Of(data, scales);
  VF sum = hn::Zero(kF);
  size_t d = 0;
  for (; d + kScaleGroup <= dim; d += kScaleGroup) {
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < kScaleGroup; i += kLanes) {
      sum = hn::MulAdd(hn::LoadU(kF, x + d + i), LoadAs(row, d + i), sum);
    }
  }
  for (; d < dim; d += kLanes) {
    const size_t n = dim - d < kLanes ? dim - d : kLanes;
    sum = hn::MulAdd(hn::LoadN(kF, x + d, n), LoadAsN(row, d, n), sum);
  }
  if constexpr (::fovea::format_of(kType).scaled == Scaled::kRow) sum = hn::Mul(sum, row.Scale(0));
  float lanes[kLanes];
  hn::StoreU(sum, kF, lanes);
  for (size_t i = 1; i < kLanes; ++i) lanes[0] += lanes[i];
  return lanes[0];
}

float DotOfRow(fovea_dtype dtype, const float* x, const void* data, const void* scales, size_t dim) {
  FOVEA_WITH_FORMAT(::fovea::kServedFormats, dtype, DotOfRowAs<kType>(x, data, scales, dim));
}
