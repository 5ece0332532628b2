// SPDX-License-Identifier: Apache-2.0
//
// How far linear layers with weights in groups are from double precision: on the weights as they are stored, next to
// loops in f32, and on the weights before they were stored, with both kinds of arithmetic.
#include "accuracy/accuracy.h"

namespace fovea_test {
namespace {

constexpr uint32_t kTokens = 25, kIn = 1024, kOut = 96;  // the first token is a call of its own

struct Format {
  fovea_dtype type;
  double bound;  // the largest error with integers, as a multiple of that of f32 arithmetic on the same weights
};
constexpr Format kFormats[] = {{FOVEA_I4, 1.1},     {FOVEA_Q8_0, 3.0},  {FOVEA_Q4_0, 1.1}, {FOVEA_Q4_1, 1.1},
                               {FOVEA_Q4_K, 1.1},   {FOVEA_Q6_K, 1.5},  {FOVEA_Q5_0, 1.1}, {FOVEA_Q5_1, 1.1},
                               {FOVEA_IQ4_NL, 1.1}, {FOVEA_MXFP4, 1.1}, {FOVEA_Q5_K, 1.1}, {FOVEA_IQ4_XS, 1.1},
                               {FOVEA_TQ2_0, 1.1},  {FOVEA_Q3_K, 1.1},   {FOVEA_Q2_K, 1.1}};

// Empty where the build does not have this arithmetic.
Numbers call(fovea_dtype type, const EncodedRows& stored, const Numbers& x, fovea_compute compute,
             fovea_target target) {
  Numbers y(size_t{kTokens} * kOut);
  const Guarded workspace = memory_of(1 << 20);
  auto args = sized<fovea_linear_args>();
  args.target = target, args.compute = compute, args.in_dim = kIn, args.out_dim = kOut;
  args.x_stride = kIn, args.y_stride = kOut;
  args.weights.dtype = type, args.weights.data = stored.data.data();
  args.weights.row_stride = ptrdiff_t(row_units(type, kIn));
  if (type == FOVEA_I4) args.weights.scales = stored.scales.data();
  for (const uint32_t first : {0u, 1u}) {
    args.tokens = first == 0 ? 1 : kTokens - 1;
    args.x = x.data() + first * kIn, args.y = y.data() + first * kOut;
    const fovea_status status = fovea_linear(&args, workspace.as<char>(), 1 << 20);
    if (status == FOVEA_ERR_UNSUPPORTED) return {};
    must(status);
  }
  return y;
}

bool show(const Format& format) {
  const Numbers x = normal(size_t{kTokens} * kIn, 1, 0, 1), weights = normal(size_t{kOut} * kIn, 2, 0, 0.03f);
  const EncodedRows stored(format.type, weights, kIn);
  Error ours, loops, of_f32, of_integers;
  const Numbers integers = call(format.type, stored, x, FOVEA_COMPUTE_I8, FOVEA_TARGET_BEST);
  for (const fovea_target target : targets()) {
    const Numbers y = call(format.type, stored, x, FOVEA_COMPUTE_F32, target);
    for (const auto& [t, o] : indices<size_t>(y.empty() ? 0 : kTokens, kOut)) {
      double right = 0, before = 0;
      float loop = 0;
      for (size_t i = 0; i < kIn; ++i) {
        const float a = x[t * kIn + i], b = stored.numbers[o * kIn + i];
        right += double{a} * double{b}, before += double{a} * double{weights[o * kIn + i]}, loop += a * b;
      }
      ours.add(double{y[t * kOut + o]}, right);
      loops.add(double{loop}, right);
      of_f32.add(double{y[t * kOut + o]}, before);
      if (!integers.empty()) of_integers.add(double{integers[t * kOut + o]}, before);
    }
  }
  if (ours.count == 0) return true;
  const double ratio = integers.empty() ? 0 : of_integers.normalised() / of_f32.normalised();
  std::printf("| %s | %.2g | %.2g | %.2g | %.2g | %.2g | %.2g | %.2f | %.1f |\n", type_name(format.type), ours.largest,
              ours.rms(), loops.largest, loops.rms(), of_f32.normalised(),
              integers.empty() ? 0 : of_integers.normalised(), ratio, format.bound);
  return is_within(std::string("weights in ") + type_name(format.type),
                   std::max(ours.largest / (2 * loops.largest), ratio / format.bound));
}

}  // namespace

bool show_weights_in_groups() {
  begin_table("Linear layers with weights in groups");
  bool right = true;
  for (const Format& format : kFormats) right = show(format) && right;
  return right;
}

}  // namespace fovea_test
