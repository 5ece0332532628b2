// SPDX-License-Identifier: Apache-2.0
//
// Linear attention: for each entry and head, for some token groups at a time, first the groups are prepared, and then a
// pass over S is made for each.
#include "ground/base/arithmetic.h"
#include "layers/delta/call.h"

#include "ground/base/carver.h"
#include "ground/base/status.h"
#include "ground/base/strides.h"
#include "ground/base/tasks.h"
#include "ground/formats/formats.h"

namespace fovea {
namespace {

// The distance from a token whose keys are widened to the one whose keys are prefetched.
constexpr uint32_t kTokensAhead = 2 * kDeltaTokens;

// The tokens of an entry, and where arrays begin for it.
struct DeltaEntry {
  ptrdiff_t entry, first;
  uint32_t tokens;
};

DeltaEntry tokens_of(const DeltaCall& c, uint32_t entry) {
  const uint32_t* const offsets = c.ragged_offsets();
  if (!offsets) return {ptrdiff_t(entry), 0, c.tokens};
  return {0, ptrdiff_t(offsets[entry]), offsets[entry + 1] - offsets[entry]};
}

// The row of a token of a head.
template <class Array>
auto token_row(const Array& array, size_t unit, const DeltaEntry& of, uint32_t head, uint32_t token) {
  return row_of(array, unit, of.entry, ptrdiff_t(head), of.first + ptrdiff_t(token));
}
const float* decay_of(const DeltaCall& c, const DeltaEntry& of, uint32_t head, uint32_t token) {
  return c.decay ? reinterpret_cast<const float*>(token_row(*c.decay, sizeof(float), of, head, token)) : nullptr;
}

// One head of an entry: goes through its tokens, from the first to the last.
class HeadRun {
 public:
  HeadRun(const DeltaCall& call, uint32_t entry, uint32_t head, char* workspace)
      : c_(call), s_(*call.state), of_(tokens_of(call, entry)), head_(head), row_(whole_columns(s_.head_dim)) {
    Carver carver(workspace);
    factors_ = delta_factor_count(c_.plan.lanes, s_.head_dim).value;
    scratch_.place(carver, row_, size_t(c_.plan.groups) * c_.plan.readers, factors_);
    if (c_.general()) {
      given_count_ = delta_given_count(c_.plan.lanes, s_.head_dim).value;
      given_->place(carver, row_, size_t(c_.plan.groups) * c_.plan.readers, *given_count_);
    }
    memory_ = delta_head(s_, c_.entry + entry, head);
    const uint32_t pending = pending_of(s_)[c_.entry + entry];
    adds_ = pending == kDeltaTokens;
    before_ = adds_ ? 0 : pending;
    for (uint32_t m = 0; m < pending; ++m) {
      DeltaTokens& tokens = sets_[adds_ ? 1 : 0];
      tokens.k[m] = memory_.k + m * row_;
      tokens.decay[m] = memory_.decay + m * decay_stride(s_);
      if (c_.general()) given_sets_->k[adds_ ? 1 : 0][m] = *memory_.given_k + m * row_;
    }
  }

  void run(uint32_t begin, uint32_t end) {
    for (uint32_t token = 0; token < of_.tokens;) {
      uint32_t count = 0;
      for (; count < c_.plan.groups && token < of_.tokens; ++count) token += prepare_group(count, token);
      c_.kernels->columns(columns_of(count, begin, end));
    }
  }

  // One token group for an empty state, whose S is read at `from`.
  void read(const fovea_in& from) {
    prepare_group(0, 0);
    DeltaColumns columns = columns_of(1, 0, s_.value_dim);
    columns.s = const_cast<float*>(static_cast<const float*>(from.data)), columns.s_row = from.token_stride;
    c_.kernels->columns(columns);
  }

 private:
  void widen(const fovea_in& array, uint32_t head, uint32_t token, float* out) const {
    const size_t unit = unit_bytes(c_.dtype);
    const uint32_t ahead = of_.tokens - token > kTokensAhead ? token + kTokensAhead : token;
    c_.kernels->widen(c_.dtype, token_row(array, unit, of_, head, token), s_.head_dim, out,
                      token_row(array, unit, of_, head, ahead));
  }

