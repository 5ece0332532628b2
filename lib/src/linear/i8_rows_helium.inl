// SPDX-License-Identifier: Apache-2.0
//
// i8_rows.inl for Helium.

constexpr uint32_t kRowsAtOnce = kLinearOutputs;

FOVEA_INLINE void MultiplyRowsOfTile(const I8TokenTile& t, const int8_t* weights, ptrdiff_t stride, uint32_t count,
                                     size_t input, size_t inputs, bool goes_on, float* sums) {
  const int8_t* const x = static_cast<const int8_t*>(t.x) + input * t.columns;
  FOVEA_COMMON_NAMESPACE::byte_kernels::multiply_rows(x, t.columns, weights, stride, count, inputs, goes_on,
                                                      reinterpret_cast<int32_t*>(sums), t.columns);
}
