/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration minimal, which a header names. */
#include <fovea/lean/minimal.h>

#define ATTEND attend_by_header
#include "attend.h"
