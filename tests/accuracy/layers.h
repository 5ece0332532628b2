// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ACCURACY_LAYERS_H_
#define FOVEA_TESTS_ACCURACY_LAYERS_H_

namespace fovea_test {

// Prints the tables of the layers around attention. False where an error is above the bound that its header states.
bool show_layers();

}  // namespace fovea_test

#endif  // FOVEA_TESTS_ACCURACY_LAYERS_H_
