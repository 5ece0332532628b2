// SPDX-License-Identifier: Apache-2.0
#define PLAN_OF_I8 plan_of_i8_in_cpp_default
#include "plan_of_i8.h"
