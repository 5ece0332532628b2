/* SPDX-License-Identifier: Apache-2.0
 *
 * A softmax of two equal numbers, by whatever way the library was linked. */
#include <fovea/fovea.h>
#include <stdio.h>

int main(void) {
  const float in[2] = {3.0f, 3.0f};
  float out[2] = {0.0f, 0.0f};
  fovea_softmax_args args = {0};
  fovea_status status;
  if (fovea_version() != FOVEA_VERSION) {
    printf("the library is not of the header's version\n");
    return 1;
  }
  args.struct_bytes = sizeof args;
  args.y = out;
  args.x = in;
  args.y_outer_stride = args.x_outer_stride = 2;
  args.y_axis_stride = args.x_axis_stride = 1;
  args.outer = 1;
  args.axis = 2;
  args.inner = 1;
  status = fovea_softmax(&args);
  printf("C: %s: %g %g\n", fovea_status_string(status), (double)out[0], (double)out[1]);
  return status == FOVEA_OK && out[0] == 0.5f && out[1] == 0.5f ? 0 : 1;
}
