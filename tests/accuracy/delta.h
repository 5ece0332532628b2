// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ACCURACY_DELTA_H_
#define FOVEA_TESTS_ACCURACY_DELTA_H_

namespace fovea_test {

// Prints the table of linear attention. False where an error is above its bound.
bool show_linear_attention();

}  // namespace fovea_test

#endif  // FOVEA_TESTS_ACCURACY_DELTA_H_
