/* A value for FOVEA_CONFIG_HEADER (see fovea_config.h) that keeps the smallest attention: f32, plain arrays, any heads,
 * causal limits, key lengths, one call; and softmax over contiguous rows. bench/README.md, "Size", has its size.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * To get a feature back, use -DFOVEA_ENABLE_I8=1, for example, for the whole build (with CMake
 * -DFOVEA_DEFINES=FOVEA_ENABLE_I8=1), or name a header of your own that defines it and then includes this one. */
#ifndef FOVEA_CONFIG_MINIMAL_H_
#define FOVEA_CONFIG_MINIMAL_H_

#ifndef FOVEA_ENABLE_DEFAULT
#define FOVEA_ENABLE_DEFAULT 0
#endif

#endif /* FOVEA_CONFIG_MINIMAL_H_ */
