// SPDX-License-Identifier: Apache-2.0
//
// Causal depthwise convolution of a few taps. An output needs no later inputs, so outputs are made from the last to the
// first, and may replace the inputs.

// Most inputs that an output needs in addition to its own.
constexpr size_t kMostPast = FOVEA_CONV1D_MOST_WIDTH - 1;

FOVEA_INLINE void StoreOutput(const fovea_conv1d_args& a, VF sum, float* p, size_t n) {
  if (a.silu) {
    VF gate[1] = {sum};
    Sigmoid(gate);
    sum = hn::Mul(sum, gate[0]);
  }
  StoreUpTo(sum, p, n);
}

// Convolves kLanes channels, or fewer, of all tokens.
FOVEA_INLINE void ConvolveChannels(const Conv1dEntry& e, size_t channel, size_t live) {
  const fovea_conv1d_args& a = *e.args;
  const size_t past = a.width - 1;
  const float* const x = e.x + channel;
  VF weight[FOVEA_CONV1D_MOST_WIDTH], earlier[kMostPast], kept[kMostPast];
  const float* weights[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    weights[i] = a.weight + ptrdiff_t(channel + (i < live ? i : 0)) * a.weight_stride;
  }
  for (size_t tap = 0; tap < a.width; tap += kLanes) {
    const size_t taps = LanesBefore(tap, a.width);
    VF some[kLanes];
    hn::LoadTransposed(weights, tap, taps, some);
    for (size_t i = 0; i < taps; ++i) weight[tap + i] = some[i];
  }
  for (size_t i = 0; i < past; ++i) {
    earlier[i] = e.state ? LoadUpTo(e.state + i * a.channels + channel, live) : hn::Zero(kF);
  }
  // Input t: the earlier ones, followed by the call's.
  const auto input = [&](size_t t) __attribute__((always_inline)) {
    return t < past ? earlier[t] : LoadUpTo(x + ptrdiff_t(t - past) * a.x_token_stride, live);
  };
  for (size_t i = 0; i < past; ++i) kept[i] = input(a.tokens + i);
  const VF bias = a.bias ? LoadUpTo(a.bias + channel, live) : hn::Zero(kF);
  for (size_t t = a.tokens; t-- > 0;) {
    VF sum = bias;
    for (size_t tap = 0; tap < a.width; ++tap) sum = hn::MulAdd(weight[tap], input(t + tap), sum);
    StoreOutput(a, sum, e.y + ptrdiff_t(t) * a.y_token_stride + channel, live);
  }
  for (size_t i = 0; e.state && i < past; ++i) StoreUpTo(kept[i], e.state + i * a.channels + channel, live);
}

FOVEA_KERNEL void ConvolveChannelsLast(const Conv1dEntry& e) {
  for (size_t channel = 0; channel < e.args->channels; channel += kLanes) {
    ConvolveChannels(e, channel, LanesBefore(channel, e.args->channels));
  }
}

// Convolves all tokens of a channel. Lanes are tokens.
FOVEA_INLINE void ConvolveTokens(const Conv1dEntry& e, size_t channel) {
  const fovea_conv1d_args& a = *e.args;
  const size_t past = a.width - 1, tokens = a.tokens;
  const float* const x = e.x + ptrdiff_t(channel) * a.x_channel_stride;
  float* const y = e.y + ptrdiff_t(channel) * a.y_channel_stride;
  const float* const weight = a.weight + ptrdiff_t(channel) * a.weight_stride;
  const VF bias = hn::Set(kF, a.bias ? a.bias[channel] : 0.0f);

  // Inputs of the first outputs: the earlier ones, then as many of the call's as a vector of outputs needs.
  float first[kMostPast + kMostPast + kLanes] = {};
  const size_t beside = past < tokens ? past : tokens;  // outputs that need earlier inputs
  for (size_t i = 0; i < past; ++i) first[i] = e.state ? e.state[i * a.channels + channel] : 0.0f;
  for (size_t i = 0; i < past + kLanes && i < tokens; ++i) first[past + i] = x[i];
  float kept[kMostPast];
  for (size_t i = 0; i < past; ++i) kept[i] = tokens + i < past ? first[tokens + i] : x[tokens + i - past];

  const auto convolve = [&](const float* in, size_t t, size_t live) __attribute__((always_inline)) {
    VF sum = bias;
    for (size_t tap = 0; tap < a.width; ++tap) {
      sum = hn::MulAdd(hn::Set(kF, weight[tap]), LoadUpTo(in + tap, live), sum);
    }
    StoreOutput(a, sum, y + t, live);
  };
  size_t end = tokens;
  for (; end >= beside + kLanes; end -= kLanes) convolve(x + (end - kLanes) - past, end - kLanes, kLanes);
  if (end > beside) convolve(x + beside - past, beside, end - beside);
  for (size_t t = 0; t < beside; t += kLanes) convolve(first + t, t, LanesBefore(t, beside));
  for (size_t i = 0; e.state && i < past; ++i) e.state[i * a.channels + channel] = kept[i];
}

FOVEA_KERNEL void ConvolveChannelsFirst(const Conv1dEntry& e) {
  for (size_t channel = 0; channel < e.args->channels; ++channel) ConvolveTokens(e, channel);
}

constexpr Conv1dKernels kConv1dKernels = {ConvolveChannelsLast, ConvolveChannelsFirst};
