// SPDX-License-Identifier: Apache-2.0
//
// fovea/block_map.hpp: block maps that a function makes, a lambda for example. block_map.h is the manual.
#ifndef FOVEA_BLOCK_MAP_HPP_
#define FOVEA_BLOCK_MAP_HPP_

#include <cstdint>

#include "fovea/base.hpp"
#include "fovea/block_map.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

using BlockMapArgs = Sized<fovea_block_map_args>;

inline fovea_status make_block_map(const fovea_block_map_args& args, fovea_block_map& map) {
  return fovea_block_map_make(&args, &map);
}
inline fovea_status block_map_count(const fovea_block_map_args& args, std::uint32_t* count) {
  return fovea_block_map_count(&args, count);
}

// Arguments in which f says what a block of queries sees of a block of keys. f is called as
// fovea_block_kind(const fovea_block& block), and is not needed any more once the map is made.
template <class F>
BlockMapArgs classified_by(const F& f, const fovea_block_map_args& args) {
  BlockMapArgs result;
  static_cast<fovea_block_map_args&>(result) = args;
  result.classify = [](void* self, const fovea_block* block) -> fovea_block_kind {
    return (*static_cast<const F*>(self))(*block);
  };
  result.self = const_cast<void*>(static_cast<const void*>(&f));
  return result;
}

template <class F>
fovea_status make_block_map(const fovea_block_map_args& args, const F& classify, fovea_block_map& map) {
  return make_block_map(classified_by(classify, args), map);
}
template <class F>
fovea_status block_map_count(const fovea_block_map_args& args, const F& classify, std::uint32_t* count) {
  return block_map_count(classified_by(classify, args), count);
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_BLOCK_MAP_HPP_
