/* SPDX-License-Identifier: Apache-2.0 */
#include <fovea/attention.h>

#define ATTEND attend_by_macro
#include "attend.h"
