// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"

extern "C" fovea_status fovea_kv_center(float* center, uint64_t* count, const fovea_in* keys, uint32_t batch,
                                        uint32_t kv_heads, uint32_t tokens, uint32_t head_dim) {
  if (!center || !count || !keys) return FOVEA_ERR_NULL;
  if (kv_heads == 0 || head_dim == 0) return FOVEA_ERR_DIM;
  fovea::Buffers buffers;
  const fovea_out centers = {center, 0, ptrdiff_t(head_dim), 0};
  buffers.add_output(centers, sizeof *center, {1, kv_heads, 1}, head_dim);
  buffers.add_output(count, sizeof *count, 1);
  FOVEA_RETURN_IF_ERROR(buffers.add_tokens(*keys, sizeof(float), {batch, kv_heads, tokens}, head_dim));
  if (batch == 0 || tokens == 0) return FOVEA_OK;
  for (size_t i = 0; *count == 0 && i < size_t(kv_heads) * head_dim; ++i) center[i] = 0.0f;
  const float* const data = static_cast<const float*>(keys->data);
  for (uint32_t b = 0; b < batch; ++b) {
    for (uint32_t t = 0; t < tokens; ++t) {
      ++*count;
      const float keys_so_far = float(uint32_t(*count >> 32)) * 0x1p32f + float(uint32_t(*count));
      float* mean = center;
      for (uint32_t head = 0; head < kv_heads; ++head) {
        const float* const key = data + ptrdiff_t(b) * keys->batch_stride + ptrdiff_t(head) * keys->head_stride +
                                 ptrdiff_t(t) * keys->token_stride;
        for (uint32_t d = 0; d < head_dim; ++d, ++mean) *mean += (key[d] - *mean) / keys_so_far;
      }
    }
  }
  return FOVEA_OK;
}
