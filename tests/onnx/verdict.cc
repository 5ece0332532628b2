// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "operators.h"

namespace fovea_onnx {
namespace {

constexpr double kLeastRtolOfBf16 = 0x1p-6;  // two units in the last place of 1

}  // namespace

void Verdict::compare(const std::vector<float>& got, const Tensor& want, const std::string& output,
                      const std::string& where) {
  if (!want.is_float() || got.size() != want.floats.size()) {
    fail(output + " has " + std::to_string(got.size()) + " elements, want " + to_string(want.shape));
    return;
  }
  const double rtol = want.dtype == DType::kBf16 ? std::max(rtol_, kLeastRtolOfBf16) : rtol_;
  for (size_t i = 0; i < got.size(); ++i) {
    const float a = got[i], b = want.floats[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double error = std::fabs(static_cast<double>(a) - b);
    if (std::isfinite(error)) largest_error_ = std::max(largest_error_, error);
    if (!(error <= atol_ + rtol * std::fabs(b)) || std::isinf(b)) {
      std::ostringstream reason;
      reason << output << "[" << i << "] is " << a << ", want " << b << " (" << where << ")";
      fail(reason.str());
    }
  }
}

void Verdict::compare_exactly(const std::vector<float>& got, const Tensor& want, const std::string& output,
                              const std::string& where) {
  const bool same_size = want.is_float() && got.size() == want.floats.size();
  if (!same_size || (!got.empty() && std::memcmp(got.data(), want.floats.data(), got.size() * sizeof(float)) != 0)) {
    fail(output + " differs (" + where + ")");
  }
}

void Verdict::compare(const std::vector<int64_t>& got, const Tensor& want, const std::string& output,
                      const std::string& where) {
  if (want.dtype != DType::kI64 || got.size() != want.ints.size()) {
    fail(output + " has " + std::to_string(got.size()) + " integers, want " + to_string(want.shape));
    return;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want.ints[i]) continue;
    fail(output + "[" + std::to_string(i) + "] is " + std::to_string(got[i]) + ", want " +
         std::to_string(want.ints[i]) + " (" + where + ")");
  }
}

void Verdict::accept(fovea_status status, const std::string& call, const std::string& where) const {
  if (status != FOVEA_OK) throw Refused(call + ": " + fovea_status_string(status) + " (" + where + ")");
}

void Verdict::fail(const std::string& reason) {
  if (failure_.empty()) failure_ = reason;
}

}  // namespace fovea_onnx
