/* SPDX-License-Identifier: Apache-2.0 */
#include "concept.h"

/* Keys and values in int8, and products of integers. */
static int8_t key_codes[HEADS][KEYS][DIM], value_codes[HEADS][KEYS][DIM];

int main(void) {
  fovea_attention_desc desc = description();
  answer(&desc);

  //! [codes]
  fovea_quantize_range range = {0};
  range.struct_bytes = sizeof range;
  check(fovea_quantize_observe(&range, (const float*)keys, sizeof keys / sizeof(float)));
  check(fovea_quantize_observe(&range, (const float*)values, sizeof values / sizeof(float)));
  float scale;
  int32_t zero;
  check(fovea_quantize_choose(&range, 1.0f, 0, &scale, &zero));  // symmetric: zero is 0
  check(fovea_quantize_to_i8((const float*)keys, sizeof key_codes, scale, zero, (int8_t*)key_codes));
  check(fovea_quantize_to_i8((const float*)values, sizeof value_codes, scale, zero, (int8_t*)value_codes));
  //! [codes]

  //! [attend]
  desc.compute = FOVEA_COMPUTE_I8;
  desc.key_dtype = desc.value_dtype = FOVEA_I8;
  desc.key_scale = desc.value_scale = scale;  // of the whole tensors; 0 would mean a scale for each row
  fovea_attention_plan plan;
  check(fovea_attention_plan_init(&plan, &desc));
  fovea_attention_args args = arguments(out);
  args.kv.keys.data = key_codes;
  args.kv.values.data = value_codes;
  check(fovea_attention(&plan, &args, workspace, sizeof workspace));
  //! [attend]
  return difference() > 0.01f;
}
