// SPDX-License-Identifier: Apache-2.0
//
// ONNX ArgMax as fovea_argmax and TopK as fovea_top_k: rows along the axis are copied, so that their elements are adjacent.
#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

// The elements of x as floats, which hold small integers exactly.
std::vector<float> floats_of(const Tensor& x) {
  if (x.dtype == DType::kF32) return x.floats;
  if (x.dtype != DType::kI64) throw Error("input of this type");
  for (const int64_t element : x.ints) {
    if (element < -(1 << 24) || element > 1 << 24) throw Error("an integer that is no float");
  }
  return {x.ints.begin(), x.ints.end()};
}

// Calls select(row, indices) for each row along the axis; it fills in k indices. Returns them in the order of ONNX.
template <class Select>
std::vector<int64_t> each_row(const std::vector<float>& x, const Split& split, size_t k, Select select) {
  std::vector<int64_t> found(split.outer * k * split.inner);
  for (size_t outer = 0; outer < split.outer; ++outer) {
    for (size_t inner = 0; inner < split.inner; ++inner) {
      std::vector<float> row;
      for (size_t i = 0; i < split.count; ++i) row.push_back(x[(outer * split.count + i) * split.inner + inner]);
      std::vector<uint32_t> indices(k, UINT32_MAX);
      select(row, &indices);
      for (size_t i = 0; i < k; ++i) found[(outer * k + i) * split.inner + inner] = indices[i];
    }
  }
  return found;
}

}  // namespace

// The last index of equal ones is the first one of the row turned round.
void run_argmax(const Case& test, fovea_target, Verdict* verdict) {
  const Tensor& x = test.required_input(0);
  const Split split = split_at(x.shape, test.integer("axis", 0));
  const bool last = test.integer("select_last_index", 0) != 0;
  const std::vector<int64_t> got =
      each_row(floats_of(x), split, 1, [&](const std::vector<float>& row, std::vector<uint32_t>* indices) {
        const std::vector<float> turned(row.rbegin(), row.rend());
        uint32_t& index = (*indices)[0];
        const fovea_status status = fovea_argmax(last ? turned.data() : row.data(), count32(row.size()), &index);
        if (last) index = count32(row.size()) - 1 - index;
        verdict->accept(status, "fovea_argmax", "any target");
      });
  verdict->compare(got, test.required_output(0), "reduced", "any target");
}

// The smallest are the largest of the negated row.
void run_top_k(const Case& test, fovea_target, Verdict* verdict) {
  if (test.integer("sorted", 1) != 1) throw Error("indices that are not sorted");
  const Tensor &x = test.required_input(0), &k = test.required_input(1), &values = test.required_output(0);
  if (k.ints.size() != 1) throw Error("more than one k");
  const Split split = split_at(x.shape, test.integer("axis", -1));
  const std::vector<float> all = floats_of(x);
  const bool largest = test.integer("largest", 1) != 0;
  const std::vector<int64_t> got =
      each_row(all, split, static_cast<size_t>(k.ints[0]), [&](std::vector<float> row, std::vector<uint32_t>* indices) {
        if (!largest) {
          for (float& element : row) element = -element;
        }
        const fovea_status status =
            fovea_top_k(row.data(), count32(row.size()), count32(indices->size()), indices->data());
        verdict->accept(status, "fovea_top_k", "any target");
      });
  verdict->compare(got, test.required_output(1), "indices", "any target");
  std::vector<float> found;
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t entry = i / split.inner / static_cast<size_t>(k.ints[0]);
    found.push_back(all[(entry * split.count + static_cast<size_t>(got[i])) * split.inner + i % split.inner]);
  }
  Tensor want;
  want.shape = values.shape, want.floats = floats_of(values);
  verdict->compare_exactly(found, want, "values", "any target");
}

}  // namespace fovea_onnx
