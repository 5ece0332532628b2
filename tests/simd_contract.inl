// SPDX-License-Identifier: Apache-2.0
//
// The contract of the vocabulary (lib/src/simd/VOCABULARY.md), word by word. Included inside the namespace of a target,
// after its page. Words that have one exact answer are compared bit for bit.

// How a lane is compared: all bits; any NaN for any NaN; and also either zero for either zero.
enum class Same { kBits, kNumber, kValue };

uint32_t BitsOf(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
float FloatOf(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
bool IsNan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

void Compare(ContractLog& log, Same same, size_t lane, uint32_t got, uint32_t wanted) {
  log.count(1);
  if (got == wanted) return;
  if (same != Same::kBits && IsNan(got) && IsNan(wanted)) return;
  if (same == Same::kValue && ((got | wanted) & 0x7fffffffu) == 0) return;
  log.fail(lane, got, wanted);
}

// The lanes of vectors as bits, by way of StoreU alone.
struct Lanes {
  uint32_t bits[kLanes];
};
Lanes LanesOf(VF v) {
  float x[kLanes + 1];  // an odd place: StoreU takes any
  Lanes lanes;
  hn::StoreU(v, kF, x + 1);
  __builtin_memcpy(lanes.bits, x + 1, sizeof lanes.bits);
  return lanes;
}
Lanes LanesOf(VI v) { return LanesOf(hn::BitCast(kF, v)); }
// 1.0 where the mask is set and 0.0 where not; something else where the words that take a mask do not agree.
Lanes LanesOf(MF m) {
  Lanes lanes = LanesOf(hn::IfThenElse(m, hn::Set(kF, 1.0f), hn::Set(kF, 0.0f)));
  const Lanes kept = LanesOf(hn::IfThenZeroElse(m, hn::BitCast(kF, hn::Set(kI, -1))));
  for (size_t i = 0; i < kLanes; ++i) {
    if (kept.bits[i] != (lanes.bits[i] ? 0u : 0xffffffffu)) lanes.bits[i] = kept.bits[i];
  }
  return lanes;
}

VF FromBits(const uint32_t* bits) {
  float x[kLanes + 1];
  __builtin_memcpy(x + 1, bits, 4 * kLanes);
  return hn::LoadU(kF, x + 1);
}
VI IntsFromBits(const uint32_t* bits) {
  int32_t x[kLanes + 1];
  __builtin_memcpy(x + 1, bits, 4 * kLanes);
  return hn::LoadU(kI, x + 1);
}

void CompareLanes(ContractLog& log, Same same, const Lanes& got, const uint32_t* wanted) {
  for (size_t i = 0; i < kLanes; ++i) Compare(log, same, i, got.bits[i], wanted[i]);
}

uint32_t Random(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state ^ state >> 15;
}

// Zeros, subnormals, the ends of the normal numbers, infinities and NaNs of both signs, and some ordinary numbers.
constexpr uint32_t kSpecial[] = {
    0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x807fffffu, 0x00800000u, 0x80800000u,
    0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7fc12345u, 0xffedcba9u,
    0x3f800000u, 0xbf800000u, 0x3f800001u, 0x40490fdbu, 0xc2f6e979u, 0x4b800000u, 0x1e3ce508u, 0xe0ad78ecu,
};
constexpr size_t kSpecials = sizeof kSpecial / sizeof kSpecial[0];

// ------------------------------------------------------------------------------------------------ memory

void TestMemory(ContractLog& log, const ContractMemory& memory) {
  uint32_t bits[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) bits[i] = 0x7f800000u + 0x54321u * (i + 1);  // NaNs, signalling ones among them

  log.begin("LoadU, StoreU");
  for (size_t offset = 0; offset < 64; offset += 4) {
    uint8_t* p = memory.first + offset;
    __builtin_memcpy(p, bits, sizeof bits);
    const VF v = hn::LoadU(kF, reinterpret_cast<const float*>(p));
    const VI w = hn::LoadU(kI, reinterpret_cast<const int32_t*>(p));
    __builtin_memset(p, 0, sizeof bits);
    hn::StoreU(v, kF, reinterpret_cast<float*>(p));
    uint32_t stored[kLanes];
    __builtin_memcpy(stored, p, sizeof stored);
    for (size_t i = 0; i < kLanes; ++i) Compare(log, Same::kBits, i, stored[i], bits[i]);
    CompareLanes(log, Same::kBits, LanesOf(w), bits);
  }

  log.begin("LoadN");
  for (size_t n = 0; n <= kLanes; ++n) {
    uint32_t wanted[kLanes] = {};
    __builtin_memcpy(wanted, bits, 4 * n);
    uint8_t* const places[] = {memory.last - 4 * n, memory.first};
    for (uint8_t* p : places) {
      __builtin_memcpy(p, bits, 4 * n);
      CompareLanes(log, Same::kBits, LanesOf(hn::LoadN(kF, reinterpret_cast<const float*>(p), n)), wanted);
    }
  }

  log.begin("StoreN");
  const VF v = FromBits(bits);
  for (size_t n = 0; n <= kLanes; ++n) {
    hn::StoreN(v, kF, reinterpret_cast<float*>(memory.last - 4 * n), n);
    for (size_t offset = 0; offset < 64; offset += 4) {
      uint32_t area[kLanes + 32], wanted[kLanes + 32];
      const size_t at = offset / 4;
      for (size_t i = 0; i < kLanes + 32; ++i) wanted[i] = 0xc0ffee00u + uint32_t(i);
      __builtin_memcpy(memory.first, wanted, sizeof wanted);
      for (size_t i = 0; i < n; ++i) wanted[at + i] = bits[i];
      hn::StoreN(v, kF, reinterpret_cast<float*>(memory.first + offset), n);
      __builtin_memcpy(area, memory.first, sizeof area);
      for (size_t i = 0; i < kLanes + 32; ++i) Compare(log, Same::kBits, i, area[i], wanted[i]);
    }
    uint32_t stored[kLanes];
    __builtin_memcpy(stored, memory.last - 4 * n, 4 * n);
    for (size_t i = 0; i < n; ++i) Compare(log, Same::kBits, i, stored[i], bits[i]);
  }

  log.begin("LoadU8N");
  for (size_t n = 0; n <= kLanes; ++n) {
    uint8_t* const places[] = {memory.last - n, memory.first + 1};
    for (uint8_t* p : places) {
      uint32_t wanted[kLanes] = {};
      for (uint32_t i = 0; i < n; ++i) {
        wanted[i] = (i * 83u + 255u) & 255u;
        p[i] = uint8_t(wanted[i]);
      }
      CompareLanes(log, Same::kBits, LanesOf(hn::LoadU8N(kI, p, n)), wanted);
    }
  }

  log.begin("LoadElem, LoadElems");
  for (int i = 0; i < hn::kElems; ++i) {
    const float x = 1.5f + float(i);
    __builtin_memcpy(memory.last - 4 * (hn::kElems - i), &x, 4);
  }
  const VF one = hn::Set(kF, 1.0f), zero = hn::Zero(kF);
  const hn::Elems first = hn::LoadElems(reinterpret_cast<const float*>(memory.last) - hn::kElems);
  const hn::Elems last = hn::LoadElem(reinterpret_cast<const float*>(memory.last) - 1);
  for (size_t i = 0; i < kLanes; ++i) {
    Compare(log, Same::kBits, i, LanesOf(hn::MulAddElem<0>(one, first, zero)).bits[i], BitsOf(1.5f));
    Compare(log, Same::kBits, i, LanesOf(hn::MulAddElem<0>(one, last, zero)).bits[i], BitsOf(0.5f + hn::kElems));
  }
}

void TestConstants(ContractLog& log) {
  log.begin("Zero, Set, Iota");
  for (size_t i = 0; i < kLanes; ++i) {
    Compare(log, Same::kBits, i, LanesOf(hn::Zero(kF)).bits[i], 0);
    Compare(log, Same::kBits, i, LanesOf(hn::Iota(kF, 0.0f)).bits[i], BitsOf(float(i)));
    Compare(log, Same::kBits, i, LanesOf(hn::Iota(kF, -2.5f)).bits[i], BitsOf(float(i) - 2.5f));
    for (const uint32_t bits : kSpecial) {
      Compare(log, Same::kBits, i, LanesOf(hn::Set(kF, FloatOf(bits))).bits[i], bits);
      Compare(log, Same::kBits, i, LanesOf(hn::Set(kI, int32_t(bits))).bits[i], bits);
    }
  }
}

// -------------------------------------------------------------------------------------------- arithmetic

struct AddWord {
  static VF Of(VF a, VF b) { return hn::Add(a, b); }
  static float Wanted(float a, float b) { return a + b; }
};
struct SubWord {
  static VF Of(VF a, VF b) { return hn::Sub(a, b); }
  static float Wanted(float a, float b) { return a - b; }
};
struct MulWord {
  static VF Of(VF a, VF b) { return hn::Mul(a, b); }
  static float Wanted(float a, float b) { return a * b; }
};
struct DivWord {
  static VF Of(VF a, VF b) { return hn::Div(a, b); }
  static float Wanted(float a, float b) { return a / b; }
};
struct EqWord {
  static MF Of(VF a, VF b) { return hn::Eq(a, b); }
  static float Wanted(float a, float b) { return a == b ? 1.0f : 0.0f; }
};
struct LtWord {
  static MF Of(VF a, VF b) { return hn::Lt(a, b); }
  static float Wanted(float a, float b) { return a < b ? 1.0f : 0.0f; }
};
struct LeWord {
  static MF Of(VF a, VF b) { return hn::Le(a, b); }
  static float Wanted(float a, float b) { return a <= b ? 1.0f : 0.0f; }
};

// All pairs of special values, with a different pair in each lane, and random pairs of near exponents.
template <class Word>
void TestPairs(ContractLog& log, const char* name) {
  log.begin(name);
  uint32_t state = 7;
  constexpr size_t kPairs = kSpecials * kSpecials;
  for (size_t p = 0; p < kPairs + 4096; p += p < kPairs ? 1 : kLanes) {
    uint32_t a[kLanes], b[kLanes], wanted[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t pair = (p + i) % kPairs;
      a[i] = p < kPairs ? kSpecial[pair / kSpecials] : (Random(state) & 0x87ffffffu) + 0x3c000000u;
      b[i] = p < kPairs ? kSpecial[pair % kSpecials] : (Random(state) & 0x87ffffffu) + 0x3c000000u;
      wanted[i] = BitsOf(Word::Wanted(FloatOf(a[i]), FloatOf(b[i])));
    }
    CompareLanes(log, Same::kNumber, LanesOf(Word::Of(FromBits(a), FromBits(b))), wanted);
  }
}

void TestMaxAbs(ContractLog& log) {
  log.begin("Max");
  for (const uint32_t a : kSpecial) {
    for (const uint32_t b : kSpecial) {
      const Lanes got = LanesOf(hn::Max(hn::Set(kF, FloatOf(a)), hn::Set(kF, FloatOf(b))));
      const uint32_t larger = FloatOf(a) > FloatOf(b) ? a : b;
      for (const uint32_t bits : got.bits) {
        // NaN and a number: either, as the processor has it.
        const bool either = IsNan(a) != IsNan(b) && (IsNan(bits) || bits == (IsNan(a) ? b : a));
        Compare(log, Same::kValue, 0, bits, either ? bits : larger);
      }
    }
  }
  log.begin("Abs");
  for (const uint32_t a : kSpecial) {
    for (const uint32_t bits : LanesOf(hn::Abs(hn::Set(kF, FloatOf(a)))).bits) {
      Compare(log, Same::kBits, 0, bits, a & 0x7fffffffu);
    }
  }
}

// a * b + c with one rounding or with two.
float MulAddWanted(bool fused, float a, float b, float c) {
  if (fused) return __builtin_fmaf(a, b, c);
  const float product = a * b;
  return product + c;
}

// Every i of MulAddElem<i> and MulAddElemUnless<i>, against MulAdd and MulAddUnless by a broadcast.
template <int i>
void TestElem(ContractLog& log, VF v, VF acc, MF m) {
  float x[hn::kElems];
  for (int k = 0; k < hn::kElems; ++k) x[k] = k == i ? 3.1415927f : __builtin_nanf("");
  const hn::Elems elems = hn::LoadElems(x);
  const VF broadcast = hn::Set(kF, x[i]);
  CompareLanes(log, Same::kNumber, LanesOf(hn::MulAddElem<i>(v, elems, acc)),
               LanesOf(hn::MulAdd(v, broadcast, acc)).bits);
  CompareLanes(log, Same::kValue, LanesOf(hn::MulAddElemUnless<i>(m, v, elems, acc)),
               LanesOf(hn::MulAddUnless(m, v, broadcast, acc)).bits);
  if constexpr (i + 1 < hn::kElems) TestElem<i + 1>(log, v, acc, m);
}

void TestMulAdd(ContractLog& log, bool fused) {
  log.begin("MulAdd rounds once where it is fused, twice where it is not");
  {
    // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24; rounded on the way, 0.
    const VF a = hn::Set(kF, 1.000244140625f), c = hn::Set(kF, 1.00048828125f);
    const uint32_t tiny = fused ? BitsOf(5.9604644775390625e-8f) : 0u, sign = fused ? 0x80000000u : 0u;
    for (const uint32_t bits : LanesOf(hn::MulAdd(a, a, hn::Sub(hn::Zero(kF), c))).bits) {
      Compare(log, Same::kBits, 0, bits, tiny);
    }
    for (const uint32_t bits : LanesOf(hn::NegMulAdd(a, a, c)).bits) Compare(log, Same::kBits, 0, bits, tiny | sign);
  }

  log.begin("MulAdd, NegMulAdd");
  constexpr size_t kTriples = kSpecials * kSpecials * kSpecials;
  uint32_t state = 11;
  for (size_t t = 0; t < kTriples + 8192; t += kLanes) {
    uint32_t a[kLanes], b[kLanes], c[kLanes], sum[kLanes], difference[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t triple = (t + i) % kTriples;
      const bool special = t < kTriples;
      a[i] = special ? kSpecial[triple % kSpecials] : (Random(state) & 0x80ffffffu) + 0x3f000000u;
      b[i] = special ? kSpecial[triple / kSpecials % kSpecials] : (Random(state) & 0x80ffffffu) + 0x3f000000u;
      c[i] = special ? kSpecial[triple / kSpecials / kSpecials] : (Random(state) & 0x83ffffffu) + 0x3e000000u;
      sum[i] = BitsOf(MulAddWanted(fused, FloatOf(a[i]), FloatOf(b[i]), FloatOf(c[i])));
      difference[i] = BitsOf(MulAddWanted(fused, -FloatOf(a[i]), FloatOf(b[i]), FloatOf(c[i])));
    }
    CompareLanes(log, Same::kNumber, LanesOf(hn::MulAdd(FromBits(a), FromBits(b), FromBits(c))), sum);
    CompareLanes(log, Same::kNumber, LanesOf(hn::NegMulAdd(FromBits(a), FromBits(b), FromBits(c))), difference);
  }

  log.begin("MulAddUnless");
  const float weights[] = {0.0f, -0.0f, 1.5f, -0.75f};
  for (const uint32_t b : kSpecial) {
    for (const uint32_t c : kSpecial) {
      for (const float a : weights) {
        // Lanes whose number has a bit set are hidden: whatever b is there, c comes out.
        for (uint32_t bit = 1; bit <= 16; bit *= 2) {
          uint32_t hidden[kLanes], wanted[kLanes];
          for (uint32_t i = 0; i < kLanes; ++i) {
            const bool hides = bit == 16 || (i & bit) != 0;
            hidden[i] = BitsOf(hides ? 1.0f : 0.0f);
            wanted[i] = hides ? c : BitsOf(MulAddWanted(fused, a, FloatOf(b), FloatOf(c)));
          }
          const MF m = hn::Eq(FromBits(hidden), hn::Set(kF, 1.0f));
          const VF got = hn::MulAddUnless(m, hn::Set(kF, a), hn::Set(kF, FloatOf(b)), hn::Set(kF, FloatOf(c)));
          CompareLanes(log, Same::kValue, LanesOf(got), wanted);
        }
      }
    }
  }

  log.begin("MulAddElem, MulAddElemUnless");
  for (uint32_t hide = 0; hide < 4; ++hide) {
    const VF v = hn::Iota(kF, 0.3f), acc = hn::Iota(kF, -1.7f);
    TestElem<0>(log, v, acc, hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(hide))));
  }
}

