// SPDX-License-Identifier: Apache-2.0
//
// Linear layers with each kind of products, and what they must answer by base.h and linear.h: with products of halves or
// integers to the bit.
#pragma once

#include <string>
#include <vector>

#include "platform/platform.h"
#include "support/activations.h"
#include "support/formats.h"
#include "support/test.h"

namespace fovea_test {

struct LinearProblem {
  fovea_compute compute = FOVEA_COMPUTE_F32;
  uint32_t tokens = 5, in_dim = 19, out_dim = 11;
  fovea_dtype dtype = FOVEA_F32, x_dtype = FOVEA_F32, y_dtype = FOVEA_F32;  // dtype: of the weights
  enum Bias { kNoBias, kF32, kI32 } bias = kF32;
  int32_t x_zero_point = 0, y_zero_point = 0;
  float y_scale = 0.03f;
  bool one_scale = false;  // of x
  bool extreme = false;    // codes of x and weights are -128 and 127 alone
  fovea_activation_kind activation = FOVEA_ACTIVATION_IDENTITY;
  Layout layout = Layout::kHeadsFirst;  // kOneRow: the inputs alone
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

inline std::string name(const LinearProblem& p, fovea_target target) {
  static const char* const kComputes[] = {"f32", "i8", "f16"};
  return Text() << "linear " << kComputes[p.compute] << " " << p.tokens << "x" << p.in_dim << "x" << p.out_dim << " "
                << type_name(p.dtype) << ", " << type_name(p.x_dtype) << " to " << type_name(p.y_dtype) << " bias "
                << int(p.bias) << " zeros " << p.x_zero_point << ", " << p.y_zero_point
                << (p.one_scale ? " one scale" : "") << " activation " << int(p.activation) << " " << name(p.layout)
                << " " << name(p.placement) << " seed " << p.seed << " | " << fovea_target_name(target);
}

inline float f16_at(const void* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return float(value_of(kF16, bits));
}
inline void put_f16(void* to, float x) {
  const auto bits = uint16_t(nearest_of(kF16, x));
  std::memcpy(to, &bits, sizeof bits);
}

class LinearCase {
 public:
  explicit LinearCase(const LinearProblem& problem) : p(problem), args{} {
    const auto rows = [&](fovea_dtype type, uint32_t count, size_t dim, Layout layout) {
      return Array(type, {1, 1, count, row_units(type, dim)}, layout, p.placement);
    };
    x = rows(p.x_dtype, p.tokens, p.in_dim, p.layout),
    y = rows(p.y_dtype, p.tokens, p.out_dim, output_layout(p.layout));
    w = rows(p.dtype, p.out_dim, p.in_dim, output_layout(p.layout));
    const size_t scale = scale_size(p.dtype);
    if (scale != 0) scales = Guarded(p.out_dim * row_scales(p.dtype, p.in_dim) * scale, scale, p.placement);
    x_scales = Guarded((p.one_scale ? 1 : p.tokens) * sizeof(float), sizeof(float), p.placement);
    bias = Guarded(p.out_dim * sizeof(float), sizeof(float), p.placement);
    draw();
    args.struct_bytes = sizeof args;
    if (p.compute != FOVEA_COMPUTE_F32) args.processor_features = fovea::platform::processor_features();
    args.compute = p.compute, args.activation = p.activation;
    args.tokens = p.tokens, args.in_dim = p.in_dim, args.out_dim = p.out_dim;
    args.x = x.row(0), args.x_stride = x.strides.token, args.x_dtype = p.x_dtype;
    args.y = y.row(0), args.y_stride = y.strides.token, args.y_dtype = p.y_dtype;
    args.weights.dtype = p.dtype, args.weights.data = w.row(0), args.weights.row_stride = w.strides.token;
    if (scale != 0) args.weights.scales = scales.as<void>();
    if (p.bias == LinearProblem::kF32) args.weights.bias = bias.as<float>();
    if (p.bias == LinearProblem::kI32) args.weights.bias_i32 = bias.as<int32_t>();
    if (p.x_dtype == FOVEA_I8) {
      args.x_scales = x_scales.as<float>(), args.x_scales_stride = p.one_scale ? 0 : 1,
      args.x_zero_point = p.x_zero_point;
    }
    if (p.y_dtype == FOVEA_I8) args.y_scale = p.y_scale, args.y_zero_point = p.y_zero_point;
  }

