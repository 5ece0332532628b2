// SPDX-License-Identifier: Apache-2.0
//
// Matrix products, which ggml has as MUL_MAT and MUL_MAT_ID: y[token][out] = x[token][in] * weights[out][in].
#include <algorithm>
#include <atomic>

#include "context.h"

namespace fovea_ggml {
namespace {

constexpr int64_t kMostInputsOfCodes = 65536;

// Weights in formats that the library lacks are widened to floats, some rows at a time, for calls of enough tokens to
// pay for that.
constexpr int64_t kFewestTokensToWiden = 8;
constexpr uint32_t kRowsWidened = 32;

bool is_float(ggml_type type) { return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16; }

// The layer of one matrix, without its arrays.
fovea_linear_args layer_of(const ggml_tensor* weights, int64_t tokens) {
  fovea_linear_args args = {};
  args.struct_bytes = sizeof args;
  args.processor_features = fovea::platform::processor_features();
  args.tokens = static_cast<uint32_t>(tokens);
  args.in_dim = static_cast<uint32_t>(weights->ne[0]);
  args.out_dim = static_cast<uint32_t>(weights->ne[1]);
  args.y_stride = weights->ne[1];
  if (format_of(weights->type) < 0) {
    args.out_dim = std::min(args.out_dim, kRowsWidened);
    args.weights.row_stride = weights->ne[0];
    return args;
  }
  args.weights.dtype = static_cast<fovea_dtype>(format_of(weights->type));
  args.weights.row_stride = stride(weights, 1);
  const bool codes = ggml_is_quantized(weights->type) && weights->ne[0] <= kMostInputsOfCodes;
  const bool halves = weights->type == GGML_TYPE_F16 && multiplies_halves();
  args.compute = codes ? FOVEA_COMPUTE_I8 : halves ? FOVEA_COMPUTE_F16 : FOVEA_COMPUTE_F32;
  return args;
}

bool takes_matrices(const ggml_tensor* node) {
  const ggml_tensor *weights = node->src[0], *x = node->src[1];
  const fovea_linear_args args = layer_of(weights, ggml_nrows(x));
  size_t bytes;
  return is_float(x->type) && node->type == GGML_TYPE_F32 && has_rows(weights) && has_rows(x) &&
         ggml_is_contiguous(node) && fovea_linear_workspace_bytes(&args, &bytes) == FOVEA_OK;
}

bool takes_linear(const ggml_tensor* node) {
  const ggml_tensor *weights = node->src[0], *x = node->src[1];
  const bool others = widens(weights) && x->ne[1] >= kFewestTokensToWiden && !is_ours(weights->buffer);
  // A Hadamard matrix is multiplied faster by ggml's transform.
  return (format_of(weights->type) >= 0 || others) && node->op_params[1] != GGML_HINT_SRC0_IS_HADAMARD &&
         takes_matrices(node);
}

bool takes_experts(const ggml_tensor* node) {
  return format_of(node->src[0]->type) >= 0 && node->src[2]->type == GGML_TYPE_I32 && takes_matrices(node);
}

bool compute_linear(Context& context, ggml_tensor* node) {
  const ggml_tensor *weights = node->src[0], *x = node->src[1];
  const int64_t *ne = x->ne, share = ne[2] / weights->ne[2], share_batch = ne[3] / weights->ne[3];
  const size_t row = static_cast<size_t>(ne[0]) * sizeof(float);

  // Rows of halves are copied as floats.
  const bool copied = x->type != GGML_TYPE_F32;
  const size_t kept = copied ? aligned(static_cast<size_t>(ggml_nrows(x)) * row) : 0;
  size_t token = x->nb[1], matrix = x->nb[2], batch = x->nb[3];
  if (copied) token = row, matrix = row * ne[1], batch = matrix * ne[2];

  // One call for each matrix of weights and each of inputs. Where inputs that have the same weights follow one another
  // they are one matrix: all of them, or, of one token each, those of the heads that share weights.
  int64_t tokens = ne[1], step = 1;
  const bool follow = (ne[2] == 1 || matrix == token * ne[1]) && (ne[3] == 1 || batch == token * ne[1] * ne[2]);
  if (weights->ne[2] * weights->ne[3] == 1 && follow) {
    tokens = ggml_nrows(x), step = ne[2] * ne[3];
  } else if (ne[1] == 1) {
    tokens = step = share;
    token = matrix;
  }
  fovea_linear_args args = layer_of(weights, tokens);
  args.x_stride = static_cast<ptrdiff_t>(token / sizeof(float));
  const bool widened = format_of(weights->type) < 0;
  const int64_t parts = widened ? (weights->ne[1] + kRowsWidened - 1) / kRowsWidened : 1;  // of each matrix
  const int64_t calls = ne[2] * ne[3] / step * parts;
  const bool apart = widened || calls >= context.workers();  // each call by one thread
  if (!apart) args.executor = context.executor();
  size_t bytes = 0;
  if (!report(node, fovea_linear_workspace_bytes(&args, &bytes))) return false;
  const size_t workspace = aligned(bytes), own_bytes = workspace + (widened ? kRowsWidened * row : 0);
  char* const memory = context.memory(kept + own_bytes * (apart ? context.workers() : 1));
  if (!memory) return report(node, FOVEA_ERR_WORKSPACE);
  if (copied) {
    context.run(ne[2] * ne[3], ggml_nelements(x), [&](int64_t m, uint32_t) {
      const char* from = static_cast<const char*>(x->data) + m % ne[2] * x->nb[2] + m / ne[2] * x->nb[3];
      for (int64_t i = 0; i < ne[1]; ++i) {
        widen(x, from + i * x->nb[1], reinterpret_cast<float*>(memory + (m * ne[1] + i) * row));
      }
    });
  }

  std::atomic<fovea_status> worst{FOVEA_OK};
  const auto call = [&](int64_t index, uint32_t worker) {
    const int64_t first = index / parts * step, i2 = first % ne[2], i3 = first / ne[2];
    const char* rows =
        static_cast<const char*>(weights->data) + i2 / share * weights->nb[2] + i3 / share_batch * weights->nb[3];
    char* const own = memory + kept + own_bytes * worker;
    fovea_linear_args one = args;
    one.x = (copied ? memory : static_cast<const char*>(x->data)) + i2 * matrix + i3 * batch;
    one.y = static_cast<char*>(node->data) + i2 * node->nb[2] + i3 * node->nb[3];
    one.weights.data = rows;
    if (widened) {
      const int64_t from = index % parts * kRowsWidened;
      float* const floats = reinterpret_cast<float*>(own + workspace);
      one.out_dim = static_cast<uint32_t>(std::min<int64_t>(kRowsWidened, weights->ne[1] - from));
      for (uint32_t i = 0; i < one.out_dim; ++i) widen(weights, rows + (from + i) * weights->nb[1], floats + i * ne[0]);
      one.weights.data = floats;
      one.y = static_cast<float*>(one.y) + from;
    }
    const fovea_status status = fovea_linear(&one, own, workspace);
    if (status != FOVEA_OK) worst = status;
  };
  if (apart) {
    context.run(calls, ggml_nelements(weights), call);
  } else {
    for (int64_t i = 0; i < calls; ++i) call(i, 0);
  }
  return report(node, worst);
}

// The tokens of an expert are one linear layer: rows of inputs are gathered by expert, and those of outputs spread again.
bool compute_experts(Context& context, ggml_tensor* node) {
  const ggml_tensor *weights = node->src[0], *x = node->src[1], *ids = node->src[2];
  const int64_t experts = weights->ne[2], used = ids->ne[0], rows = used * ids->ne[1];
  const int64_t in_dim = x->ne[0], out_dim = weights->ne[1];
  const auto expert_of = [&](int64_t r) {
    const char* id = static_cast<const char*>(ids->data) + r % used * ids->nb[0] + r / used * ids->nb[1];
    return *reinterpret_cast<const int32_t*>(id);
  };

  fovea_linear_args args = layer_of(weights, rows);
  args.x_stride = in_dim;
  args.executor = context.executor();
  size_t bytes = 0;
  if (!report(node, fovea_linear_workspace_bytes(&args, &bytes))) return false;
  const size_t of_order = aligned((rows + experts + 1) * sizeof(int64_t)),
               of_x = aligned(rows * in_dim * sizeof(float));
  const size_t of_y = aligned(rows * out_dim * sizeof(float));
  char* const memory = context.memory(of_order + of_x + of_y + bytes);
  if (!memory) return report(node, FOVEA_ERR_WORKSPACE);
  int64_t *const order = reinterpret_cast<int64_t*>(memory), *const end = order + rows;  // end[e]: of expert e - 1
  float *const xs = reinterpret_cast<float*>(memory + of_order), *const ys = xs + of_x / sizeof(float);

  std::fill_n(end, experts + 1, 0);
  for (int64_t r = 0; r < rows; ++r) ++end[expert_of(r) + 1];
  for (int64_t e = 0; e < experts; ++e) end[e + 1] += end[e];
  for (int64_t r = 0; r < rows; ++r) order[end[expert_of(r)]++] = r;  // then end[e] is that of expert e
  context.run(rows, rows * in_dim, [&](int64_t i, uint32_t) {
    const int64_t r = order[i];
    const char* from = static_cast<const char*>(x->data) + r % used % x->ne[1] * x->nb[1] + r / used * x->nb[2];
    widen(x, from, xs + i * in_dim);
  });
  for (int64_t e = 0, first = 0; e < experts; first = end[e++]) {
    args.tokens = static_cast<uint32_t>(end[e] - first);
    args.x = xs + first * in_dim;
    args.y = ys + first * out_dim;
    args.weights.data = static_cast<const char*>(weights->data) + e * weights->nb[2];
    if (args.tokens && !report(node, fovea_linear(&args, memory + of_order + of_x + of_y, bytes))) return false;
  }
  context.run(rows, rows * out_dim, [&](int64_t i, uint32_t) {
    char* const to = static_cast<char*>(node->data) + order[i] % used * node->nb[1] + order[i] / used * node->nb[2];
    std::copy_n(ys + i * out_dim, out_dim, reinterpret_cast<float*>(to));
  });
  return true;
}

}  // namespace

const Operator kMultiply = {GGML_OP_MUL_MAT, "MUL_MAT", takes_linear, compute_linear};
const Operator kMultiplyExperts = {GGML_OP_MUL_MAT_ID, "MUL_MAT_ID", takes_experts, compute_experts};

}  // namespace fovea_ggml
