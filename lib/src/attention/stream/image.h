// SPDX-License-Identifier: Apache-2.0
//
// A state as bytes that another machine can read: its words in little-endian order, and a checksum in the header.
#ifndef FOVEA_SRC_ATTENTION_STREAM_IMAGE_H_
#define FOVEA_SRC_ATTENTION_STREAM_IMAGE_H_

#include "fovea/fovea.h"

namespace fovea {

// `bytes` is the size of the state, a multiple of 4, and that of the image.
void write_image(const fovea_state& state, size_t bytes, uint8_t* image);

// The header of an image of at least sizeof(fovea_state) bytes.
fovea_state read_image_header(const uint8_t* image);
// Whether an image of `bytes` bytes has the checksum that its header names.
bool image_is_whole(const uint8_t* image, size_t bytes);
// The whole state, except for the checksum.
void read_image(const uint8_t* image, size_t bytes, fovea_state* state);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STREAM_IMAGE_H_