// ------------------------------------------------------------------------------------- integers and masks

void TestIntegers(ContractLog& log) {
  log.begin("Add, Sub, And, Or, ShiftLeft, ShiftRight, ConvertTo, BitCast of integers");
  uint32_t state = 3;
  for (size_t p = 0; p < 4096; ++p) {
    uint32_t a[kLanes], b[kLanes], wanted[8][kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      a[i] = p < 2 * kSpecials ? kSpecial[(p + i) % kSpecials] : Random(state) >> p % 32;
      b[i] = p < 2 * kSpecials ? kSpecial[(2 * p + i) % kSpecials] : Random(state);
      wanted[0][i] = a[i] + b[i];
      wanted[1][i] = a[i] - b[i];
      wanted[2][i] = a[i] & b[i];
      wanted[3][i] = a[i] | b[i];
      wanted[4][i] = a[i] << 23;
      wanted[5][i] = a[i] >> 23 | ((a[i] >> 31) != 0 ? 0xfffffe00u : 0u);
      wanted[6][i] = BitsOf(float(int32_t(a[i])));
      wanted[7][i] = a[i] << 1;
    }
    const VI x = IntsFromBits(a), y = IntsFromBits(b);
    CompareLanes(log, Same::kBits, LanesOf(hn::Add(x, y)), wanted[0]);
    CompareLanes(log, Same::kBits, LanesOf(hn::Sub(x, y)), wanted[1]);
    CompareLanes(log, Same::kBits, LanesOf(hn::And(x, y)), wanted[2]);
    CompareLanes(log, Same::kBits, LanesOf(hn::Or(x, y)), wanted[3]);
    CompareLanes(log, Same::kBits, LanesOf(hn::ShiftLeft<23>(x)), wanted[4]);
    CompareLanes(log, Same::kBits, LanesOf(hn::ShiftRight<23>(x)), wanted[5]);
    CompareLanes(log, Same::kBits, LanesOf(hn::ConvertTo(kF, x)), wanted[6]);
    CompareLanes(log, Same::kBits, LanesOf(hn::ShiftLeft<1>(x)), wanted[7]);
    CompareLanes(log, Same::kBits, LanesOf(hn::BitCast(kI, FromBits(a))), a);
    CompareLanes(log, Same::kBits, LanesOf(hn::BitCast(kF, x)), a);
  }
}

