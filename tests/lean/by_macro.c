/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration streaming, which FOVEA_USE=streaming names in the compiler's command. */
#include <fovea/attention.h>

#define ATTEND attend_by_macro
#include "attend.h"
