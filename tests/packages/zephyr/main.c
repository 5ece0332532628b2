/* SPDX-License-Identifier: Apache-2.0
 *
 * The program of README.md, in an application whose prj.conf leaves dropout out. */
#include "fovea/fovea_config.h"
#if FOVEA_ENABLE_DROPOUT || !FOVEA_ENABLE_SOFTCAP
#error "the settings of prj.conf do not reach the application"
#endif
#include "readme.c"
