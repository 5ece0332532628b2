/* SPDX-License-Identifier: Apache-2.0 */
#include "concept.h"

/* A call for each query gives the same bits as one call for all. */
int main(void) {
  //! [portable]
  fovea_attention_desc desc = description();
  desc.portable_bits = 1;
  //! [portable]
  answer(&desc);
  fovea_attention_plan plan;
  check(fovea_attention_plan_init(&plan, &desc));
  //! [alone]
  fovea_attention_args args = arguments(out);
  args.q_tokens = 1;
  for (int token = 0; token < QUERIES; ++token) {
    args.q.data = &q[0][token];
    args.out.data = &out[0][token];
    check(fovea_attention(&plan, &args, workspace, sizeof workspace));
  }
  //! [alone]
  return !same_bits();
}