  // The key that is given with new token n, and its a.
  void widen_given(uint32_t token, uint32_t n) {
    const uint32_t place = before_ + n;
    float* const k = given_->k + (set_ * kDeltaTokens + place) * row_;
    widen(*c_.k, head_ / c_.key_share, token, k);
    given_sets_->k[set_][place] = k;
    widen(**c_.a, head_ / c_.key_share, token, given_->q + n * row_);
  }

  void prepare(DeltaPrepare& p, size_t index) {
    if (!c_.general()) return c_.kernels->prepare(p);
    DeltaGiven& given = given_->groups[index];
    given.factors = given_->factors + index * *given_count_;
    DeltaGeneral& general = *p.general;
    general = {&given, {}, given_sets_->k[1 - set_], given_sets_->k[set_], given_->strands, {}};
    if (kTellsNextGroup) general.next = given.factors + c_.plan.readers * *given_count_;
    for (uint32_t n = 0; n < p.group->tokens; ++n) general.a[n] = given_->q + n * row_;
    (*c_.kernels->prepare_general)(p);
  }

  // Where each element of a key has a decay of its own, a whole group puts the factors of its keys for the next one, if
  // that is prepared with it. `left`: tokens after this group.
  void tell_next(uint32_t index, uint32_t left, DeltaPrepare& p) const {
    const bool per_key = p.gated && p.decay_per_key, whole = p.group->before + p.group->tokens == kDeltaTokens;
    const bool tells = per_key && whole && !p.queries_alone && left > 0 && index + 1 < c_.plan.groups;
    p.has_added = per_key && index > 0;
    p.next = tells ? p.group->factors + c_.plan.readers * factors_ : nullptr;
  }

  // Prepares a token group, and returns its number of new tokens.
  uint32_t prepare_group(uint32_t index, uint32_t token) {
    const uint32_t left = of_.tokens - token, room = kDeltaTokens - before_, count = left < room ? left : room;
    DeltaTokens& tokens = sets_[set_];
    DeltaGroup* const groups = scratch_.groups + size_t(index) * c_.plan.readers;
    float beta[kDeltaTokens] = {};
    for (uint32_t n = 0; n < count; ++n) {
      float* const k = scratch_.k + (set_ * kDeltaTokens + before_ + n) * row_;
      widen(c_.added_keys(), head_ / c_.key_share, token + n, k);
      tokens.k[before_ + n] = k;
      tokens.decay[before_ + n] = decay_of(c_, of_, head_, token + n);
      if (c_.general()) widen_given(token + n, n);
      if (c_.beta) beta[n] = *reinterpret_cast<const float*>(token_row(*c_.beta, sizeof(float), of_, head_, token + n));
    }
    for (uint32_t reader = 0; reader < c_.plan.readers; ++reader) {
      DeltaGroup& group = groups[reader];
      group.before = before_, group.tokens = count, group.token = token, group.adds = adds_;
      for (uint32_t n = 0; n < kDeltaTokens; ++n) group.beta[n] = beta[n];
      group.factors = scratch_.factors + (size_t(index) * c_.plan.readers + reader) * factors_;
      DeltaPrepare p = {
          &group,           s_.head_dim, c_.scale, c_.beta != nullptr, c_.decay != nullptr, s_.decay_dim > 1,
          reader != 0,      {},          {},       sets_[1 - set_],    sets_[set_],         {},
          scratch_.strands, {}};
      if (kTellsNextGroup) tell_next(index, left - count, p);
      for (uint32_t n = 0; n < count; ++n) {
        float* const q = scratch_.q + n * row_;
        widen(*c_.q, head_ / c_.query_share * c_.plan.readers + reader, token + n, q);
        p.q[n] = q;
      }
      prepare(p, size_t(index) * c_.plan.readers + reader);
    }
    before_ += count;
    adds_ = before_ == kDeltaTokens;
    if (adds_) before_ = 0, set_ = 1 - set_;
    return count;
  }

