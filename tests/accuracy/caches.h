// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ACCURACY_CACHES_H_
#define FOVEA_TESTS_ACCURACY_CACHES_H_

namespace fovea_test {

// Prints the tables of rotated and centred caches and of key mass. False where an error is above its bound.
bool show_caches();

}  // namespace fovea_test

#endif  // FOVEA_TESTS_ACCURACY_CACHES_H_
