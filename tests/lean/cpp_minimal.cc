// SPDX-License-Identifier: Apache-2.0
#include <fovea/lean/minimal.h>

#define PLAN_OF_I8 plan_of_i8_in_cpp_minimal
#include "plan_of_i8.h"
