// SPDX-License-Identifier: Apache-2.0
//
// The formats in which elements are stored: the table of them, and functions that tell what a format is. To add a
// format, add its value to fovea_dtype in fovea.h, a row here, and its FormatRow in ground/formats/rows.inl.
//
// A row is one token's key or value in one head, or an output's weights: `dim` elements. The C type below is the type
// of the array, and the unit in which strides count.
//   f32   float[dim]
//   f16   uint16_t[dim], IEEE 754 binary16
//   bf16  uint16_t[dim], the upper half of an f32
//   i8    int8_t[dim], -127 to 127, and a scale, float: x = scale * q. The largest magnitude of the row becomes 127.
//   i4    uint8_t[16] for each group of 32 elements, and a scale, uint16_t of f16: x = scale * (u - 8). The low nibble
//         of byte i is u of element i, the high nibble u of element i + 16. ceil(dim / 32) groups, the last one filled
//         up with u = 8.
//   q8_0  uint8_t[34] for each group, as ggml's blocks: the scale d, f16, then int8_t[32]: x = d * q. Like all
//         that follow, it may be at any address.
//   q4_0  uint8_t[18]: d, f16, then the 16 bytes of i4: x = d * (u - 8)
//   q4_1  uint8_t[20]: d and m, f16, then the same 16 bytes: x = d * u + m. For weights alone
//   q5_0, q5_1, iq4_nl, mxfp4  uint8_t[22], [24], [18] and [17] for each group, the last for weights alone: see base.h
//   q2_k to q6_k, iq4_xs, tq2_0  super-blocks of 256 elements, whose bytes the table has, for weights alone: see base.h
// Narrowing rounds to nearest, ties to even, and gives the same bits on every target (32-bit Arm flushes subnormal
// numbers first). Widening is exact but for the rounding of the product with a float scale, and of the sums in
// q4_1, q5_1, q2_k, q4_k and q5_k.
//   f16, bf16  what is too large becomes infinite; NaN becomes a quiet NaN.
//   i8         a row with a NaN or an infinity has the scale NaN, so that all of it reads as NaN; its codes are 0. No
//              scale is below 2^-126, nor so large that 127 times it is infinite.
//   i4         a group with a NaN or an infinity: the same. The scale has either sign: it is the best of a few by
//              squared error, or the largest f16. Elements outside the range of the codes get the nearest code.
//   q8_0       a group with a NaN or an infinity: the same. d is the largest magnitude / 127, rounded to f16, at
//              most the largest f16; codes are those of x / d.
//   q4_0       the scale and the codes of i4; of q5_0 and iq4_nl scale and codes are found in the same way.
//   q4_1, q5_1 m is the least element, d the range / the largest code, both limited to f16; codes are the nearest.
#ifndef FOVEA_SRC_FORMATS_FORMATS_H_
#define FOVEA_SRC_FORMATS_FORMATS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/status.h"

