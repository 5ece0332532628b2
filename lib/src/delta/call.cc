// SPDX-License-Identifier: Apache-2.0
//
// Linear attention: for each entry and head, for some token groups at a time, first the groups are prepared, and then a
// pass over S is made for each.
#include "base/arithmetic.h"
#include "delta/call.h"

#include "base/carver.h"
#include "base/strides.h"
#include "base/tasks.h"
#include "formats/formats.h"

namespace fovea {
namespace {

// The distance from a token whose keys are widened to the one whose keys are prefetched.
constexpr uint32_t kTokensAhead = 2 * kDeltaTokens;

// The tokens of an entry, and where arrays begin for it.
struct DeltaEntry {
  ptrdiff_t entry, first;
  uint32_t tokens;
};

DeltaEntry tokens_of(const fovea_delta_args& a, uint32_t entry) {
  if (!a.offsets) return {ptrdiff_t(entry), 0, a.tokens};
  return {0, ptrdiff_t(a.offsets[entry]), a.offsets[entry + 1] - a.offsets[entry]};
}

// The row of a token of a head.
const char* token_row(const fovea_in& array, size_t unit, const DeltaEntry& of, uint32_t head, uint32_t token) {
  return row_of(array, unit, of.entry, ptrdiff_t(head), of.first + ptrdiff_t(token));
}
const float* decay_of(const DeltaCall& c, const DeltaEntry& of, uint32_t head, uint32_t token) {
  return c.gated ? reinterpret_cast<const float*>(token_row(c.args->decay, sizeof(float), of, head, token)) : nullptr;
}

uint32_t key_head(const fovea_delta_args& a, uint32_t head) { return head / (a.v_heads / a.k_heads); }
uint32_t query_head(const fovea_delta_args& a, const DeltaPlan& plan, uint32_t head, uint32_t reader) {
  return a.q_heads < a.v_heads ? head / (a.v_heads / a.q_heads) : head * plan.readers + reader;
}

// One head of an entry: goes through its tokens, from the first to the last.
class HeadRun {
 public:
  HeadRun(const DeltaCall& call, uint32_t entry, uint32_t head, char* workspace)
      : c_(call), a_(*call.args), of_(tokens_of(a_, entry)), head_(head), row_(whole_columns(a_.key_dim)) {
    Carver carver(workspace);
    factors_ = delta_factor_count(c_.plan.lanes, a_.key_dim).value;
    place_delta_scratch(carver, a_.key_dim, size_t(c_.plan.groups) * c_.plan.readers, factors_, &scratch_);
    memory_ = delta_head(*c_.state, a_.entry + entry, head);
    const uint32_t pending = pending_of(*c_.state)[a_.entry + entry];
    adds_ = pending == kDeltaTokens;
    before_ = adds_ ? 0 : pending;
    for (uint32_t m = 0; m < pending; ++m) {
      DeltaTokens& tokens = sets_[adds_ ? 1 : 0];
      tokens.k[m] = memory_.k + m * row_;
      tokens.decay[m] = memory_.decay + m * decay_stride(*c_.state);
    }
  }

  void run(uint32_t begin, uint32_t end) {
    for (uint32_t token = 0; token < of_.tokens;) {
      uint32_t count = 0;
      for (; count < c_.plan.groups && token < of_.tokens; ++count) token += prepare_group(count, token);
      run_columns(count, begin, end);
    }
  }

 private:
  void widen(const fovea_in& array, uint32_t head, uint32_t token, float* out) const {
    const size_t unit = unit_bytes(a_.dtype);
    const uint32_t ahead = of_.tokens - token > kTokensAhead ? token + kTokensAhead : token;
    c_.kernels->widen(a_.dtype, token_row(array, unit, of_, head, token), a_.key_dim, out,
                      token_row(array, unit, of_, head, ahead));
  }

  // Prepares a token group, and returns its number of new tokens.
  uint32_t prepare_group(uint32_t index, uint32_t token) {
    const uint32_t left = of_.tokens - token, room = kDeltaTokens - before_, count = left < room ? left : room;
    DeltaTokens& tokens = sets_[set_];
    DeltaGroup* const groups = scratch_.groups + size_t(index) * c_.plan.readers;
    float beta[kDeltaTokens] = {};
    for (uint32_t n = 0; n < count; ++n) {
      float* const k = scratch_.k + (set_ * kDeltaTokens + before_ + n) * row_;
      widen(a_.k, key_head(a_, head_), token + n, k);
      tokens.k[before_ + n] = k;
      tokens.decay[before_ + n] = decay_of(c_, of_, head_, token + n);
      if (c_.delta) beta[n] = *reinterpret_cast<const float*>(token_row(a_.beta, sizeof(float), of_, head_, token + n));
    }
    for (uint32_t reader = 0; reader < c_.plan.readers; ++reader) {
      DeltaGroup& group = groups[reader];
      group.before = before_, group.tokens = count, group.token = token, group.adds = adds_;
      for (uint32_t n = 0; n < kDeltaTokens; ++n) group.beta[n] = beta[n];
      group.factors = scratch_.factors + (size_t(index) * c_.plan.readers + reader) * factors_;
      DeltaPrepare p = {&group,      a_.key_dim,      c_.scale,    c_.delta, c_.gated,        a_.decay_dim > 1,
                        reader != 0, sets_[1 - set_], sets_[set_], {},       scratch_.strands};
      for (uint32_t n = 0; n < count; ++n) {
        float* const q = scratch_.q + n * row_;
        const uint32_t of_queries = query_head(a_, c_.plan, head_, reader);
        widen(a_.q, of_queries, token + n, q);
        p.q[n] = q;
      }
      c_.kernels->prepare(p);
    }
    before_ += count;
    adds_ = before_ == kDeltaTokens;
    if (adds_) before_ = 0, set_ = 1 - set_;
    return count;
  }