  // Runs with exactly the workspace that is asked for, between guards.
  fovea_status run(fovea_target target) {
    args.target = target;
    const Guarded workspace(bytes_of(fovea_linear_workspace_bytes, &args), FOVEA_WORKSPACE_ALIGNMENT,
                            p.placement == Placement::kOffset ? Placement::kEnd : p.placement);
    y.memory.fill();
    const Guarded* const inputs[] = {&x.memory, &w.memory, &scales, &x_scales, &bias};
    for (const Guarded* input : inputs) input->read_only(true);
    const fovea_status status =
        fovea_linear(&args, workspace.bytes() ? workspace.as<void>() : nullptr, workspace.bytes());
    for (const Guarded* input : inputs) input->read_only(false);
    REQUIRE(workspace.margin_intact());
    REQUIRE(y.only_rows_written());
    return status;
  }
  // "" or what is wrong with the last run. What is expected is computed once, from the inputs that there are then.
  std::string compare() {
    for (const auto& [t, o] : indices<size_t>(args.tokens, p.out_dim)) {
      if (wants_.size() <= t * p.out_dim + o) wants_.push_back(want(t, o));
      const Want& wanted = wants_[t * p.out_dim + o];
      const float got = y.get(0, 0, t, o);
      if (is_right(got, wanted)) continue;
      return Text() << "[" << t << "][" << o << "] is " << got << ", not " << wanted.y;
    }
    return "";
  }
  std::string check(fovea_target target) {
    const std::string full_name = name(p, target);
    set_current_case(full_name);
    const fovea_status status = run(target);
    const std::string wrong = status != FOVEA_OK ? fovea_status_string(status) : compare();
    return wrong.empty() ? "" : full_name + ": " + wrong;
  }
  // Targets whose kernels differ.
  std::vector<fovea_target> targets() const {
    return p.compute == FOVEA_COMPUTE_I8 ? targets_and_those_that_extend_them() : fovea_test::targets();
  }

  size_t workspace_bytes() const { return bytes_of(fovea_linear_workspace_bytes, &args); }
  // Of the tokens of the last call.
  std::vector<float> outputs() const {
    std::vector<float> all;
    for (const auto& [t, o] : indices<size_t>(args.tokens, p.out_dim)) all.push_back(y.get(0, 0, t, o));
    return all;
  }
  std::vector<float> bits(fovea_target) const { return outputs(); }
  float weight(size_t o, size_t i) const { return element_of(p.dtype, w.row(o), scale_row(o), i); }
  uint8_t* scale_row(size_t o) const {
    return scales.as<uint8_t>() + o * row_scales(p.dtype, p.in_dim) * scale_size(p.dtype);
  }
  // Where the scale of a group, or of a super-block, is, as f16. Types that have a least number have it after the scale.
  uint8_t* group_scale(size_t o, size_t group) const {
    if (p.dtype == FOVEA_I4) return scale_row(o) + 2 * group;
    return super_scale(p.dtype, w.row<uint8_t>(o) + group * group_bytes(p.dtype));
  }
  bool has_least() const { return fovea_test::has_least(p.dtype); }
  void put_scale(size_t o, size_t group, float scale) const {  // in mxfp4 the power of 2 below it
    if (p.dtype != FOVEA_MXFP4) return put_f16(group_scale(o, group), scale);
    *group_scale(o, group) = scale == 0 ? 0 : uint8_t(std::ilogb(scale) + 128);
  }
  int code_of(float output) const {
    const float quotient = output / p.y_scale;
    if (quotient != quotient) return p.y_zero_point;
    return int(std::max(-128.0, std::min(127.0, std::nearbyint(double(quotient)) + p.y_zero_point)));
  }

  LinearProblem p;
  fovea_linear_args args;
  Array x, w, y;
  Guarded scales, x_scales, bias;

 private:
  struct Want {
    double y, tolerance;
  };
  // A token as codes: of f32, as rows of I8 keys are narrowed; with weights in groups, each group by itself.
  struct Codes {
    std::vector<int> codes;
    float scale = 1;
    std::vector<float> group_scales;
  };

