// SPDX-License-Identifier: Apache-2.0
//
// Words for codes as bytes, several at once: in a vector of the compiler, or on a target without vectors in an integer.
#ifndef FOVEA_SRC_SIMD_CODE_WORDS_INL_
#define FOVEA_SRC_SIMD_CODE_WORDS_INL_

#if FOVEA_FOR_SCALAR
using CodeWord = size_t;
#else
typedef uint32_t CodeWord __attribute__((vector_size(16)));
#endif
template <class Word = CodeWord>
FOVEA_INLINE Word CodesAt(const uint8_t* p) {
  Word word;
  __builtin_memcpy(&word, p, sizeof word);
  return word;
}
// Four equal bytes, in each four bytes of a word.
constexpr auto FourBytes(uint32_t byte) {
#if FOVEA_FOR_SCALAR
  return size_t(byte) * (SIZE_MAX / 255);
#else
  return byte * 0x01010101u;
#endif
}

// Bits 2 quarter and 2 quarter + 1 of each byte, as bits 4 and 5; its other bits may be anything.
FOVEA_INLINE CodeWord PairsAt(CodeWord pairs, uint32_t quarter) {
#if FOVEA_FOR_SCALAR
  constexpr uint32_t kBits = 8 * sizeof pairs;
  const uint32_t right = (2 * quarter + kBits - 4) % kBits;  // a rotation
  return pairs >> right | pairs << (kBits - right) % kBits;
#else
  return pairs >> (2 * quarter) << 4;
#endif
}

// Bytes of 0 to 127 minus kLess.
template <uint32_t kLess, class Word>
FOVEA_INLINE Word Lessened(Word codes) {
#if FOVEA_FOR_SCALAR
  return (codes + FourBytes(128 - kLess)) ^ FourBytes(128);  // no byte carries into the next
#else
  typedef uint8_t Bytes __attribute__((vector_size(sizeof(Word))));
  return Word(Bytes(codes) - uint8_t{kLess});
#endif
}

// A word for more codes, where vectors are wide.
typedef uint32_t RunVector __attribute__((vector_size(kLanes >= 8 ? 32 : 16)));
typedef uint8_t RunBytes __attribute__((vector_size(sizeof(RunVector))));
#if FOVEA_FOR_SCALAR
using RunWord = CodeWord;
#else
using RunWord = RunVector;
#endif
// Where a word has 32 bytes: 16 bytes, and again.
FOVEA_INLINE RunVector SixteenTwice(const uint8_t* p) {
#if FOVEA_X86_LANES > 4 && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)  // one instruction: words from memory that was stored in parts are late
  const auto sixteen = CodesAt<CodeWord>(p);
  return __builtin_shufflevector(sixteen, sixteen, 0, 1, 2, 3, 0, 1, 2, 3);
#endif
#endif
  RunVector twice;
  for (size_t i = 0; i < sizeof twice; i += 16) __builtin_memcpy(reinterpret_cast<char*>(&twice) + i, p, 16);
  return twice;
}
// Bytes of a table that others name, each 0 to 15. Each 16 bytes have a copy of the table.
FOVEA_INLINE RunBytes PickBytes(RunBytes table, RunBytes at) {
#if FOVEA_X86_LANES == 16
  typedef char Chars __attribute__((vector_size(32)));
  return RunBytes(__builtin_ia32_pshufb256(Chars(table), Chars(at)));
#elif defined(FOVEA_HAS_BLOCKS)
  VI all{}, places{};
  static_assert(sizeof all >= sizeof table, "a word is a vector, or half of one");
  __builtin_memcpy(&all, &table, sizeof table);
  __builtin_memcpy(&places, &at, sizeof table);
  all = hn::LookUp(all, places);
  __builtin_memcpy(&table, &all, sizeof table);
#else
  const RunBytes from = table;
  for (size_t i = 0; i < sizeof table; ++i) table[i] = from[i / 16 * 16 + at[i]];
#endif
  return table;
}

// Codes of six bits: what an instruction that inserts shifted bits takes two of, takes four without it.
#if defined(__ARM_NEON)
template <int kQuarter>
FOVEA_INLINE CodeWord SixBits(CodeWord nibbles, CodeWord pairs) {
  uint8x16_t high = uint8x16_t(pairs);
  if constexpr (kQuarter % 2 != 0) high = vshrq_n_u8(high, 2);
  high = vandq_u8(high, vdupq_n_u8(0x33));  // serves another quarter, too
  const auto low = uint8x16_t(nibbles);
  return CodeWord(kQuarter < 2 ? vsliq_n_u8(low, high, 4) : vsriq_n_u8(high, low, 4));
}
#else
template <int kQuarter, class Word>
FOVEA_INLINE Word SixBits(Word nibbles, Word pairs) {
  if constexpr (kQuarter < 2) pairs = pairs << (4 - 2 * kQuarter);
  if constexpr (kQuarter == 3) pairs = pairs >> 2;
  if constexpr (kQuarter >= 2) nibbles = nibbles >> 4;
  return (nibbles & FourBytes(15)) | (pairs & FourBytes(0x30));
}
#endif

#endif  // FOVEA_SRC_SIMD_CODE_WORDS_INL_
