// SPDX-License-Identifier: Apache-2.0
//
// fovea/modifier.hpp: modifiers of scores and weights from a function, a lambda for example. "Modifiers" in attention.h
// is the manual.
#ifndef FOVEA_MODIFIER_HPP_
#define FOVEA_MODIFIER_HPP_

#include <cstddef>
#include <cstdint>

#include "fovea/attention.h"
#include "fovea/base.hpp"

namespace fovea {
FOVEA_LEAN_BEGIN_

// The place of a score or a weight: which query and which key it is for.
struct ScorePlace {
  std::uint32_t batch;    // the entry
  std::uint32_t head;     // of the query
  std::uint32_t token;    // of the query, in its entry
  std::int64_t position;  // of the query
  std::int64_t key;       // its number, as in fovea_score_block
  std::int32_t relative;  // key - position, below 2^31

  // From the key to the query, in tokens: negative for keys after the query.
  float distance() const { return -static_cast<float>(relative); }
};

// The elements of a score block, each of which a function changes. Elements that are adjacent in memory are taken 8 or
// 4 at a time, by loops of constant counts over local arrays: so compilers use vectors, without checks for overlap.
class ScoreBlock {
 public:
  explicit ScoreBlock(const fovea_score_block& block)
      : block_(block), first_relative_(static_cast<std::uint32_t>(block.first_key - block.first_position)) {}

  template <class F>
  void change(const F& f) const {
    if (block_.key_stride == 1) {
      for (std::size_t r = 0; r < block_.rows; ++r) change_row(f, r);
    } else {
      std::size_t r = 0;
      for (; block_.rows - r >= 8; r += 8) change_rows<8>(f, r);
      if (block_.rows - r >= 4) change_rows<4>(f, r), r += 4;
      for (std::size_t rest = block_.rows % 4; rest > 0; --rest, ++r) change_rows<1>(f, r);
    }
  }

 private:
  ScorePlace place(std::uint32_t head, std::uint32_t token, std::size_t key) const {
    const auto relative = static_cast<std::int32_t>(first_relative_ + static_cast<std::uint32_t>(key) - token);
    return {block_.batch, head, token, block_.first_position + token, block_.first_key + static_cast<std::int64_t>(key),
            relative};
  }

  // kCount elements from x on. place_of(i) is the place of element i.
  template <std::size_t kCount, class F, class PlaceOf>
  static void change_some(float* x, const F& f, const PlaceOf& place_of) {
    float own[kCount];
    for (std::size_t i = 0; i < kCount; ++i) own[i] = f(x[i], place_of(i));
    for (std::size_t i = 0; i < kCount; ++i) x[i] = own[i];
  }

  template <class F>
  void change_row(const F& f, std::size_t row) const {
    const std::uint32_t head = block_.heads[row], token = block_.tokens[row];
    float* const x = block_.data + static_cast<std::ptrdiff_t>(row) * block_.row_stride;
    std::size_t k = 0;
    for (; block_.keys - k >= 8; k += 8) {
      change_some<8>(x + k, f, [&](std::size_t i) { return place(head, token, k + i); });
    }
    for (std::size_t rest = block_.keys % 8; rest > 0; --rest, ++k) x[k] = f(x[k], place(head, token, k));
  }

  // All keys of kCount rows.
  template <std::size_t kCount, class F>
  void change_rows(const F& f, std::size_t row) const {
    std::uint32_t heads[kCount], tokens[kCount];
    for (std::size_t i = 0; i < kCount; ++i) heads[i] = block_.heads[row + i];
    for (std::size_t i = 0; i < kCount; ++i) tokens[i] = block_.tokens[row + i];
    float* x = block_.data + row;
    for (std::size_t k = 0; k < block_.keys; ++k, x += block_.key_stride) {
      change_some<kCount>(x, f, [&](std::size_t i) { return place(heads[i], tokens[i], k); });
    }
  }

  const fovea_score_block& block_;
  std::uint32_t first_relative_;
};

// A modifier of scores: a function float(float score, const ScorePlace& at) that is called for each score, a lambda for
// example. Several threads may call it at once, and it must not throw. The modifier holds the function, and must keep
// its address as long as arguments point to it.
//     const fovea::ScoreModifier alibi([](float score, const fovea::ScorePlace& at) {
//       return score - 0.1f * at.distance();
//     });
//     args.modifier = &alibi;
template <class F>
class ScoreModifier : public fovea_modifier {
 public:
  explicit ScoreModifier(F f) : fovea_modifier{change, nullptr, this}, f_(f) {}
  ScoreModifier(const ScoreModifier&) = delete;
  ScoreModifier& operator=(const ScoreModifier&) = delete;

 private:
  static void change(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const ScoreModifier*>(self)->f_);
  }

  F f_;
};

// A modifier of weights: a function float(float weight, const ScorePlace& at), under the same conditions.
template <class F>
class WeightModifier : public fovea_modifier {
 public:
  explicit WeightModifier(F f) : fovea_modifier{nullptr, change, this}, f_(f) {}
  WeightModifier(const WeightModifier&) = delete;
  WeightModifier& operator=(const WeightModifier&) = delete;

 private:
  static void change(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const WeightModifier*>(self)->f_);
  }

  F f_;
};

// A modifier of scores and of weights, with a function for each.
template <class Scores, class Weights>
class Modifier : public fovea_modifier {
 public:
  Modifier(Scores of_scores, Weights of_weights)
      : fovea_modifier{change_scores, change_weights, this}, scores_(of_scores), weights_(of_weights) {}
  Modifier(const Modifier&) = delete;
  Modifier& operator=(const Modifier&) = delete;

 private:
  static void change_scores(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const Modifier*>(self)->scores_);
  }
  static void change_weights(void* self, const fovea_score_block* block) {
    ScoreBlock(*block).change(static_cast<const Modifier*>(self)->weights_);
  }

  Scores scores_;
  Weights weights_;
};

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_MODIFIER_HPP_