  DeltaColumns columns_of(uint32_t count, uint32_t begin, uint32_t end) const {
    const size_t unit = unit_bytes(c_.dtype), out_unit = unit_bytes(c_.out_dtype);
    DeltaColumns columns = {};
    columns.groups = scratch_.groups, columns.count = count, columns.readers = c_.plan.readers;
    columns.head_dim = s_.head_dim, columns.value_dim = s_.value_dim;
    columns.begin = begin, columns.end = end;
    columns.delta = c_.beta != nullptr;
    columns.s = memory_.s, columns.u = memory_.u, columns.u_stride = whole_columns(s_.value_dim);
    columns.v_dtype = c_.dtype, columns.out_dtype = c_.out_dtype;
    columns.v = token_row(*c_.v, unit, of_, head_, 0);
    columns.out = token_row(*c_.out, out_unit, of_, head_ * c_.plan.readers, 0);
    columns.v_stride = stride_bytes(c_.v->token_stride, unit);
    columns.out_stride = stride_bytes(c_.out->token_stride, out_unit);
    columns.reader_stride = stride_bytes(c_.out->head_stride, out_unit);
    if (c_.general()) columns.given = given_->groups, columns.given_v = *memory_.given_v;
    return columns;
  }

  const DeltaCall& c_;
  const fovea_delta_state& s_;
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

  // Of the general rule:
  [[no_unique_address]] IfGeneral<size_t> given_count_;
  [[no_unique_address]] IfGeneral<DeltaGivenScratch> given_;
  [[no_unique_address]] IfGeneral<DeltaGivenSets> given_sets_;  // as sets_
};

// The last group's keys and decays become pending. Its values u are stored already.
void keep_pending(const DeltaCall& c, uint32_t entry) {
  const fovea_delta_state& s = *c.state;
  const DeltaEntry of = tokens_of(c, entry);
  if (of.tokens == 0) return;
  uint32_t& pending = pending_of(s)[c.entry + entry];
  const uint32_t last = (pending + of.tokens - 1) % kDeltaTokens + 1;  // 4 pending tokens are not in the next group
  const uint32_t count = of.tokens < last ? of.tokens : last;
  for (uint32_t head = 0; head < s.v_heads; ++head) {
    const DeltaHead memory = delta_head(s, c.entry + entry, head);
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t token = of.tokens - count + n, place = last - count + n;
      const auto keep = [&](const fovea_in& keys, float* to) {
        const char* const k = token_row(keys, unit_bytes(c.dtype), of, head / c.key_share, token);
        c.kernels->widen(c.dtype, k, s.head_dim, to + place * size_t(whole_columns(s.head_dim)), k);
      };
      keep(c.added_keys(), memory.k);
      if (c.general()) keep(*c.k, *memory.given_k);
      float* const decay = memory.decay + place * size_t(decay_stride(s));
      const float* const given = decay_of(c, of, head, token);
      const uint32_t dim = s.decay_dim > 1 ? s.head_dim : 1;
      for (uint32_t i = 0; i < dim; ++i) decay[i] = given ? given[i] : 0.0f;
    }
  }
  pending = last;
}

// The rows of a head of an entry.
template <class Array>
Array at_head(const Array& array, size_t unit, size_t entry, size_t head) {
  const size_t elements = entry * size_t(array.batch_stride) + head * size_t(array.head_stride);
  Array rows = array;
  rows.data = bytes_of(array.data) + ptrdiff_t(elements * unit);
  return rows;
}

// The call for one head, whose state is of this head, and its arrays.
struct DeltaHeadCall {
  DeltaCall call;
  fovea_out out;
  fovea_in q, k, v, decay, beta;
  [[no_unique_address]] IfGeneral<fovea_in> a, b;

