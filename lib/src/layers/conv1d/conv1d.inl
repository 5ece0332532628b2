// SPDX-License-Identifier: Apache-2.0
//
// Causal depthwise convolution of a few taps. An output needs no later inputs, so outputs are made from the last to the
// first, and may replace the inputs.
#ifndef FOVEA_SRC_CONV1D_CONV1D_INL_
#define FOVEA_SRC_CONV1D_CONV1D_INL_

#include "ground/math/math.inl"

// Most inputs that an output needs in addition to its own.
constexpr size_t kMostPast = FOVEA_CONV1D_MAX_KERNEL_SIZE - 1;

FOVEA_INLINE void StoreActivated(const Convolution& c, VF sum, float* p, size_t n) {
  if (c.silu) {
    VF divisor[1] = {sum};
    LogisticDivisor(divisor);
    sum = hn::Div(sum, divisor[0]);
  }
  StoreUpTo(sum, p, n);
}

// Convolves kLanes channels, or fewer, of all tokens.
FOVEA_INLINE void ConvolveChannels(const Convolution& c, size_t channel, size_t live) {
  const size_t past = c.width - 1;
  const float* const x = c.x + channel;
  VF weight[FOVEA_CONV1D_MAX_KERNEL_SIZE], earlier[kMostPast], kept[kMostPast];
  const float* weights[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    weights[i] = c.weight + ptrdiff_t(channel + (i < live ? i : 0)) * c.weight_stride;
  }
  for (size_t tap = 0; tap < c.width; tap += kLanes) {
    const size_t taps = LanesBefore(tap, c.width);
    VF some[kLanes];
    hn::LoadTransposed(weights, tap, taps, some);
    for (size_t i = 0; i < taps; ++i) weight[tap + i] = some[i];
  }
  for (size_t i = 0; i < past; ++i) {
    earlier[i] = c.state ? LoadUpTo(c.state + i * c.channels + channel, live) : hn::Zero(kF);
  }
  // Input t: the earlier ones, followed by the call's.
  const auto input = [&](size_t t) __attribute__((always_inline)) {
    return t < past ? earlier[t] : LoadUpTo(x + ptrdiff_t(t - past) * c.x_stride, live);
  };
  for (size_t i = 0; i < past; ++i) kept[i] = input(c.tokens + i);
  const VF bias = c.bias ? LoadUpTo(c.bias + channel, live) : hn::Zero(kF);
  for (size_t t = c.tokens; t-- > 0;) {
    VF sum = bias;
    for (size_t tap = 0; tap < c.width; ++tap) sum = hn::MulAdd(weight[tap], input(t + tap), sum);
    StoreActivated(c, sum, c.y + ptrdiff_t(t) * c.y_stride + channel, live);
  }
  for (size_t i = 0; c.state && i < past; ++i) StoreUpTo(kept[i], c.state + i * c.channels + channel, live);
}

FOVEA_KERNEL void ConvolveChannelsLast(const Convolution& c) {
  for (size_t channel = 0; channel < c.channels; channel += kLanes) {
    ConvolveChannels(c, channel, LanesBefore(channel, c.channels));
  }
}

// Convolves all tokens of a channel. Lanes are tokens.
FOVEA_INLINE void ConvolveTokens(const Convolution& c, size_t channel) {
  const size_t past = c.width - 1, tokens = c.tokens;
  const float* const x = c.x + ptrdiff_t(channel) * c.x_stride;
  float* const y = c.y + ptrdiff_t(channel) * c.y_stride;
  const float* const weight = c.weight + ptrdiff_t(channel) * c.weight_stride;
  const VF bias = hn::Set(kF, c.bias ? c.bias[channel] : 0.0f);

  // Inputs of the first outputs: the earlier ones, then as many of the call's as a vector of outputs needs.
  float first[kMostPast + kMostPast + kLanes] = {};
  const size_t beside = past < tokens ? past : tokens;  // outputs that need earlier inputs
  for (size_t i = 0; i < past; ++i) first[i] = c.state ? c.state[i * c.channels + channel] : 0.0f;
  for (size_t i = 0; i < past + kLanes && i < tokens; ++i) first[past + i] = x[i];
  float kept[kMostPast];
  for (size_t i = 0; i < past; ++i) kept[i] = tokens + i < past ? first[tokens + i] : x[tokens + i - past];

  const auto convolve = [&](const float* in, size_t t, size_t live) __attribute__((always_inline)) {
    VF sum = bias;
    for (size_t tap = 0; tap < c.width; ++tap) {
      sum = hn::MulAdd(hn::Set(kF, weight[tap]), LoadUpTo(in + tap, live), sum);
    }
    StoreActivated(c, sum, y + t, live);
  };
  size_t end = tokens;
  for (; end >= beside + kLanes; end -= kLanes) convolve(x + (end - kLanes) - past, end - kLanes, kLanes);
  if (end > beside) convolve(x + beside - past, beside, end - beside);
  for (size_t t = 0; t < beside; t += kLanes) convolve(first + t, t, LanesBefore(t, beside));
  for (size_t i = 0; c.state && i < past; ++i) c.state[i * c.channels + channel] = kept[i];
}

FOVEA_KERNEL void ConvolveChannelsFirst(const Convolution& c) {
  for (size_t channel = 0; channel < c.channels; ++channel) ConvolveTokens(c, channel);
}

constexpr Conv1dKernels kConv1dKernels = {ConvolveChannelsLast, ConvolveChannelsFirst};

#endif  // FOVEA_SRC_CONV1D_CONV1D_INL_
