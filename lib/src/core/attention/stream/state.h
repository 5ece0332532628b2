// SPDX-License-Identifier: Apache-2.0
//
// The memory of a stream's state: a header, then the arrays of its rows.
#ifndef FOVEA_SRC_ATTENTION_STREAM_STATE_H_
#define FOVEA_SRC_ATTENTION_STREAM_STATE_H_

#include "core/attention/kernels.h"
#include "fovea/fovea.h"
#include "ground/base/carver.h"

namespace fovea {

// Bytes of a state; overflow is remembered.
CheckedSize state_bytes(const fovea_stream_state& state);

size_t state_row_count(const fovea_stream_state& state);

// Where the arrays of a state are: after its header.
StateRows state_rows(const fovea_stream_state& state);

// Makes a state that has seen no key.
void begin_state(const fovea_stream_state& header, fovea_stream_state* state);

// An image is a state as bytes that another machine can read: its words in little-endian order, and a checksum in the
// header. `bytes` is the size of both, a multiple of 4.
void write_image(const fovea_stream_state& state, size_t bytes, uint8_t* image);
// The header of an image of at least sizeof(fovea_stream_state) bytes.
fovea_stream_state read_image_header(const uint8_t* image);
// Whether an image of `bytes` bytes has the checksum that its header names.
bool image_is_whole(const uint8_t* image, size_t bytes);
// The whole state, except for the checksum.
void read_image(const uint8_t* image, size_t bytes, fovea_stream_state* state);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STREAM_STATE_H_
