// SPDX-License-Identifier: Apache-2.0
//
// What may be done with a cache, one step after the other, as numbers that are drawn say.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "support/cache_model.h"
#include "support/formats.h"
#include "support/problem.h"

namespace fovea_test {

inline std::string status_is(const char* what, fovea_status got, fovea_status want) {
  if (got == want) return "";
  return std::string(what) + ": " + fovea_status_string(got) + ", not " + fovea_status_string(want);
}

template <class Draw>
std::string copy_some(Draw& draw, CacheModel& to, const CacheModel& from) {
  const uint32_t entry = draw.below(to.cache.batch), from_entry = draw.below(from.cache.batch);
  const uint32_t tokens = draw.below(from.length(from_entry) + 2), length = to.length(entry);
  if (tokens > length && draw.below(8) != 0) to.give_pages(entry, tokens - length);
  const fovea_status want = to.may_copy(entry, from, from_entry, tokens);
  return status_is("copy", to.copy(entry, from, from_entry, tokens), want);
}

// Keeps some tokens that are there. Pages that the table lacks are the check's business.
template <class Draw>
std::string compact_some(Draw& draw, CacheModel& model, uint32_t entry) {
  std::vector<uint32_t> kept;
  const uint32_t dense = 1 + draw.below(4), offset = draw.below(7);
  for (uint32_t token = 0; token < model.length(entry); ++token) {
    const bool gone = token >= model.cache.pinned_tokens && token < model.oldest(entry);
    if (!gone && (token + offset) * 2654435761u / 65536 % 4 < dense) kept.push_back(token);
  }
  return status_is("compact", model.compact(entry, kept), FOVEA_OK);
}

// Takes tokens of `from` in by an image, whole or damaged. They leave it again as they came.
template <class Draw>
std::string image_some(Draw& draw, CacheModel& to, const CacheModel& from) {
  auto held = sized<fovea_kv_image_args>();
  held.entry = draw.below(from.cache.batch), held.position = int64_t(draw.below(3)) - 1, held.fingerprint = draw.below(2);
  held.first = draw.below(from.length(held.entry) + 1);
  held.tokens = draw.below(from.length(held.entry) - held.first + 2);
  std::vector<uint8_t> image = from.image(held);
  if (image.empty() == from.may_export(held)) return "an image is refused, or of tokens that are not there";
  if (image.empty()) return "";
  fovea_kv_image_args args = held;
  args.entry = draw.below(to.cache.batch), args.first = to.length(args.entry);
  if (draw.below(4) == 0) args.tokens = draw.below(args.tokens + 1);
  if (draw.below(8) != 0) to.give_pages(args.entry, args.tokens);
  const size_t at = draw.below(uint32_t(image.size()));
  const uint32_t change = draw.below(4) == 0 ? draw.below(256) : 0, cut = draw.below(8) == 0 ? 1 + at : 0;
  image[at] = uint8_t(image[at] ^ change);
  image.resize(image.size() - cut);
  const std::vector<uint8_t> before = to.cache.bytes();
  const bool fits = to.fits(args.entry, args.tokens);
  const fovea_status status = to.take_in(args, image, from, held);
  if (status != FOVEA_OK && to.cache.bytes() != before) return "a refused image is written";
  if (change != 0 || cut != 0) return status == FOVEA_OK ? "a damaged image is taken" : "";
  if (status != FOVEA_OK || !fits) return status_is("import", status, fits ? FOVEA_OK : FOVEA_ERR_FULL);
  return args.tokens != held.tokens || !to.may_export(args) || to.image(args) == image ? "" : "an image has changed";
}

template <class Draw>
std::string append_some(Draw& draw, CacheModel& model, fovea_target target, uint32_t entry) {
  std::vector<uint32_t> counts(1 + draw.below(model.cache.batch - entry));
  bool fits = true;
  const bool pages = draw.below(8) != 0;
  for (uint32_t b = 0; b < counts.size(); ++b) {
    counts[b] = draw.below(draw.below(4) == 0 ? 100 : 12);
    if (pages) model.give_pages(entry + b, counts[b]);
    fits = fits && model.fits(entry + b, counts[b]);
  }
  const std::vector<uint8_t> full = model.cache.bytes();
  const fovea_dtype dtype = draw.choose(kFloatTypes);
  const std::string wrong =
      status_is("append", model.append(target, entry, counts, dtype, draw.flag()), fits ? FOVEA_OK : FOVEA_ERR_FULL);
  if (!wrong.empty() || fits) return wrong;
  return model.cache.bytes() == full ? "" : "a full cache is changed";
}

// "" or what is wrong after a step of the model, which may copy from or to `other`.
template <class Draw>
std::string step(Draw& draw, CacheModel& model, CacheModel& other) {
  const std::vector<fovea_target> all = targets();
  const fovea_target target = all[draw.below(uint32_t(all.size()))];
  const uint32_t entry = draw.below(model.cache.batch), kind = draw.below(12);
  std::string wrong;
  if (kind == 0) {
    const uint32_t to = draw.below(model.length(entry) + 2);
    const bool refused = to > model.length(entry) || model.loses(entry, to);
    wrong = status_is("truncate", model.truncate(entry, to), refused ? FOVEA_ERR_LENGTH : FOVEA_OK);
  } else if (kind == 1) {
    wrong = status_is("reset", model.reset(draw.below(4) == 0 ? FOVEA_ALL_ENTRIES : entry), FOVEA_OK);
  } else if (kind == 2) {
    wrong = copy_some(draw, model, model);
  } else if (kind == 3 && draw.flag()) {
    wrong = copy_some(draw, model, other);
  } else if (kind == 3) {
    wrong = copy_some(draw, other, model) + other.check(target);
  } else if (kind == 4) {
    const uint32_t to = draw.below(model.length(entry) + 1);
    const fovea_status want = model.loses(entry, to) ? FOVEA_ERR_LENGTH : FOVEA_OK;
    wrong = status_is("set_length", model.take_back_and_restore(entry, to), want);
  } else if (kind == 5) {
    wrong = status_is("a copy of the memory", model.restore(), FOVEA_OK);
  } else if (kind == 11) {
    wrong = draw.flag() ? image_some(draw, model, model) : image_some(draw, model, other);
  } else if (kind == 10) {
    wrong = compact_some(draw, model, entry);
  } else {
    wrong = append_some(draw, model, target, entry);
  }
  return wrong.empty() ? model.check(target) : wrong;
}

}  // namespace fovea_test
