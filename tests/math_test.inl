// SPDX-License-Identifier: Apache-2.0
//
// The functions of kernels/math.inl over arrays, for math_test.cc.

template <VF (*function)(VF)>
void Evaluate(const float* in, float* out, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = count - i < kLanes ? count - i : kLanes;
    hn::StoreN(function(hn::LoadN(kF, in + i, n)), kF, out + i, n);
  }
}

void EvaluateExp2(const float* in, float* out, size_t count) { Evaluate<Exp2>(in, out, count); }
void EvaluateExp(const float* in, float* out, size_t count) { Evaluate<Exp>(in, out, count); }
void EvaluateLog(const float* in, float* out, size_t count) { Evaluate<Log>(in, out, count); }
void EvaluateTanh(const float* in, float* out, size_t count) { Evaluate<Tanh>(in, out, count); }
