// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ACCURACY_INTEGER_H_
#define FOVEA_TESTS_ACCURACY_INTEGER_H_

namespace fovea_test {

// Prints the table of integer arithmetic. False where an error is above its bound, or where two targets differ.
bool show_integer_arithmetic();

}  // namespace fovea_test

#endif  // FOVEA_TESTS_ACCURACY_INTEGER_H_