namespace fovea {

constexpr size_t kScaleGroup = 32;   // elements that share a scale, in formats whose groups have scales
constexpr size_t kSuperBlock = 256;  // elements of a super-block

// What has a scale of its own. A row's scale is a float. A row with scales of groups is stored as whole groups. kBlock:
// groups that begin with their scale, which ggml calls blocks. kSuper: super-blocks, whose groups have scales that are
// integers, and share what multiplies these.
enum class Scaled : uint8_t { kNothing, kRow, kGroup, kBlock, kSuper };

struct Format {
  fovea_dtype dtype;
  uint8_t unit_bytes;
  uint8_t group_bytes;  // of kScaleGroup elements; of kSuperBlock elements in super-blocks
  uint8_t head_bytes;   // of a block, before its codes
  uint8_t code_bias;    // how much codes exceed what a scale multiplies
  Scaled scaled;
  uint8_t scale_bytes;
  bool served;  // in this build
};

// In the order of fovea_dtype's values. Only the compiler reads it: questions at run time become a few comparisons, or a
// table of one of the numbers.
constexpr Format kFormats[] = {
    {FOVEA_F32, 4, 128, 0, 0, Scaled::kNothing, 0, true},
    {FOVEA_F16, 2, 64, 0, 0, Scaled::kNothing, 0, config::kF16},
    {FOVEA_BF16, 2, 64, 0, 0, Scaled::kNothing, 0, config::kBf16},
    {FOVEA_I8, 1, 32, 0, 0, Scaled::kRow, 4, config::kI8},
    {FOVEA_I4, 1, 16, 0, 8, Scaled::kGroup, 2, config::kI4},
    {FOVEA_Q8_0, 1, 34, 2, 0, Scaled::kBlock, 0, config::kGgml},
    {FOVEA_Q4_0, 1, 18, 2, 8, Scaled::kBlock, 0, config::kGgml},
    {FOVEA_Q4_1, 1, 20, 4, 0, Scaled::kBlock, 0, config::kGgml},
    {FOVEA_Q4_K, 1, 144, 0, 0, Scaled::kSuper, 0, config::kKQuants},
    {FOVEA_Q6_K, 1, 210, 0, 32, Scaled::kSuper, 0, config::kKQuants},
    {FOVEA_Q5_0, 1, 22, 6, 0, Scaled::kBlock, 0, config::kIq},
    {FOVEA_Q5_1, 1, 24, 8, 0, Scaled::kBlock, 0, config::kIq},
    {FOVEA_IQ4_NL, 1, 18, 2, 0, Scaled::kBlock, 0, config::kIq},
    {FOVEA_MXFP4, 1, 17, 1, 0, Scaled::kBlock, 0, config::kIq},
    {FOVEA_Q5_K, 1, 176, 0, 0, Scaled::kSuper, 0, config::kIq},
    {FOVEA_IQ4_XS, 1, 136, 0, 0, Scaled::kSuper, 0, config::kIq},
    {FOVEA_TQ2_0, 1, 66, 0, 0, Scaled::kSuper, 0, config::kIq},
    {FOVEA_Q3_K, 1, 110, 0, 4, Scaled::kSuper, 0, config::kIq},
    {FOVEA_Q2_K, 1, 84, 0, 0, Scaled::kSuper, 0, config::kIq},
};
constexpr uint32_t kFormatCount = sizeof kFormats / sizeof kFormats[0];

constexpr const Format& format_of(fovea_dtype dtype) { return kFormats[dtype]; }
constexpr bool is_grouped(const Format& f) { return f.scaled >= Scaled::kGroup; }

// ----------------------------------------------------------------------------------------------- sets of formats

// Bit n stands for the format whose fovea_dtype is n.
using FormatSet = uint32_t;

template <class Condition>
constexpr FormatSet formats_where(const Condition& condition) {
  FormatSet set = 0;
  for (const Format& format : kFormats) {
    if (format.served && condition(format)) set |= FormatSet{1} << format.dtype;
  }
  return set;
}

constexpr FormatSet kServedFormats = formats_where([](const Format&) { return true; });
// The formats of queries, outputs, masks and new tokens of a cache.
constexpr FormatSet kUnscaledFormats = formats_where([](const Format& f) { return f.scaled == Scaled::kNothing; });
constexpr FormatSet kRowScaledFormats = formats_where([](const Format& f) { return f.scaled == Scaled::kRow; });
constexpr FormatSet kGroupScaledFormats = formats_where([](const Format& f) { return f.scaled == Scaled::kGroup; });
constexpr FormatSet kGroupedFormats = formats_where(is_grouped);
constexpr FormatSet kSuperFormats = formats_where([](const Format& f) { return f.scaled == Scaled::kSuper; });
// The formats of keys and values, in any build and in this one. Linear weights may have any format.
constexpr FormatSet kEveryKeyFormat = ((FormatSet{2} << FOVEA_Q4_0) - 1) | FormatSet{1} << FOVEA_Q5_0 |
                                      FormatSet{1} << FOVEA_Q5_1 | FormatSet{1} << FOVEA_IQ4_NL;
constexpr FormatSet kKeyFormats = kServedFormats & kEveryKeyFormat;
// Those that rows of floats may be converted to.
constexpr FormatSet kWrittenFormats = kServedFormats & (kEveryKeyFormat | FormatSet{1} << FOVEA_Q4_1);
// Those whose elements are sums of a product and a least number.
constexpr FormatSet kLeastFormats =
    kServedFormats & (FormatSet{1} << FOVEA_Q4_1 | FormatSet{1} << FOVEA_Q4_K | FormatSet{1} << FOVEA_Q5_1 |
                      FormatSet{1} << FOVEA_Q5_K | FormatSet{1} << FOVEA_Q2_K);
// Those whose codes become bytes before anything else: see ground/formats/block_codes.inl.
constexpr FormatSet kByteFormats = kServedFormats & (FormatSet{1} << FOVEA_Q5_0 | FormatSet{1} << FOVEA_Q5_1 |
                                                     FormatSet{1} << FOVEA_IQ4_NL | FormatSet{1} << FOVEA_MXFP4);
// Super-blocks with a scale for each 16 elements.
constexpr FormatSet kHalfFormats =
    kServedFormats & (FormatSet{1} << FOVEA_Q6_K | FormatSet{1} << FOVEA_Q3_K | FormatSet{1} << FOVEA_Q2_K);
// Groups whose codes are bytes, or become them, of either sign.
constexpr FormatSet kSignedFormats = kServedFormats & (FormatSet{1} << FOVEA_Q8_0 | (kByteFormats & ~kLeastFormats) |
                                                       FormatSet{1} << FOVEA_IQ4_XS | FormatSet{1} << FOVEA_TQ2_0);
constexpr FormatSet kScaledKeyFormats = kKeyFormats & ~kUnscaledFormats;
constexpr FormatSet kOnlyF32 = FormatSet{1} << FOVEA_F32;

constexpr bool contains(FormatSet set, fovea_dtype dtype) { return (set >> dtype & 1) != 0; }
constexpr fovea_dtype first_of(FormatSet set) { return fovea_dtype(__builtin_ctz(set)); }
constexpr fovea_dtype last_of(FormatSet set) { return fovea_dtype(31 - __builtin_clz(set)); }

template <FormatSet kSet>
constexpr bool is_one_of(fovea_dtype dtype) {
  if constexpr (kSet == 0) {
    return false;
  } else {
    constexpr uint32_t kFirst = first_of(kSet), kMore = last_of(kSet) - kFirst;
    constexpr bool kAdjacent = kSet >> kFirst == (FormatSet{2} << kMore) - 1;
    return kAdjacent ? dtype - kFirst <= kMore : contains(kSet, dtype);
  }
}

// How many formats of the set have a number that none before them has.
template <uint8_t Format::* kNumber>
constexpr int different(FormatSet set) {
  int count = 0;
  for (const Format& f : kFormats) {
    const auto same = [&f](const Format& other) { return other.*kNumber == f.*kNumber; };
    if (contains(set, f.dtype)) count += first_of(set & formats_where(same)) == f.dtype;
  }
  return count;
}
template <uint8_t Format::* kNumber>
struct NumberTable {
  uint8_t of[kFormatCount] = {};
  constexpr NumberTable() {
    for (const Format& f : kFormats) of[f.dtype] = f.*kNumber;
  }
};
template <uint8_t Format::* kNumber>
inline constexpr NumberTable<kNumber> kNumbersOf;

// A number from the table, for a served format of the set. 0 if there is none.
template <uint8_t Format::* kNumber, FormatSet kSet = kServedFormats>
constexpr size_t number_of(fovea_dtype dtype) {
  constexpr FormatSet kServed = kSet & kServedFormats;
  if constexpr (kServed == 0) {
    return 0;
  } else if constexpr (different<kNumber>(kServed) > 4) {
    return kNumbersOf<kNumber>.of[dtype];
  } else {
    constexpr uint8_t kFirst = format_of(first_of(kServed)).*kNumber;
    constexpr FormatSet kSame = kServed & formats_where([](const Format& f) { return f.*kNumber == kFirst; });
    return kSame == kServed || is_one_of<kSame>(dtype) ? kFirst : number_of < kNumber, kServed & ~kSame > (dtype);
  }
}

// ----------------------------------------------------------------------------------------- questions at run time

// Whether a number is a value of the enum. The functions below require one.
constexpr bool is_dtype(fovea_dtype dtype) { return uint32_t(dtype) < kFormatCount; }

constexpr bool format_served(fovea_dtype dtype) { return is_one_of<kServedFormats>(dtype); }
// The status for a format that rows do not have here: in this build, or in any, where it has all of `every`.
template <FormatSet every = (FormatSet{2} << FOVEA_BF16) - 1>
inline fovea_status unserved(fovea_dtype dtype) {
  constexpr bool kHasAll = (kServedFormats & every) == every;
  return kHasAll || format_served(dtype) ? FOVEA_ERR_UNSUPPORTED : FOVEA_ERR_LEFT_OUT;
}
constexpr bool is_key_format(fovea_dtype dtype) { return is_one_of<kKeyFormats>(dtype); }
constexpr bool is_unscaled(fovea_dtype dtype) { return is_one_of<kUnscaledFormats>(dtype); }
// Requires a format of the set. A constant if the set has f32 alone.
template <FormatSet kSet = kServedFormats>
constexpr bool is_f32(fovea_dtype dtype) {
  return kSet == kOnlyF32 || dtype == FOVEA_F32;
}

// Elements that share a scale, in formats whose groups have scales.
constexpr size_t scale_step(fovea_dtype dtype) {
  return is_one_of<kHalfFormats>(dtype) ? kScaleGroup / 2 : kScaleGroup;
}

// These require a format that is served.
constexpr size_t unit_bytes(fovea_dtype dtype) { return number_of<&Format::unit_bytes>(dtype); }
constexpr size_t unscaled_bytes(fovea_dtype dtype) { return number_of<&Format::unit_bytes, kUnscaledFormats>(dtype); }
constexpr size_t scale_bytes(fovea_dtype dtype) { return number_of<&Format::scale_bytes>(dtype); }  // 0: no scale

// Units of a row, and its scales: the strides of adjacent rows.
constexpr size_t groups_of(size_t dim) { return dim / kScaleGroup + (dim % kScaleGroup != 0); }
constexpr size_t dense_stride(fovea_dtype dtype, size_t dim) {
  if (!is_one_of<kGroupedFormats>(dtype)) return dim;
  const size_t groups = is_one_of<kSuperFormats>(dtype) ? dim / kSuperBlock + (dim % kSuperBlock != 0) : groups_of(dim);
  return groups * number_of<&Format::group_bytes, kGroupedFormats>(dtype);
}
constexpr size_t dense_scale_stride(fovea_dtype dtype, size_t dim) {
  return is_one_of<kRowScaledFormats>(dtype) ? 1 : is_one_of<kGroupScaledFormats>(dtype) ? groups_of(dim) : 0;
}

constexpr bool table_holds() {
  for (uint32_t i = 0; i < kFormatCount; ++i) {
    const Format& f = kFormats[i];
    if (f.dtype != fovea_dtype(i)) return false;
    if (f.unit_bytes != (is_grouped(f) ? 1 : f.group_bytes / kScaleGroup)) return false;
    if (f.scaled == Scaled::kRow && f.scale_bytes != sizeof(float)) return false;
  }
  return true;
}
static_assert(table_holds(), "a format is at its fovea_dtype, and has the units and scales that the rest reckons with");

constexpr fovea_dtype number_or_last(uint32_t number, FormatSet set) {
  return contains(set, fovea_dtype(number)) ? fovea_dtype(number) : last_of(set);
}

// Returns an expression in which kType is the format `dtype`, one of the set. The expression is compiled only for
// formats of the set, and the last of them needs no test.
#define FOVEA_WITH_FORMAT(set, dtype, ...)      \
  FOVEA_IF_FORMAT_(0, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(1, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(2, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(3, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(4, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(5, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(6, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(7, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(8, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(9, set, dtype, __VA_ARGS__)  \
  FOVEA_IF_FORMAT_(10, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(11, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(12, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(13, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(14, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(15, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(16, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(17, set, dtype, __VA_ARGS__) \
  FOVEA_IF_FORMAT_(18, set, dtype, __VA_ARGS__)
// Outside templates the compiler also checks the branches that it drops: there, too, kType is a format of the set.
#define FOVEA_IF_FORMAT_(number, set, dtype, ...)                                                 \
  if constexpr (constexpr auto kType = ::fovea::number_or_last(number, set); kType == (number)) { \
    if (kType == ::fovea::last_of(set) || (dtype) == kType) return __VA_ARGS__;                   \
  }
static_assert(kFormatCount <= 19, "FOVEA_WITH_FORMAT tries 19 formats");

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_FORMATS_H_
