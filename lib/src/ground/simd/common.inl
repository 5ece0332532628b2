// SPDX-License-Identifier: Apache-2.0
//
// What every kernel file begins with: the vectors of this target. Included inside the target's namespace, after its
// backend header.

using hn::kF;
using hn::kI;
using hn::kLanes;
using hn::MF;
using hn::VF;
using hn::VI;

static_assert(kLanes <= FOVEA_LANES_MAX_ && kLanes * hn::kBlockVectors <= FOVEA_TILE_ROWS_MAX,
              "the macros of fovea.h assume tiles of at most this many rows");

#if FOVEA_FOR_SCALAR
static_assert(kLanes == FOVEA_SIMD_LANES, "FOVEA_SIMD_LANES must be the kLanes of FOVEA_SIMD_HEADER");
static_assert(hn::kBlockVectors <= (kLanes == 1 ? 4 : 3), "tiles have at most this many vectors");
#endif
constexpr bool kSizeCounts = ::fovea::config::kPreferSize;
// A target that is there to run where the build's better ones do not takes texts for size, too: it compiles in half the
// time. Those that would take it more than a tenth of its speed ask kSizeCounts.
constexpr bool kSmallText = kSizeCounts || FOVEA_STANDS_IN;
// How many are taken at a time: n for speed, else one.
constexpr int AtOnce(int n) { return kSmallText ? 1 : n; }
// Whether n <= kLanes elements are a whole vector. Where size counts, one text serves all n.
FOVEA_INLINE bool IsVector(size_t n) { return !kSmallText && n == kLanes; }

// The number of elements of a vector that begins with element i of a row that ends before element `end`.
FOVEA_INLINE size_t LanesBefore(size_t i, size_t end) { return end <= i ? 0 : end - i < kLanes ? end - i : kLanes; }
// The first n <= kLanes elements at p.
FOVEA_INLINE VF LoadUpTo(const float* p, size_t n) { return IsVector(n) ? hn::LoadU(kF, p) : hn::LoadN(kF, p, n); }
FOVEA_INLINE void StoreUpTo(VF v, float* p, size_t n) {
  if (IsVector(n)) return hn::StoreU(v, kF, p);
  hn::StoreN(v, kF, p, n);
}

// Sets all vectors of an array, which may be one of arrays.
template <class V>
FOVEA_INLINE void SetAll(V& v, V x) {
  v = x;
}
template <class Array, size_t n, class V>
FOVEA_INLINE void SetAll(Array (&v)[n], V x) {
  FOVEA_EACH(i, n) SetAll(v[i], x);
}

// The sum or maximum of all lanes, in all lanes. Each step adds lanes that are half the vector apart.
template <bool kMax, int kStep = int(kLanes) / 2>
FOVEA_INLINE VF OverLanes(VF v) {
  if constexpr (kStep == 0) {
    return v;
  } else {
    const VF other = hn::SwapLanes<kStep>(v);
    return OverLanes<kMax, kStep / 2>(kMax ? hn::Max(v, other) : hn::Add(v, other));
  }
}

constexpr size_t kCacheLine = 64;  // bytes
// With 4 lanes arithmetic takes longer than memory does.
constexpr bool kAsksAhead = kLanes > 4;
// Asks for what is read later, in the order of addresses, which a processor's own prefetcher expects.
struct Ahead {
  uintptr_t at;  // may be past the end of an array: that does no harm

  FOVEA_INLINE Ahead From(const void* p, uintptr_t bytes = 0) { return {reinterpret_cast<uintptr_t>(p) + bytes}; }
  // The next kBytes, into the cache of the level: 1 or 2.
  template <size_t kBytes, int kLevel>
  FOVEA_MEMBER void Ask(size_t further = 0) const {
    FOVEA_UNROLL(16)
    for (size_t i = 0; kAsksAhead && i < kBytes; i += kCacheLine) {
      __builtin_prefetch(reinterpret_cast<const void*>(at + further + i), 0, 4 - kLevel);
    }
  }
  template <size_t kBytes>
  FOVEA_MEMBER void Next() {
    Ask<kBytes, 2>();
    at += kBytes;
  }
  // Any number of bytes at once.
  FOVEA_MEMBER void AskAll(size_t bytes) const {
    for (size_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(reinterpret_cast<const void*>(at + i), 0, 3);
  }
};
// 1.5 * 2^23. Adding it rounds a float of magnitude up to 2^22 to an integer, which the low bits of the sum hold.
constexpr float kRoundingBias = 12582912.0f;
constexpr float kInfinity = __builtin_inff();
constexpr float kLowest = -3.40282347e38f;  // -FLT_MAX

// Whether positions may hide some of the keys that a vector of rows reads. For one row alone these are keys before a
// window, and keys that are read for other rows when scores are written.
constexpr bool kEdgeHides =
    kLanes > 1 || ::fovea::config::kWindows || ::fovea::config::kRing || ::fovea::config::kScores;
constexpr bool kMayHide = kEdgeHides || ::fovea::config::kMask;
