/* SPDX-License-Identifier: Apache-2.0 */
#include "concept.h"

/* The same queries over keys that come in four pieces; then two streams, as on two cores, each over half the keys. */
enum { PIECE = 64 }; /* a multiple of 64, so that the bits are the same as from one call */

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char first_state[FOVEA_STREAM_STATE_BYTES(HEADS * QUERIES, DIM)];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char second_state[FOVEA_STREAM_STATE_BYTES(HEADS * QUERIES, DIM)];

static void push_pieces(const fovea_attention_plan* plan, fovea_stream_state* state, int from, int to) {
  //! [push]
  fovea_attention_args args = arguments(out);
  args.kv_tokens = PIECE;
  for (int first = from; first < to; first += PIECE) {
    args.kv.keys.data = &keys[0][first];  // earlier pieces are not needed any more
    args.kv.values.data = &values[0][first];
    check(fovea_stream_push(plan, state, &args, workspace, sizeof workspace));
  }
  //! [push]
}

int main(void) {
  const fovea_attention_desc desc = description();
  answer(&desc);
  fovea_attention_plan plan;
  check(fovea_attention_plan_init(&plan, &desc));
  const fovea_attention_args args = arguments(out);

  //! [stream]
  fovea_stream_state* const state = (fovea_stream_state*)first_state;
  check(fovea_stream_begin(&plan, state, sizeof first_state, 1, QUERIES, 0));
  push_pieces(&plan, state, 0, KEYS);
  check(fovea_stream_end(&plan, state, &args, workspace, sizeof workspace));
  //! [stream]
  if (!same_bits()) return 1;

  //! [merge]
  fovea_stream_state* const other = (fovea_stream_state*)second_state;
  check(fovea_stream_begin(&plan, state, sizeof first_state, 1, QUERIES, 0));
  check(fovea_stream_begin(&plan, other, sizeof second_state, 1, QUERIES, KEYS / 2));
  push_pieces(&plan, state, 0, KEYS / 2);
  push_pieces(&plan, other, KEYS / 2, KEYS);
  check(fovea_stream_merge(&plan, state, other));
  check(fovea_stream_end(&plan, state, &args, workspace, sizeof workspace));
  //! [merge]
  return difference() > 1e-6f;
}
