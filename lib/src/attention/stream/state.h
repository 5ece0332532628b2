// SPDX-License-Identifier: Apache-2.0
//
// The memory of a stream's state: a header, then the arrays of its rows.
#ifndef FOVEA_SRC_ATTENTION_STREAM_STATE_H_
#define FOVEA_SRC_ATTENTION_STREAM_STATE_H_

#include "attention/kernels.h"
#include "base/checked_size.h"
#include "fovea/fovea.h"

namespace fovea {

// Bytes of a state; overflow is remembered.
CheckedSize state_bytes(const fovea_state& state);

size_t state_row_count(const fovea_state& state);

// Where the arrays of a state are: after its header.
StateRows state_rows(const fovea_state& state);

// Makes a state that has seen no key.
void begin_state(const fovea_state& header, fovea_state* state);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STREAM_STATE_H_
