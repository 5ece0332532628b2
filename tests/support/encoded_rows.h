// SPDX-License-Identifier: Apache-2.0
//
// Rows of a format, one after another, and the numbers that they hold.
#ifndef FOVEA_TESTS_SUPPORT_ENCODED_ROWS_H_
#define FOVEA_TESTS_SUPPORT_ENCODED_ROWS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "support/formats.h"

namespace fovea_test {

struct EncodedRows {
  std::vector<char> data, scales;
  std::vector<float> numbers;

  // Of the numbers that are the nearest to these.
  EncodedRows(fovea_dtype type, std::vector<float> x, size_t dim) : numbers(std::move(x)) {
    const size_t rows = numbers.size() / dim;
    const size_t bytes = row_units(type, dim) * unit_size(type), scale_bytes = row_scales(type, dim) * scale_size(type);
    data.resize(rows * bytes), scales.resize(rows * scale_bytes);
    for (size_t r = 0; r < rows; ++r) {
      char *const row = data.data() + r * bytes, *const scale = scales.data() + r * scale_bytes;
      encode_row(type, &numbers[r * dim], dim, row, scale);
      for (size_t i = 0; i < dim; ++i) numbers[r * dim + i] = element_of(type, row, scale, i);
    }
  }
};

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_ENCODED_ROWS_H_