  bool is_right(float got, const Want& wanted) const {
    if (p.compute == FOVEA_COMPUTE_F32 || std::isnan(wanted.y)) return close(double(got), wanted.y, wanted.tolerance);
    return bits_of(got) == bits_of(float(wanted.y));
  }
  Want want(size_t t, size_t o) {
    if (p.compute == FOVEA_COMPUTE_F32) return want_in_double(t, o);
    if (p.compute == FOVEA_COMPUTE_F16) return {double(want_of_halves(t, o)), 0};
    if (o == 0) token_ = codes_of(t);
    const float sum = is_grouped(p.dtype) ? want_of_groups(token_, o) : want_of_codes(token_, o);
    return {p.y_dtype == FOVEA_I8 ? code_of(sum) : double(sum), 0};
  }
  Want want_in_double(size_t t, size_t o) const {
    double sum = args.weights.bias != nullptr ? double(args.weights.bias[o]) : 0, magnitude = std::fabs(sum);
    for (size_t i = 0; i < p.in_dim; ++i) {
      const double product = double(x.get(0, 0, t, i)) * double(weight(o, i));
      sum += product, magnitude += std::fabs(product);
    }
    return {sum, linear_tolerance(magnitude, p.in_dim)};
  }
  float want_of_halves(size_t t, size_t o) const {
    float sum = 0.0f;
    for (uint32_t i = 0; i < p.in_dim;) {
      double part = 0.0;
      const uint32_t end = std::min(p.in_dim, i + 32);
      for (; i < end; ++i) part = half_multiply_add(to_half(x.get(0, 0, t, i)), double{weight(o, i)}, part);
      sum += float(part);
    }
    if (args.weights.bias != nullptr) sum += args.weights.bias[o];
    return p.activation == FOVEA_ACTIVATION_RELU && sum < 0.0f ? 0.0f : sum;
  }

  Codes codes_of(size_t t) const {
    Codes token;
    token.codes.resize(p.in_dim);
    token.group_scales.assign((p.in_dim + 31) / 32, 1.0f);
    if (p.x_dtype == FOVEA_I8) {
      for (size_t i = 0; i < p.in_dim; ++i) token.codes[i] = x.row<int8_t>(t)[i] - p.x_zero_point;
      const float given = x_scales.as<float>()[p.one_scale ? 0 : t];
      token.scale = std::isfinite(given) ? given : kNaN;
    } else if (is_grouped(p.dtype)) {
      for (size_t d = 0; d < p.in_dim; d += 32) {
        token.group_scales[d / 32] = narrow(t, d, std::min<size_t>(d + 32, p.in_dim), &token.codes);
      }
    } else {
      token.scale = narrow(t, 0, p.in_dim, &token.codes);
    }
    return token;
  }
  // Inputs [begin, end) become codes; returns their scale.
  float narrow(size_t t, size_t begin, size_t end, std::vector<int>* codes) const {
    const float* const numbers = x.row<float>(t);
    float most = 127 * 0x1p-126f;
    bool finite = true;
    for (size_t i = begin; i < end; ++i) {
      finite &= std::isfinite(numbers[i]);
      most = std::max(most, std::fabs(numbers[i]));
    }
    const float inverse = 127.0f / most;
    for (size_t i = begin; finite && i < end; ++i) (*codes)[i] = int(std::nearbyint(numbers[i] * inverse));
    return finite ? std::min(most / 127.0f, 0x1.020406p121f) : kNaN;
  }
  float want_of_codes(const Codes& token, size_t o) const {
    int64_t sum = p.bias == LinearProblem::kI32 ? bias.as<int32_t>()[o] : 0;
    for (size_t i = 0; i < p.in_dim; ++i) sum += int64_t{token.codes[i]} * w.row<int8_t>(o)[i];
    const float scale = scales.as<float>()[o];
    // volatile: each operation rounds by itself.
    volatile float result = float(int32_t(uint32_t(sum)));
    result = result * token.scale;
    result = result * (std::isfinite(scale) ? scale : kNaN);
    if (p.bias == LinearProblem::kF32) result = result + bias.as<float>()[o];
    return result;
  }
  float want_of_groups(const Codes& token, size_t o) const {
    volatile float result = 0;
    for (size_t d = 0, step = super_step(p.dtype); d < p.in_dim; d += step) {
      int sum = 0, x_sum = 0;
      for (size_t i = d; i < std::min<size_t>(d + step, p.in_dim); ++i) {
        sum += token.codes[i] * scaled_code(o, i), x_sum += token.codes[i];
      }
      volatile float product = float(sum) * scale_of(o, d);
      if (has_least()) {
        const volatile float least = float(x_sum) * least_of(o, d);
        product = product + least;
      }
      product = product * token.group_scales[d / 32];
      result = result + product;
    }
    result = result * token.scale;
    if (p.bias == LinearProblem::kF32) result = result + bias.as<float>()[o];
    return result;
  }
  // The code of a weight in a group; in Q6_K times the scale of 16 of them, which is an integer.
  int scaled_code(size_t o, size_t i) const {
    if (is_super(p.dtype)) {
      const uint8_t* const block = w.row<uint8_t>(o) + i / 256 * group_bytes(p.dtype);
      return super_code(p.dtype, block, i % 256) * (has_halves(p.dtype) ? half_scale(p.dtype, block, i % 256) : 1);
    }
    return group_code(p.dtype, w.row<uint8_t>(o) + i / 32 * group_bytes(p.dtype), i % 32);
  }
  float scale_of(size_t o, size_t i) const {
    const uint8_t* const scale = group_scale(o, i / group_elements(p.dtype));
    if (p.dtype == FOVEA_MXFP4) return std::ldexp(1.0f, *scale - 128);
    if (has_signed_groups(p.dtype)) {
      return f16_at(scale) *
             float(signed_scale(p.dtype, w.row<uint8_t>(o) + i / 256 * group_bytes(p.dtype), i % 256 / 32));
    }
    return f16_at(scale) * (is_super(p.dtype) && has_least() ? float(multiplier(o, i, false)) : 1.0f);
  }
  // What a code of 0 stands for.
  float least_of(size_t o, size_t i) const {
    const uint8_t* const scale = group_scale(o, i / group_elements(p.dtype));
    return f16_at(scale + 2) * (is_super(p.dtype) ? -float(multiplier(o, i, true)) : 1.0f);
  }
  int multiplier(size_t o, size_t i, bool minimum) const {
    return least_scale(p.dtype, w.row<uint8_t>(o) + i / 256 * group_bytes(p.dtype), i % 256, minimum);
  }

