/* SPDX-License-Identifier: Apache-2.0 */
#include <fovea/lean/minimal.h>

#define ATTEND attend_by_header
#include "attend.h"
