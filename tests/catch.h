// SPDX-License-Identifier: Apache-2.0
//
// Catch2, whichever version there is: 3 has catch_all.hpp, 2 has catch.hpp. Or, where FOVEA_TEST_DRIVER is small, the
// part of it in driver/.
#ifndef FOVEA_TESTS_CATCH_H_
#define FOVEA_TESTS_CATCH_H_

#if FOVEA_SMALL_DRIVER
#include "driver/driver.h"
#elif __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif  // FOVEA_TESTS_CATCH_H_
