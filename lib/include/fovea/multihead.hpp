// SPDX-License-Identifier: Apache-2.0
//
// fovea/multihead.hpp: layers of multi-head attention. multihead.h is the manual.
#ifndef FOVEA_MULTIHEAD_HPP_
#define FOVEA_MULTIHEAD_HPP_

#include <cstddef>

#include "fovea/base.hpp"
#include "fovea/kv_cache.hpp"
#include "fovea/linear.hpp"
#include "fovea/multihead.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

struct MultiheadDesc : Sized<fovea_multihead_desc> {
  constexpr MultiheadDesc() { attention.struct_bytes = sizeof(fovea_attention_desc); }
};

struct MultiheadArgs : Sized<fovea_multihead_args> {
  constexpr MultiheadArgs() { attention.struct_bytes = sizeof(fovea_attention_args); }
};

// A multi-head layer: init plans it once, then it is read-only. Until init has returned FOVEA_OK, the other functions
// return FOVEA_ERR_PLAN.
class Multihead {
 public:
  fovea_status init(const fovea_multihead_desc& desc) { return fovea_multihead_plan_init(&plan_, &desc); }

  std::size_t workspace_bytes() const {
    std::size_t bytes = 0;
    fovea_multihead_workspace_bytes(&plan_, &bytes);
    return bytes;
  }
  // The description, with defaults filled in; NULL before init.
  const fovea_multihead_desc* desc() const { return fovea_multihead_plan_desc(&plan_); }
  const fovea_multihead_plan& get() const { return plan_; }

  fovea_status run(const fovea_multihead_args& args, Span<std::byte> workspace) const {
    return fovea_multihead(&plan_, &args, workspace.data(), workspace.size());
  }
  // Projects keys and values into a cache.
  fovea_status append(KvCache& cache, const fovea_multihead_args& args, Span<std::byte> workspace) const;

 private:
  fovea_multihead_plan plan_{};
};

inline fovea_status Multihead::append(KvCache& cache, const fovea_multihead_args& args,
                                      Span<std::byte> workspace) const {
  return fovea_multihead_append(&plan_, &cache.cache_, &args, workspace.data(), workspace.size());
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_MULTIHEAD_HPP_
