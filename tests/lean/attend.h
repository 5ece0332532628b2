/* SPDX-License-Identifier: Apache-2.0
 *
 * A function that three source files compile, each for another configuration of the library. Such a file includes fovea's header,
 * and defines ATTEND as the function's name.
 *
 * Causal attention on made numbers, with keys of f32 or, if keys_i8 is not 0, of I8. Writes the outputs, [HEADS][TOKENS][DIM]. */
enum { HEADS = 2, TOKENS = 8, DIM = 16, COUNT = HEADS * TOKENS * DIM };

fovea_status ATTEND(float* out, int keys_i8);

fovea_status ATTEND(float* out, int keys_i8) {
  static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM)];
  static float q[COUNT], keys[COUNT], values[COUNT], scales[HEADS * TOKENS];
  static int8_t codes[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    q[i] = (float)(i * 37 % 64) / 32.0f - 1.0f;
    codes[i] = (int8_t)(i * 53 % 64 - 32);
    keys[i] = (float)codes[i] / 32.0f;
    values[i] = (float)(i * 11 % 64) / 32.0f - 1.0f;
  }
  for (int i = 0; i < HEADS * TOKENS; ++i) scales[i] = 1.0f / 32.0f;

  fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = HEADS, .kv_heads = HEADS, .head_dim = DIM,
                               .value_dim = DIM, .max_batch = 1, .max_q_tokens = TOKENS, .max_kv_tokens = TOKENS,
                               .causal = FOVEA_CAUSAL_TOP_LEFT};
  if (keys_i8) desc.key_dtype = FOVEA_I8;
  fovea_attention_plan plan;
  fovea_status status = fovea_attention_plan_init(&plan, &desc);
  if (status != FOVEA_OK) return status;

  fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = TOKENS, .kv_tokens = TOKENS};
  args.q = (fovea_in){.data = q, .head_stride = TOKENS * DIM, .token_stride = DIM};
  args.kv.keys = (fovea_in){.data = keys, .head_stride = TOKENS * DIM, .token_stride = DIM};
  args.kv.values = (fovea_in){.data = values, .head_stride = TOKENS * DIM, .token_stride = DIM};
  if (keys_i8) {
    args.kv.keys.data = codes;
    args.kv.key_scales = (fovea_in){.data = scales, .head_stride = TOKENS, .token_stride = 1};
  }
  args.out = (fovea_out){.data = out, .head_stride = TOKENS * DIM, .token_stride = DIM};
  return fovea_attention(&plan, &args, workspace, sizeof workspace);
}