  DeltaHeadCall(const DeltaCall& all, size_t entry, size_t head) : call(all) {
    if (all.ragged_offsets()) call.offsets += entry, entry = 0;
    const size_t of_key = head / all.key_share, readers = all.plan.readers, unit = unit_bytes(all.dtype);
    out = at_head(*all.out, unit_bytes(all.out_dtype), entry, head * readers), call.out = &out;
    q = at_head(*all.q, unit, entry, head / all.query_share * readers), call.q = &q;
    k = at_head(*all.k, unit, entry, of_key), call.k = &k;
    v = at_head(*all.v, unit, entry, head), call.v = &v;
    if (all.decay) decay = at_head(*all.decay, sizeof(float), entry, head), call.decay = &decay;
    if (all.beta) beta = at_head(*all.beta, sizeof(float), entry, head), call.beta = &beta;
    if constexpr (kHasGeneralDelta) {
      if (all.general()) {
        *a = at_head(**all.a, unit, entry, of_key), call.a = &*a;
        *b = at_head(**all.b, unit, entry, of_key), call.b = &*b;
      }
    }
    call.entry = 0, call.batch = 1, call.executor = nullptr;
  }
};

// Whether a kernel reads S where it is: for one token group, if vectors are wide and cross no end of a row.
[[maybe_unused]] bool reads_matrix(const DeltaCall& c, const fovea_in* before, uint32_t tokens) {
  return kReadsMatrices && before && before->token_stride != 0 && tokens > 0 && tokens <= kDeltaTokens &&
         delta_factors_in_rows(c.plan.lanes) && !c.general() && c.state->value_dim % kDeltaColumns == 0;
}

}  // namespace

fovea_status DeltaCall::run_task(size_t index, uint32_t worker, Scratch*) const {
  const size_t heads = index / plan.parts;
  const uint32_t part = uint32_t(index % plan.parts), columns = whole_columns(state->value_dim);
  HeadRun head(*this, uint32_t(heads / state->v_heads), uint32_t(heads % state->v_heads),
               workspace + worker * plan.worker_bytes);
  const uint32_t begin = part * kPartColumns, end = begin + kPartColumns;
  head.run(begin, plan.parts == 1 || end > columns ? columns : end);
  return FOVEA_OK;
}

fovea_status run_delta(const DeltaCall& call) {
  const size_t tasks = size_t(call.batch) * call.state->v_heads * call.plan.parts;
  FOVEA_RETURN_IF_ERROR(run_all_tasks(call, call.executor, call.plan.workers, tasks));
  for (uint32_t entry = 0; entry < call.batch; ++entry) keep_pending(call, entry);
  return FOVEA_OK;
}

fovea_status DeltaMatricesCall::run_task(size_t index, uint32_t worker, Scratch*) const {
  const size_t entry = index / v_heads, head = index % v_heads;
  char* const memory = call.workspace + worker * worker_bytes;
  fovea_delta_state& state = *reinterpret_cast<fovea_delta_state*>(memory);
  state = header;
  DeltaHeadCall one(call, entry, head);
  one.call.state = &state, one.call.workspace = memory + (worker_bytes - call.plan.worker_bytes);
  fovea_in from = {};
  if (before) from = at_head(*before, sizeof(float), entry, head);
  const fovea_out to = at_head(*after, sizeof(float), entry, head);
  if constexpr (kReadsMatrices) {
    if (reads_matrix(one.call, before, tokens_of(one.call, 0).tokens)) {
      pending_of(state)[0] = 0;
      HeadRun(one.call, 0, 0, one.call.workspace).read(from);
      keep_pending(one.call, 0);
      get_delta_from(from, state, *call.kernels, to);
      return FOVEA_OK;
    }
  }
  set_delta(state, 0, 1, before ? &from : nullptr);
  run_delta(one.call);
  get_delta(state, *call.kernels, 0, 1, to);
  return FOVEA_OK;
}

fovea_status run_delta_matrices(const DeltaMatricesCall& call) {
  return run_all_tasks(call, call.call.executor, call.call.plan.workers, size_t(call.call.batch) * call.v_heads);
}

}  // namespace fovea
