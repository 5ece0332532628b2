// SPDX-License-Identifier: Apache-2.0
//
// The shapes of codes that the dot words included before this read.

constexpr int kBlockVectors = kDotTraits[dot::kKind].vectors ? kDotTraits[dot::kKind].vectors : hn::kBlockVectors;
constexpr size_t kGroup = kDotTraits[dot::kKind].group, kReads = kDotTraits[dot::kKind].reads;
