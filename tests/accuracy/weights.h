// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ACCURACY_WEIGHTS_H_
#define FOVEA_TESTS_ACCURACY_WEIGHTS_H_

namespace fovea_test {

// Prints the table of linear layers whose weights are in groups. False where an error is above its bound.
bool show_weights_in_groups();

}  // namespace fovea_test

#endif  // FOVEA_TESTS_ACCURACY_WEIGHTS_H_