  void draw_codes(const Array& array, uint64_t seed) const {
    for (const auto& [r, i] : indices<size_t>(array.rows(), array.shape.dim)) {
      const uint64_t bits = random_bits(seed, r * 8192 + i);
      array.row<int8_t>(r)[i] = int8_t(p.extreme ? (bits & 7 ? -128 : 127) : int(bits % 256) - 128);
    }
  }
  void draw() {
    p.x_dtype == FOVEA_I8 ? draw_codes(x, p.seed) : x.draw(p.seed);
    p.dtype >= FOVEA_I8 ? draw_codes(w, p.seed + 1) : w.draw(p.seed + 1);
    for (size_t t = 0; t < x_scales.bytes() / sizeof(float); ++t) {
      x_scales.as<float>()[t] = random_uniform(p.seed + 4, t, 0.001f, 0.02f);
    }
    for (size_t o = 0; o < p.out_dim; ++o) {
      if (p.dtype == FOVEA_I8) scales.as<float>()[o] = random_uniform(p.seed + 3, o, 0.001f, 0.02f);
      for (size_t g = 0; is_grouped(p.dtype) && g * group_elements(p.dtype) < p.in_dim; ++g) {
        put_scale(o, g, random_uniform(p.seed + 3, o * 256 + g, 0.001f, 0.02f) * (g % 3 == 1 ? -1.0f : 1.0f));
        if (has_least()) put_f16(group_scale(o, g) + 2, random_normal(p.seed + 5, o * 256 + g) / 16);
      }
      if (p.bias == LinearProblem::kI32) {
        bias.as<int32_t>()[o] = int32_t(random_bits(p.seed + 2, o) % 20001) - 10000;
      } else {
        bias.as<float>()[o] = random_normal(p.seed + 2, o);
      }
    }
  }

  std::vector<Want> wants_;
  Codes token_;
};

inline std::string run_on_all_targets(const LinearProblem& problem) {
  LinearCase test(problem);
  return check_on_all_targets(test, test.targets());
}

// Runs in each way in which each target may multiply, and then check(target).
template <class Check>
void run_each_way(LinearCase& test, const Check& check) {
  const uint64_t features = test.args.processor_features;
  for (const auto& [target, used] : every(test.targets(), {features, uint64_t{0}})) {
    if (test.p.compute != FOVEA_COMPUTE_F16 && used != features) continue;
    test.args.processor_features = used;
    INFO(name(test.p, target));
    REQUIRE(test.run(target) == FOVEA_OK);
    check(target);
  }
  test.args.processor_features = features;
}

// A call that may be wrong.
struct LinearCall : LinearCase, CallMemory {
  explicit LinearCall(const LinearProblem& problem) : LinearCase(problem), CallMemory(LinearCase::workspace_bytes()) {}
  using CallMemory::workspace_bytes;
};

inline void check_refused(const LinearProblem& p, const std::vector<Misuse<LinearCall>>& all) {
  check_refused<LinearCall>(
      all, [&] { return LinearCall(p); },
      [](LinearCall& c) { return fovea_linear(&c.args, c.workspace, c.workspace_bytes); },
      [](LinearCall& c) { return c.y.memory.untouched() && c.y.memory.margin_intact() && c.memory.untouched(); });
}

}  // namespace fovea_test
