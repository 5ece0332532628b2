// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_TENSORS_RESOLVE_H_
#define FOVEA_SRC_TENSORS_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/tensors/call.h"

namespace fovea {

// Perform every check, and make *call ready to run.
fovea_status resolve_pair(const fovea_pair_args& args, PairCall* call);
fovea_status resolve_pooling(const fovea_pooling_args& args, PoolingCall* call);
fovea_status resolve_embedding(const fovea_embedding_args& args, EmbeddingCall* call);
// For what finds the largest k of count elements, each of size bytes.
fovea_status check_select(const void* x, size_t size, uint32_t count, uint32_t k, const uint32_t* indices);

}  // namespace fovea

#endif  // FOVEA_SRC_TENSORS_RESOLVE_H_