void TestMasks(ContractLog& log) {
  for (const uint32_t a : kSpecial) {
    uint32_t yes[kLanes], no[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      yes[i] = kSpecial[i % kSpecials];
      no[i] = kSpecial[(i + 13) % kSpecials];
    }
    // Every combination of two lanes that differ in place: lane i against a threshold.
    for (size_t below = 0; below <= kLanes; ++below) {
      const MF first = hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(below)));
      const MF second = hn::Eq(hn::Iota(kF, 0.0f), hn::Set(kF, float(kLanes - 1)));
      uint32_t chosen[kLanes], cleared[kLanes], either[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        chosen[i] = i < below ? yes[i] : no[i];
        cleared[i] = i < below ? 0u : a;
        either[i] = i < below || i == kLanes - 1 ? BitsOf(1.0f) : 0u;
      }
      log.begin("IfThenElse, IfThenZeroElse, Or of masks");
      CompareLanes(log, Same::kBits, LanesOf(hn::IfThenElse(first, FromBits(yes), FromBits(no))), chosen);
      CompareLanes(log, Same::kBits, LanesOf(hn::IfThenZeroElse(first, hn::Set(kF, FloatOf(a)))), cleared);
      CompareLanes(log, Same::kBits, LanesOf(hn::Or(first, second)), either);
    }
    log.begin("SignMask");
    uint32_t signs[kLanes], wanted[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      signs[i] = i % 3 == 1 ? a ^ 0x80000000u : a;
      wanted[i] = (signs[i] & 0x80000000u) != 0 ? BitsOf(1.0f) : 0u;
    }
    CompareLanes(log, Same::kBits, LanesOf(hn::SignMask(FromBits(signs))), wanted);
  }
}

