// SPDX-License-Identifier: Apache-2.0
//
// One head of causal attention over three tokens. The third query matches the first key.
#include <fovea.h>

static const float q[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {9, 0, 0, 0}};
static const float k[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
static const float v[3][2] = {{1, 10}, {2, 20}, {3, 30}};
static float out[3][2];
alignas(FOVEA_WORKSPACE_ALIGNMENT) static unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(4, 2)];

static fovea_status attend() {
  fovea_attention_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = 1;
  desc.head_dim = 4;
  desc.value_dim = 2;
  desc.max_batch = 1;
  desc.max_q_tokens = desc.max_kv_tokens = 3;
  desc.causal = FOVEA_CAUSAL_TOP_LEFT;

  fovea_attention_args args = {};
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_tokens = args.kv_tokens = 3;
  args.q = {q, 12, 12, 4};
  args.kv.keys = {k, 12, 12, 4};
  args.kv.values = {v, 6, 6, 2};
  args.out = {out, 6, 6, 2};

  fovea_attention_plan plan;
  const fovea_status status = fovea_attention_plan_init(&plan, &desc);
  return status != FOVEA_OK ? status : fovea_attention(&plan, &args, workspace, sizeof workspace);
}

void setup() {
  Serial.begin(115200);
  const fovea_status status = attend();
  if (status != FOVEA_OK) Serial.println(fovea_status_string(status));
  for (const auto& row : out) {
    Serial.print(row[0], 3);
    Serial.print(" ");
    Serial.println(row[1], 3);
  }
}

void loop() {}
