// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_IN_PLACE_H_
#define FOVEA_SRC_BASE_IN_PLACE_H_

#include "base/buffers.h"

namespace fovea {

// Adds an input that has the counts of args.y, which was added before. It may be the same array as y, if elements of
// both have the same size; otherwise it must not overlap any output.
template <class Args>
fovea_status add_input_or_same(Buffers* buffers, const Args& args, size_t y_bytes, const fovea_in& array,
                               size_t element_bytes) {
  const Dimensions of_y = {{args.batch, args.y.batch_stride},
                           {args.heads, args.y.head_stride},
                           {args.tokens, args.y.token_stride},
                           {args.dim, 1}};
  const Dimensions of_array = {{args.batch, array.batch_stride},
                               {args.heads, array.head_stride},
                               {args.tokens, array.token_stride},
                               {args.dim, 1}};
  if (y_bytes == element_bytes && same_places(args.y.data, array.data, of_y, of_array)) return FOVEA_OK;
  return buffers->add_input(array, element_bytes, args.batch, args.heads, args.tokens, args.dim);
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_IN_PLACE_H_
