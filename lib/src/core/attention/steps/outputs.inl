// SPDX-License-Identifier: Apache-2.0
//
// Outputs where values or outputs are tensors of int8: after the normalisation they are multiplied by the values'
// channel scales, and may become codes.
#ifndef FOVEA_SRC_ATTENTION_STEPS_OUTPUTS_INL_
#define FOVEA_SRC_ATTENTION_STEPS_OUTPUTS_INL_

#include "core/attention/rows.inl"

// The output code is in the low bits of each lane.
FOVEA_INLINE VF OutputCode(const OutputTensor& tensor, VF y) {
  const VF code = Rounded(ZeroIfNan(hn::Mul(y, hn::Set(kF, tensor.inverse_scale))));
  const VF least = hn::Max(hn::Add(code, hn::Set(kF, tensor.zero)), hn::Set(kF, -128.0f)), most = hn::Set(kF, 127.0f);
  return hn::Add(hn::IfThenElse(hn::Lt(most, least), most, least), hn::Set(kF, kRoundingBias));
}

// Elements [e, e + n) of a row.
FOVEA_SHARED_IF_MANY void StoreTensorPart(const RowOutputs& outputs, VF y, char* row, size_t e, size_t n) {
  const OutputTensor& tensor = *outputs.tensor;
  if (tensor.channel_scales) y = hn::Mul(y, hn::LoadN(kF, tensor.channel_scales + e, n));
  if (outputs.out.dtype != FOVEA_I8) return StorePart(outputs.out.dtype, y, row, e, n);
  hn::StoreU8N(hn::BitCast(kI, OutputCode(tensor, y)), reinterpret_cast<uint8_t*>(row) + e, n);
}

// Stores one vector of rows of the tile kernel. False if outputs are plain: then the caller stores them.
FOVEA_CALLED bool StoreTensor(const QueryTile& t, const RowOutputs& outputs, size_t column, size_t live, VF normalise,
                              MF empty, const LaneRows<char>& rows) {
  if (!kHasI8Tensors || outputs.tensor->is_plain) return false;
  const float* o_t = t.o + column;
  for (size_t e = 0; e < t.value_dim; e += kLanes) {
    const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
    VF lanes[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = hn::Zero(kF);
      if (i >= n) continue;
      lanes[i] = hn::IfThenZeroElse(empty, hn::Mul(hn::LoadU(kF, o_t), normalise));
      o_t += t.columns;
    }
    hn::Transpose(lanes);
    for (size_t i = 0; i < live; ++i) StoreTensorPart(outputs, lanes[i], rows.at[i], e, n);
  }
  return true;
}

// The same for a row of the few-rows kernel.
FOVEA_CALLED bool StoreTensorRow(const RowOutputs& outputs, const float* o, size_t dim, VF normalise, MF empty,
                                 char* row) {
  if (!kHasI8Tensors || outputs.tensor->is_plain) return false;
  for (size_t e = 0; e < dim; e += kLanes) {
    const size_t n = dim - e < kLanes ? dim - e : kLanes;
    const VF y = hn::IfThenZeroElse(empty, hn::Mul(LoadUpTo(o + e, n), normalise));
    StoreTensorPart(outputs, y, row, e, n);
  }
  return true;
}

#endif  // FOVEA_SRC_ATTENTION_STEPS_OUTPUTS_INL_
