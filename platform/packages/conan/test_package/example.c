/* SPDX-License-Identifier: Apache-2.0
 *
 * A softmax of two equal numbers. */
#include <fovea/fovea.h>
#include <stdio.h>

int main(void) {
  const float in[2] = {3.0f, 3.0f};
  float out[2] = {0.0f, 0.0f};
  const fovea_softmax_args args = {
      .struct_bytes = sizeof args, .y = out, .y_outer_stride = 2, .y_axis_stride = 1,
      .x = in, .x_outer_stride = 2, .x_axis_stride = 1, .outer = 1, .axis = 2, .inner = 1};
  const fovea_status status = fovea_softmax(&args);
  printf("%s: %g %g\n", fovea_status_string(status), out[0], out[1]);
  return status != FOVEA_OK || out[0] != 0.5f || out[1] != 0.5f;
}
