/* SPDX-License-Identifier: Apache-2.0 */
#include <fovea/fovea.h>

#define ATTEND attend_by_default
#include "attend.h"
