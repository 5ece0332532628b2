// SPDX-License-Identifier: Apache-2.0
//
// ONNX Add and Mul as fovea_add and fovea_multiply, and of int8 as fovea_integer_add and fovea_integer_multiply; Gather
// as fovea_embedding; ReduceMean and GlobalAveragePool as fovea_pooling.
#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

// b has a's shape, or that of a's last dimensions. A row is the last dimension.
struct Pair {
  const Tensor &a, &b, &want;
  uint32_t rows, dim;
  ptrdiff_t b_stride;

  explicit Pair(const Case& test)
      : a(test.required_input(0)), b(test.required_input(1)), want(test.required_output(0)) {
    if (a.shape.empty() || a.dtype != b.dtype || a.dtype != want.dtype || a.shape != want.shape) {
      throw Error("tensors of these types or shapes");
    }
    const Shape row = {a.shape.back()};
    if (b.shape != a.shape && b.shape != row) throw Error("a second input of shape " + to_string(b.shape));
    dim = count32(row[0]), rows = count32(element_count(a.shape) / row[0]);
    b_stride = b.shape == row ? 0 : static_cast<ptrdiff_t>(row[0]);
  }
  // Fills in all but scales.
  template <class Args, class Element>
  void describe(const Element* in, Element* out, const Element* other, Args* args) const {
    args->batch = args->heads = 1, args->tokens = rows, args->dim = dim;
    args->y = fovea::tokens_of(out, rows, dim);
    args->a = fovea::tokens_of(in, rows, dim);
    args->b = fovea::tokens_of(other, rows, dim);
    args->b.token_stride = b_stride;
  }
};

void add_or_multiply(const Pair& pair, bool is_sum, fovea_target target, Verdict* verdict) {
  for (const bool in_place : {false, true}) {
    std::vector<float> y(pair.a.floats.size(), kUnwritten);
    if (in_place) y = pair.a.floats;
    fovea::BinaryArgs args;
    args.target = target;
    pair.describe(in_place ? y.data() : pair.a.floats.data(), y.data(), pair.b.floats.data(), &args);
    const std::string where = std::string(fovea_target_name(target)) + (in_place ? ", in place" : "");
    const fovea_status status = is_sum ? fovea::add(args) : fovea::multiply(args);
    verdict->accept(status, is_sum ? "fovea_add" : "fovea_multiply", where);
    verdict->compare(y, pair.want, "C", where);
  }
}

// With scales of 1: ONNX's sums and products of int8 are those of the numbers, as long as they fit.
void add_or_multiply_codes(const Pair& pair, bool is_sum, Verdict* verdict) {
  const std::vector<int8_t> a(pair.a.ints.begin(), pair.a.ints.end()), b(pair.b.ints.begin(), pair.b.ints.end());
  std::vector<int8_t> y(a.size(), INT8_MIN);
  fovea::IntegerBinaryArgs args;
  pair.describe(a.data(), y.data(), b.data(), &args);
  if (args.set_a(1) != FOVEA_OK || args.set_b(1) != FOVEA_OK) throw Error("a scale of 1");
  const fovea_status status = is_sum ? fovea::integer_add(args) : fovea::integer_multiply(args);
  verdict->accept(status, is_sum ? "fovea_integer_add" : "fovea_integer_multiply", "integers");
  verdict->compare(std::vector<int64_t>(y.begin(), y.end()), pair.want, "C", "integers");
}

}  // namespace

void run_pair(const Case& test, fovea_target target, Verdict* verdict) {
  const Pair pair(test);
  if (pair.a.dtype == DType::kF32) {
    add_or_multiply(pair, test.op == "Add", target, verdict);
  } else if (pair.a.dtype == DType::kI64) {
    add_or_multiply_codes(pair, test.op == "Add", verdict);
  } else {
    throw Error("inputs of this type");
  }
}

// Each entry before the axis is a table of its own.
void run_gather(const Case& test, fovea_target target, Verdict* verdict) {
  const Tensor &table = test.required_input(0), &chosen = test.required_input(1), &want = test.required_output(0);
  if (table.dtype != DType::kF32 || chosen.dtype != DType::kI64) throw Error("inputs of these types");
  const Split split = split_at(table.shape, test.integer("axis", 0));
  std::vector<uint32_t> indices;
  for (const int64_t index : chosen.ints) {
    indices.push_back(static_cast<uint32_t>(index < 0 ? index + static_cast<int64_t>(split.count) : index));
  }
  std::vector<float> y(split.outer * indices.size() * split.inner, kUnwritten);
  fovea::EmbeddingArgs args;
  args.target = target;
  args.tokens = count32(indices.size()), args.rows = count32(split.count), args.dim = count32(split.inner);
  args.indices = indices.data();
  args.y_stride = args.table.row_stride = static_cast<ptrdiff_t>(split.inner);
  for (size_t entry = 0; entry < split.outer; ++entry) {
    args.table.data = table.floats.data() + entry * split.count * split.inner;
    args.y = y.data() + entry * indices.size() * split.inner;
    verdict->accept(fovea::embedding(args), "fovea_embedding", fovea_target_name(target));
  }
  verdict->compare(y, want, "Y", fovea_target_name(target));
}

// The dimensions that are reduced are adjacent: they are the tokens. Those before them are entries, those after them a
// row.
void run_mean(const Case& test, fovea_target target, Verdict* verdict) {
  const bool is_pool = test.op == "GlobalAveragePool";
  const Tensor &x = test.required_input(0), &want = test.required_output(0);
  if (x.dtype != DType::kF32) throw Error("input of this type");
  size_t first = is_pool ? 2 : 0, end = x.shape.size();
  if (const Tensor* axes = test.input(1); axes != nullptr && !axes->ints.empty()) {
    if (axes->ints.size() != 1) throw Error("axes " + to_string(axes->shape));
    const int64_t axis = axes->ints[0];
    first = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(end) : axis), end = first + 1;
  }
  if (end > x.shape.size() || first >= end) throw Error("axis out of range");
  const auto from = x.shape.begin() + static_cast<ptrdiff_t>(first), to = x.shape.begin() + static_cast<ptrdiff_t>(end);
  const size_t batch = element_count(Shape(x.shape.begin(), from)), tokens = element_count(Shape(from, to));
  const size_t dim = element_count(Shape(to, x.shape.end()));
  std::vector<float> y(batch * dim, kUnwritten);
  fovea::PoolingArgs args;
  args.target = target;
  args.pooling = FOVEA_POOLING_MEAN;
  args.batch = count32(batch), args.heads = 1, args.tokens = count32(tokens), args.dim = count32(dim);
  args.y = fovea::tokens_of(y.data(), 1, dim), args.x = fovea::tokens_of(x.floats.data(), tokens, dim);
  verdict->accept(fovea::pooling(args), "fovea_pooling", fovea_target_name(target));
  verdict->compare(y, want, "reduced", fovea_target_name(target));
}

}  // namespace fovea_onnx
