// SPDX-License-Identifier: Apache-2.0
//
// A linear layer: for each tile of tokens, each kLinearOutputs outputs, and each kLinearInputs inputs, one step of the
// sums.
#include "ground/base/arithmetic.h"
#include "layers/linear/call.h"

#include "ground/base/carver.h"
#include "ground/base/tasks.h"
#include "ground/formats/kernels.h"

namespace fovea {
namespace {

// For a call whose arithmetic is f32.
const float* x_at(const LinearCall& c, uint32_t token) {
  return static_cast<const float*>(c.x) + ptrdiff_t(token) * c.x_stride;
}
float* y_at(const LinearCall& c, uint32_t token, uint32_t output) {
  return static_cast<float*>(c.y) + ptrdiff_t(token) * c.y_stride + output;
}

bool kernels_do_relu(const LinearCall& c) { return kEndsWithRelu && c.activation == FOVEA_ACTIVATION_RELU; }

// Activates outputs that were just written, and so are in a cache.
void activate(const LinearCall& c, float* y, uint32_t tokens, uint32_t outputs) {
  if (!kActivates || c.activation == FOVEA_ACTIVATION_IDENTITY) return;
  for (; tokens > 0; --tokens, y += c.y_stride) {
    c.activation_kernels->activate({y, nullptr, y, outputs, 1.0f, c.activation});
  }
}

void run_few(const LinearCall& c, uint32_t begin, uint32_t end) {
  const fovea_linear_weights w = weights_from(c.weights, c.in_dim, begin);
  for (uint32_t token = 0; token < c.tokens; token += kMostFewTokens) {
    const uint32_t left = c.tokens - token;
    const uint32_t tokens = left < kMostFewTokens ? left : kMostFewTokens;
    c.kernels->few({tokens, c.in_dim, end - begin, x_at(c, token), y_at(c, token, begin), c.x_stride, c.y_stride, w,
                    kernels_do_relu(c)});
    if (!kernels_do_relu(c)) activate(c, y_at(c, token, begin), tokens, end - begin);
  }
}

// f32 weights and halves are read in place; others are widened for one register block at a time. Only kLinearInputs
// inputs of a row are read at a time, so a processor's own prefetcher does not see which address is next. Therefore,
// while weights of f32 are multiplied, those of the next outputs are prefetched in the order of addresses, an equal
// share in each step. With 42 MB of weights 16 tokens then take 0.7 of the time (AVX-512, Zen 4).
void multiply(const LinearCall& c, const TokenTile& tile, uint32_t output, uint32_t outputs, uint32_t input,
              uint32_t inputs) {
  const fovea_linear_weights& all = c.weights;
  if (kHasF16Linear && tile.halves) {
    const void* const from = weights_from(all, c.in_dim, output).data;
    const WeightRows rows = {static_cast<const uint16_t*>(from) + input, all.row_stride, outputs, inputs, nullptr};
    return (*c.f16)->multiply(tile, rows, 0, input);
  }
  if (all.dtype == FOVEA_F32) {
    const auto f32_from = [&](uint32_t row) {
      return static_cast<const float*>(advanced(all.data, stride_bytes(all.row_stride, sizeof(float), ptrdiff_t(row))));
    };
    const float* const ahead = f32_from(output + outputs) + size_t(input) * outputs;
    return c.kernels->multiply(tile, {f32_from(output) + input, all.row_stride, outputs, inputs, ahead}, 0, input);
  }
  for (uint32_t done = 0; done < outputs; done += kLinearGrain) {
    const uint32_t count = outputs - done < kLinearGrain ? outputs - done : kLinearGrain;
    const fovea_linear_weights w = weights_from(all, c.in_dim, output + done);
    const auto scale_stride = ptrdiff_t(dense_scale_stride(w.dtype, c.in_dim));
    weight_kernels(c.plan.target)
        .widen_weights(
            w.dtype, {count, inputs, tile.widened, kLinearInputs, w.data, w.row_stride, w.scales, scale_stride, input});
    if (kHasF16Linear && c.f16) {
      (*c.f16)->multiply(tile, {tile.widened, kLinearInputs, count, inputs, nullptr}, done, input);
    } else {
      c.kernels->multiply(tile, {tile.widened, kLinearInputs, count, inputs, tile.widened}, done, input);
    }
  }
}

// Sets the tokens of a tile. Tiles have nearly equal numbers of vectors: 4 vectors are 2 + 2, not 3 + 1. Returns the
// first token.
template <class Tile>
uint32_t take_tokens(const LinearCall& c, uint32_t index, Tile* tile) {
  const uint32_t more = c.vectors % c.tiles, vectors = c.vectors / c.tiles;
  const uint32_t token = (vectors * index + (index < more ? index : more)) * c.plan.lanes;
  tile->in_dim = c.in_dim;
  tile->columns = (vectors + (index < more)) * c.plan.lanes;
  tile->live = c.tokens - token < tile->columns ? c.tokens - token : tile->columns;
  return token;
}

// Outputs of few tokens, which are halves in the tile.
void multiply_few_halves(const LinearCall& c, const TokenTile& tile, uint32_t token, uint32_t begin, uint32_t end) {
  const auto* const x = static_cast<const uint16_t*>(tile.x);
  const ptrdiff_t pitch = round_up(c.in_dim, kFewHalfInputs);
  float* const y = y_at(c, token, begin);
  (*c.f16)->few(
      {tile.live, c.in_dim, end - begin, x, y, pitch, c.y_stride, weights_from(c.weights, c.in_dim, begin), {}});
  activate(c, y, tile.live, end - begin);
}

void run_tile(const LinearCall& c, uint32_t index, uint32_t begin, uint32_t end, char* workspace) {
  TokenTile tile;
  const uint32_t token = take_tokens(c, index, &tile);
  tile.halves = kHasF16Linear && c.f16 && c.plan.dot != 0;
  tile.few = kFewHalvesServed && c.plan.few;
  tile.relu = kernels_do_relu(c);
  place_token_tile(workspace, c.weights.dtype, &tile);
  if (kHasF16Linear && c.f16) {
    const ptrdiff_t from = stride_bytes(c.x_stride, unit_bytes(c.inputs.dtype), ptrdiff_t(token));
    (*c.f16)->begin(tile, c.inputs.dtype, advanced(c.x, from), c.x_stride);
  } else {
    c.kernels->begin(tile, x_at(c, token), c.x_stride);
  }
  if (kFewHalvesServed && tile.few) return multiply_few_halves(c, tile, token, begin, end);
  for (uint32_t output = begin; output < end; output += kLinearOutputs) {
    const uint32_t outputs = end - output < kLinearOutputs ? end - output : kLinearOutputs;
    for (uint32_t input = 0; input < c.in_dim; input += kLinearInputs) {
      multiply(c, tile, output, outputs, input, c.in_dim - input < kLinearInputs ? c.in_dim - input : kLinearInputs);
    }
    c.kernels->end(tile, outputs, weights_from(c.weights, c.in_dim, output).bias, y_at(c, token, output), c.y_stride);
    if (!kernels_do_relu(c)) activate(c, y_at(c, token, output), tile.live, outputs);
  }
}

// Takes the tokens of a tile with register blocks of a lane for each token: these are filled, since they multiply faster
// than parts of them.
uint32_t take_blocks(const LinearCall& c, uint32_t index, I8TokenTile* tile) {
  const uint32_t most = c.plan.tile_vectors, token = most * index, left = c.tokens - token;
  tile->in_dim = c.in_dim;
  tile->live = left < most ? left : most;
  tile->columns = i8_columns(c.plan.dot, tile->live);
  return token;
}

// Runs a tile with integer products, of few tokens too.
void run_i8_tile(const LinearCall& c, uint32_t index, uint32_t begin, uint32_t end, char* workspace) {
  I8TokenTile tile;
  const uint32_t token = kI8TilesHaveBlocks ? take_blocks(c, index, &tile) : take_tokens(c, index, &tile);
  place_i8_token_tile(workspace, c.plan, &tile);
  const size_t unit = unit_bytes(c.inputs.dtype), out_unit = unit_bytes(c.outputs.dtype);
  I8Tokens tokens = {advanced(c.x, stride_bytes(c.x_stride, unit, ptrdiff_t(token))), c.x_stride, c.inputs};
  if (tokens.in.scales) tokens.in.scales += ptrdiff_t(token) * tokens.in.scales_stride;
  const bool grouped = kI8GroupedFormats && c.plan.scaled_groups != 0;
  (grouped ? c.i8->begin_groups : c.i8->begin)(tile, tokens);
  const uint32_t most = grouped ? kGroupedOutputs : kLinearOutputs / i8_blocks(c.plan.dot, tile.columns);
  const uint32_t step = c.plan.few ? end - begin : most;
  for (uint32_t output = begin; output < end; output += step) {
    I8Rows rows = {weights_from(c.weights, c.in_dim, output),
                   end - output < step ? end - output : step,
                   nullptr,
                   c.y_stride,
                   c.outputs,
                   c.inputs.zero};
    rows.y = advanced(c.y, stride_bytes(c.y_stride, out_unit, ptrdiff_t(token)) + ptrdiff_t(output * out_unit));
    if (grouped) {
      c.i8->multiply_groups(tile, rows);
    } else {
      c.i8->multiply(tile, rows);
    }
  }
}

template <class AnyCarver>
constexpr void carve_token_tile(AnyCarver& carver, fovea_dtype weights, TokenTile* tile) {
  float* x = nullptr;
  tile->widened = nullptr;
  if (kFewHalvesServed && tile->few) {
    carver.take(&x, tile->columns, round_up(tile->in_dim, kFewHalfInputs) / 2);
    tile->x = x;
    return;
  }
  carver.take(&tile->sums, tile->columns, kLinearOutputs);
  const bool halves = kHasF16Linear && tile->halves;
  carver.take(&x, tile->columns, halves ? divide_up(tile->in_dim, 2) : tile->in_dim);
  tile->x = x;
  if (weights != FOVEA_F32 && !halves) carver.take(&tile->widened, kLinearInputs, kLinearGrain);
}

template <class AnyCarver>
constexpr void carve_i8_token_tile(AnyCarver& carver, DotKind kind, bool few, I8TokenTile* tile) {
  const DotTraits& dot = kDotTraits[kind];
  tile->sums = nullptr, tile->starts = nullptr, tile->rows = nullptr;
  tile->group_scales = nullptr, tile->group_sums = nullptr;
  char* bytes = nullptr;
  carver.take(&tile->scales, tile->columns);
  carver.take(&bytes, round_up(tile->in_dim, few ? kFewReads : dot.reads), size_t{tile->columns} * dot.code_bytes);
  tile->x = bytes;
  if (tile->scaled_groups) carver.take(&tile->group_scales, tile->columns, tile->scaled_groups);
  if (tile->scaled_groups && dot.few_groups) carver.take(&tile->group_sums, tile->columns, sums_of(*tile));
  if (few) return;
  carver.take(&tile->sums, tile->columns, kLinearOutputs / i8_blocks(kind, tile->columns));
  carver.take(&tile->starts, kLinearOutputs);
  if (dot.code_bytes == 1) return;
  carver.take(&bytes, kLinearGrain * dot.code_bytes, i8_inputs(dot));
  tile->rows = bytes;
}

// The macros of workspace.h count these arrays.
constexpr size_t token_tile_bytes(fovea_dtype weights, uint32_t in_dim, uint32_t columns) {
  CarvedBytes carver;
  TokenTile tile = {};
  tile.in_dim = in_dim;
  tile.columns = columns;
  carve_token_tile(carver, weights, &tile);
  return carver.bytes;
}
static_assert(token_tile_bytes(FOVEA_F32, 24, FOVEA_TILE_ROWS_MAX) == FOVEA_LINEAR_WORKSPACE_BYTES(24, FOVEA_F32),
              "FOVEA_LINEAR_OUTPUTS_ must be that of carve_token_tile");
static_assert(token_tile_bytes(FOVEA_I8, 24, 2 * FOVEA_TILE_ROWS_MAX) == FOVEA_LINEAR_WORKSPACE_BYTES(24, FOVEA_I8),
              "FOVEA_LINEAR_WIDENED_BYTES_ must be those of carve_token_tile");

constexpr size_t i8_token_tile_bytes(DotKind kind, uint32_t in_dim, uint32_t columns) {
  CarvedBytes carver;
  I8TokenTile tile = {};
  tile.in_dim = in_dim;
  tile.columns = columns;
  tile.scaled_groups = uint32_t(groups_of(in_dim));
  tile.sum_step = kScaleGroup;
  carve_i8_token_tile(carver, kind, false, &tile);
  return carver.bytes;
}
static_assert(i8_token_tile_bytes(kDotFloats, 16, FOVEA_LINEAR_I8_ROWS_MAX_) == FOVEA_LINEAR_I8_WORKSPACE_BYTES(16),
              "FOVEA_LINEAR_I8_WORKSPACE_BYTES must be the bytes of carve_i8_token_tile");

}  // namespace

fovea_linear_weights weights_from(fovea_linear_weights w, size_t in_dim, size_t output) {
  const size_t row_scales = dense_scale_stride(w.dtype, in_dim) * scale_bytes(w.dtype);
  w.data = advanced(w.data, stride_bytes(w.row_stride, unit_bytes(w.dtype), ptrdiff_t(output)));
  if (w.scales) w.scales = advanced(w.scales, ptrdiff_t(output * row_scales));
  if (w.bias) w.bias += output;
  if (w.bias_i32) w.bias_i32 += output;
  return w;
}

CheckedSize place_token_tile(void* workspace, fovea_dtype weights, TokenTile* tile) {
  Carver carver(workspace);
  carve_token_tile(carver, weights, tile);
  return carver.slow_bytes();
}

CheckedSize place_i8_token_tile(void* workspace, const LinearPlan& plan, I8TokenTile* tile) {
  Carver carver(workspace);
  tile->scaled_groups = plan.scaled_groups;
  if (kI8SuperFormats) tile->sum_step = plan.sum_step;
  carve_i8_token_tile(carver, plan.dot, plan.few, tile);
  return carver.slow_bytes();
}

fovea_status LinearCall::run_task(size_t index, uint32_t worker, Scratch*) const {
  const uint32_t part = uint32_t(index % parts), tile = uint32_t(index / parts);
  // Parts begin at multiples of kLinearGrain outputs, and are as equal as these allow.
  const uint32_t blocks = divide_up(out_dim, kLinearGrain);
  const uint32_t begin = uint32_t(uint64_t(blocks) * part / parts) * kLinearGrain;
  const uint32_t end = part + 1 == parts ? out_dim : uint32_t(uint64_t(blocks) * (part + 1) / parts) * kLinearGrain;
  if (kHasI8Linear && i8) {
    run_i8_tile(*this, tile, begin, end, workspace + worker * plan.worker_bytes);
    return FOVEA_OK;
  }
  if (!kFewRowsServed || plan.tile_vectors != 0) {
    run_tile(*this, tile, begin, end, workspace + worker * plan.worker_bytes);
    return FOVEA_OK;
  }
  const uint32_t step = tokens > kMostFewTokens ? kFewOutputs : end - begin;
  for (uint32_t output = begin; output < end; output += step) {
    run_few(*this, output, end - output < step ? end : output + step);
  }
  return FOVEA_OK;
}

fovea_status run_linear(const LinearCall& call) {
  return run_all_tasks(call, call.executor, call.plan.workers, size_t(call.tiles) * call.parts);
}

}  // namespace fovea
