/* A value for FOVEA_CONFIG_HEADER (see fovea_config.h) for firmware whose tensors are int8. It keeps
 * fovea_integer_attention, and the attention of minimal.h, which a static link drops where nothing calls it.
 * bench/README.md, "Size", has its size.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOVEA_CONFIG_INT8_H_
#define FOVEA_CONFIG_INT8_H_

#define FOVEA_ENABLE_INTEGER_ATTENTION 1
#include "fovea/config/minimal.h"

#endif /* FOVEA_CONFIG_INT8_H_ */
