/* SPDX-License-Identifier: Apache-2.0 */
#include "concept.h"

/* Three ways to get the size of a workspace, and two to need less fast memory. None changes a bit of the output. */

//! [macro]
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char arena[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
//! [macro]
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char slow_arena[sizeof arena];

int main(void) {
  fovea_attention_desc desc = description();
  answer(&desc);
  fovea_attention_args args = arguments(out);
  fovea_attention_plan plan;

  //! [ask]
  size_t here, on_a_cortex_m55;
  check(fovea_attention_plan_init(&plan, &desc));
  check(fovea_attention_workspace_bytes(&plan, &here));
  check(fovea_attention_workspace_bytes_for(&desc, FOVEA_TARGET_HELIUM, &on_a_cortex_m55));  // from any machine
  //! [ask]
  if (here > sizeof arena || on_a_cortex_m55 == 0) return 1;
  check(fovea_attention(&plan, &args, arena, sizeof arena));
  if (!same_bits()) return 1;

  //! [budget]
  desc.workspace_budget_bytes = here / 2;                     // fewer query rows at a time
  if (fovea_attention_plan_init(&plan, &desc) == FOVEA_OK) {  // FOVEA_ERR_BUDGET: not even the fewest rows fit
    check(fovea_attention(&plan, &args, arena, here / 2));
  }
  //! [budget]
  if (!same_bits()) return 1;

  desc.workspace_budget_bytes = 0;
  check(fovea_attention_plan_init(&plan, &desc));
  memset(out, 0, sizeof out);
  //! [slow]
  const size_t fast_bytes = 1024;  // of a small, fast memory, for the arrays that are used most
  args.slow_workspace = slow_arena;
  check(fovea_attention_slow_workspace_bytes(&plan, fast_bytes, &args.slow_workspace_bytes));
  check(fovea_attention(&plan, &args, arena, fast_bytes));
  //! [slow]
  return !same_bits();
}
