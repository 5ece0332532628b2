// SPDX-License-Identifier: Apache-2.0
//
// Steps of many tokens that an instruction may do in a way of its own. Each returns whether it was done.
#include "linear/i8_one_block.inl"

FOVEA_INLINE bool PutColumnOfBytes(const int8_t*, size_t, dot::Code*, size_t) { return false; }
FOVEA_INLINE bool EndAsCodes(const I8TokenTile&, const I8Rows&) { return false; }
