// SPDX-License-Identifier: Apache-2.0
//
// The functions of ground/math/math.inl over arrays, and ground/math/philox.inl, for math_test.cc.

template <VF (*function)(VF)>
void Evaluate(const float* in, float* out, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = count - i < kLanes ? count - i : kLanes;
    hn::StoreN(function(hn::LoadN(kF, in + i, n)), kF, out + i, n);
  }
}

void EvaluateExp2(const float* in, float* out, size_t count) { Evaluate<Exp2>(in, out, count); }
void EvaluateExp(const float* in, float* out, size_t count) { Evaluate<Exp>(in, out, count); }
VF OneShortExp2(VF x) {
  VF one[1] = {x};
  ShortExp2(one);
  return one[0];
}
void EvaluateShortExp2(const float* in, float* out, size_t count) { Evaluate<OneShortExp2>(in, out, count); }
void EvaluateLog(const float* in, float* out, size_t count) { Evaluate<Log>(in, out, count); }
void EvaluateTanh(const float* in, float* out, size_t count) { Evaluate<Tanh>(in, out, count); }
VF OneSigmoid(VF x) {
  VF one[1] = {x};
  LogisticDivisor(one);
  return hn::Div(hn::Set(kF, 1.0f), one[0]);
}
void EvaluateSigmoid(const float* in, float* out, size_t count) { Evaluate<OneSigmoid>(in, out, count); }
VF OneGeluLess(VF x) {
  VF one[1] = {x};
  GeluLess(one);
  return one[0];
}
void EvaluateGeluLess(const float* in, float* out, size_t count) { Evaluate<OneGeluLess>(in, out, count); }

// In every lane the same; 0 in all words where lanes differ.
void PhiloxWords(uint32_t (&words)[4], const uint32_t (&key)[2]) {
  VI c[4];
  for (int i = 0; i < 4; ++i) c[i] = hn::Set(kI, int32_t(words[i]));
  Philox(c, key[0], key[1]);
  for (int i = 0; i < 4; ++i) {
    float lanes[kLanes];
    hn::StoreU(hn::BitCast(kF, c[i]), kF, lanes);
    __builtin_memcpy(&words[i], lanes, sizeof words[i]);
    for (size_t lane = 1; lane < kLanes; ++lane) {
      if (__builtin_memcmp(&lanes[lane], &lanes[0], sizeof lanes[0]) != 0) words[i] = 0;
    }
  }
}