// ------------------------------------------------------------------------------------------ across lanes

void TestTranspose(ContractLog& log) {
  log.begin("Transpose");
  VF v[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint32_t bits[kLanes];
    for (uint32_t j = 0; j < kLanes; ++j) bits[j] = 0x7f800000u + 64 * i + j;
    v[i] = FromBits(bits);
  }
  hn::Transpose(v);
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint32_t wanted[kLanes];
    for (uint32_t j = 0; j < kLanes; ++j) wanted[j] = 0x7f800000u + 64 * j + i;
    CompareLanes(log, Same::kBits, LanesOf(v[i]), wanted);
  }
}

void TestWords(ContractLog& log, const ContractMemory& memory, bool fused) {
  static_assert(hn::kBlockVectors <= 4 && hn::kBlockKeys <= 8,
                "larger blocks need longer unrolled loops in the kernels");
  TestMemory(log, memory);
  TestConstants(log);
  TestPairs<AddWord>(log, "Add");
  TestPairs<SubWord>(log, "Sub");
  TestPairs<MulWord>(log, "Mul");
  TestPairs<DivWord>(log, "Div");
  TestPairs<EqWord>(log, "Eq");
  TestPairs<LtWord>(log, "Lt");
  TestPairs<LeWord>(log, "Le");
  TestMaxAbs(log);
  TestMulAdd(log, fused);
  TestIntegers(log);
  TestMasks(log);
  TestTranspose(log);
}
