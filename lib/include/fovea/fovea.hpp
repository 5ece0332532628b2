// SPDX-License-Identifier: Apache-2.0
//
// fovea for C++17: names, types and defaults. Each C++ header wraps the C header of the same name, which is its manual
// (modifier.hpp wraps a part of attention.h). Every function is one call of C. Nothing here computes, except for
// the loops in which a modifier calls a function of the caller. Nothing allocates, throws or links the C++ standard
// library.
//
//     fovea::AttentionDesc desc;                        // all fields are 0, and struct_bytes is set
//     desc.q_heads = 8; ...
//     fovea::AttentionPlan plan;
//     if (plan.init(desc) != FOVEA_OK) ...
//     fovea::AttentionArgs args;
//     args.q = fovea::heads_first(q, 8, tokens, 64);    // [batch][heads][tokens][dim]
//     ...
//     plan.run(args, workspace);
#ifndef FOVEA_FOVEA_HPP_
#define FOVEA_FOVEA_HPP_

#include "fovea/attention.hpp"
#include "fovea/base.hpp"
#include "fovea/block_map.hpp"
#include "fovea/delta.hpp"
#include "fovea/fovea.h"
#include "fovea/integer_attention.hpp"
#include "fovea/integer_layers.hpp"
#include "fovea/kv_cache.hpp"
#include "fovea/layers.hpp"
#include "fovea/linear.hpp"
#include "fovea/modifier.hpp"
#include "fovea/multihead.hpp"
#include "fovea/selftest.hpp"
#include "fovea/stream.hpp"
#include "fovea/tensors.hpp"

#endif  // FOVEA_FOVEA_HPP_
