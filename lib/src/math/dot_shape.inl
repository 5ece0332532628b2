// SPDX-License-Identifier: Apache-2.0
//
// How the dot words that were included before this take their codes.

constexpr int kBlockVectors = kDotTraits[dot::kKind].vectors ? kDotTraits[dot::kKind].vectors : hn::kBlockVectors;
constexpr size_t kGroup = kDotTraits[dot::kKind].group, kReads = kDotTraits[dot::kKind].reads;
