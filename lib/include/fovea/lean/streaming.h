/* fovea/lean/streaming.h: fovea.h for programs that use the lean configuration streaming, whose features are in config/streaming.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Include it before any other header of fovea. After it fovea.hpp, too, is that of this configuration. Source files of one
 * program may use different configurations. See lean/names.h. */
#ifndef FOVEA_LEAN_STREAMING_H_
#define FOVEA_LEAN_STREAMING_H_

#if defined(FOVEA_BASE_H_) && !defined(FOVEA_USE)
#error "include fovea/lean/streaming.h before any other header of fovea"
#endif
#define FOVEA_USE streaming
#include "fovea/fovea.h"

#endif /* FOVEA_LEAN_STREAMING_H_ */
