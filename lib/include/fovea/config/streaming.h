/* A value for FOVEA_CONFIG_HEADER (see fovea_config.h) for firmware that gets one token, or a few, at a time. In
 * addition to minimal.h it keeps streams, rings of f32 and int8 rows with sliding windows and pinned tokens, and
 * half-split rope with tables of cos and sin. bench/README.md, "Size", has its size.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOVEA_CONFIG_STREAMING_H_
#define FOVEA_CONFIG_STREAMING_H_

#define FOVEA_ENABLE_FEW_ROWS 1
#define FOVEA_ENABLE_I8 1
#define FOVEA_ENABLE_RING 1
#define FOVEA_ENABLE_ROPE_HALF_SPLIT 1
#define FOVEA_ENABLE_STREAMS 1
#define FOVEA_ENABLE_WINDOWS 1
#include "fovea/config/minimal.h"

#endif /* FOVEA_CONFIG_STREAMING_H_ */
