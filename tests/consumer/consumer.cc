// SPDX-License-Identifier: Apache-2.0
//
// The same as consumer.c by the C++ header.
#include <cstdio>
#include <fovea/fovea.hpp>

int main() {
  const float in[2] = {3.0f, 3.0f};
  float out[2] = {0.0f, 0.0f};
  const fovea::Status status = fovea::softmax(out, in);
  std::printf("C++: %s: %g %g\n", fovea::to_string(status), double(out[0]), double(out[1]));
  return status == FOVEA_OK && out[0] == 0.5f && out[1] == 0.5f ? 0 : 1;
}