  void run_columns(uint32_t count, uint32_t begin, uint32_t end) const {
    const size_t unit = unit_bytes(a_.dtype), out_unit = unit_bytes(a_.out_dtype);
    const fovea_in out = {a_.out.data, a_.out.batch_stride, a_.out.head_stride, a_.out.token_stride};
    DeltaColumns columns = {};
    columns.groups = scratch_.groups, columns.count = count, columns.readers = c_.plan.readers;
    columns.key_dim = a_.key_dim, columns.value_dim = a_.value_dim;
    columns.begin = begin, columns.end = end;
    columns.delta = c_.delta;
    columns.s = memory_.s, columns.u = memory_.u, columns.u_stride = whole_columns(a_.value_dim);
    columns.v_dtype = a_.dtype, columns.out_dtype = a_.out_dtype;
    columns.v = token_row(a_.v, unit, of_, head_, 0);
    columns.out = const_cast<char*>(token_row(out, out_unit, of_, head_ * c_.plan.readers, 0));
    columns.v_stride = stride_bytes(a_.v.token_stride, unit);
    columns.out_stride = stride_bytes(out.token_stride, out_unit);
    columns.reader_stride = stride_bytes(out.head_stride, out_unit);
    c_.kernels->columns(columns);
  }

  const DeltaCall& c_;
  const fovea_delta_args& a_;
  const DeltaEntry of_;
  const uint32_t head_;
  const size_t row_;
  size_t factors_;
  DeltaScratch scratch_;
  DeltaHead memory_;
  DeltaTokens sets_[2] = {};  // of the current group and of the one before, alternately
  uint32_t set_ = 0;
  uint32_t before_;  // tokens that the current group has already
  bool adds_;        // the group before is whole, and not yet in S
};

// The last group's keys and decays become pending. Its values u are stored already.
void keep_pending(const DeltaCall& c, uint32_t entry) {
  const fovea_delta_args& a = *c.args;
  const DeltaEntry of = tokens_of(a, entry);
  if (of.tokens == 0) return;
  uint32_t& pending = pending_of(*c.state)[a.entry + entry];
  const uint32_t last = (pending + of.tokens - 1) % kDeltaTokens + 1;  // 4 pending tokens are not in the next group
  const uint32_t count = of.tokens < last ? of.tokens : last;
  for (uint32_t head = 0; head < a.v_heads; ++head) {
    const DeltaHead memory = delta_head(*c.state, a.entry + entry, head);
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t token = of.tokens - count + n, place = last - count + n;
      const char* const k = token_row(a.k, unit_bytes(a.dtype), of, key_head(a, head), token);
      c.kernels->widen(a.dtype, k, a.key_dim, memory.k + place * size_t(whole_columns(a.key_dim)), k);
      float* const decay = memory.decay + place * size_t(decay_stride(*c.state));
      const float* const given = decay_of(c, of, head, token);
      const uint32_t dim = a.decay_dim > 1 ? a.key_dim : 1;
      for (uint32_t i = 0; i < dim; ++i) decay[i] = given ? given[i] : 0.0f;
    }
  }
  pending = last;
}

}  // namespace

fovea_status DeltaCall::run_task(size_t index, uint32_t worker, Scratch*) const {
  const size_t heads = index / plan.parts;
  const uint32_t part = uint32_t(index % plan.parts), columns = whole_columns(args->value_dim);
  HeadRun head(*this, uint32_t(heads / args->v_heads), uint32_t(heads % args->v_heads),
               workspace + worker * plan.worker_bytes);
  const uint32_t begin = part * kPartColumns, end = begin + kPartColumns;
  head.run(begin, plan.parts == 1 || end > columns ? columns : end);
  return FOVEA_OK;
}

fovea_status run_delta(const DeltaCall& call) {
  const fovea_delta_args& a = *call.args;
  const size_t tasks = size_t(a.batch) * a.v_heads * call.plan.parts;
  const fovea_status status = run_tasks(call, a.executor, call.plan.workers, tasks);
  if (status != FOVEA_OK) return status;
  for (uint32_t entry = 0; entry < a.batch; ++entry) keep_pending(call, entry);
  return FOVEA_OK;
}

}  // namespace fovea
