// SPDX-License-Identifier: Apache-2.0
//
// fovea_plan_describe: a line of text, put together without stdio.
#include "base/arithmetic.h"
#include "attention/plan.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "targets/registry.h"

namespace {

// Appends to a buffer of fixed size and counts what would have been written.
class Line {
 public:
  Line(char* text, size_t bytes) : text_(text), bytes_(bytes) {}

  Line& operator<<(const char* s) {
    for (; *s; ++s) put(*s);
    return *this;
  }
  Line& operator<<(uint64_t x) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = char('0' + x % 10);
      x /= 10;
    } while (x);
    while (count) put(digits[--count]);
    return *this;
  }
  size_t finish() {
    if (bytes_) text_[written_ < bytes_ ? written_ : bytes_ - 1] = '\0';
    return written_;
  }

 private:
  void put(char c) {
    if (written_ + 1 < bytes_) text_[written_] = c;
    ++written_;
  }

  char* text_;
  size_t bytes_, written_ = 0;
};

}  // namespace

extern "C" size_t fovea_plan_describe(const fovea_plan* plan, uint32_t q_tokens, uint32_t kv_tokens, char* text,
                                      size_t text_bytes) {
  Line line(text, text ? text_bytes : 0);
  if (!fovea::config::kText) return line.finish();
  if (!plan || !fovea::is_plan(*plan)) return (line << "not a plan").finish();
  const fovea_attention_desc& d = plan->desc;
  const uint64_t rows = uint64_t(d.q_heads / d.kv_heads) * q_tokens;
  const fovea_plan_kernel& kernel = fovea::kernel_for(*plan, rows);
  line << fovea_target_name(d.target) << " (" << fovea_target_backend(d.target) << "), "
       << fovea::kKernelNames[kernel.index] << " kernel, rows for each key head " << rows << " in tiles: "
       << (rows + kernel.tile_rows - 1) / kernel.tile_rows << " of at most " << uint64_t(kernel.tile_rows);
  line << ", keys in tiles of " << uint64_t(FOVEA_KEY_TILE) << ": "
       << (uint64_t(kv_tokens) + FOVEA_KEY_TILE - 1) / FOVEA_KEY_TILE;
  const uint32_t splits = fovea::split_count(d, kv_tokens), workers = fovea::worker_count(d);
  if (splits > 1) line << " in " << uint64_t(splits) << " parts of " << uint64_t(d.key_split_tokens);
  line << ", workspace " << uint64_t(plan->workspace_bytes) << " bytes";
  if (workers > 1) line << " for " << uint64_t(workers) << " workers";
  return line.finish();
}
