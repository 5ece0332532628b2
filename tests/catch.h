// SPDX-License-Identifier: Apache-2.0
//
// Catch2, whichever version there is: 3 has catch_all.hpp, 2 has catch.hpp.
#ifndef FOVEA_TESTS_CATCH_H_
#define FOVEA_TESTS_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif  // FOVEA_TESTS_CATCH_H_
