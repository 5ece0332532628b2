// SPDX-License-Identifier: Apache-2.0
//
// Brings the rows of keys and values to where the integer products read them.
#ifndef FOVEA_SRC_ATTENTION_I8_BRING_INL_
#define FOVEA_SRC_ATTENTION_I8_BRING_INL_

#include "core/attention/i8/rows.inl"
#include "core/attention/i8/widen_groups.inl"
#include "core/attention/tile_kernel.inl"

// Limits the stack of BringWidened.
constexpr uint32_t kMostWidened = 256;

// Instructions whose codes have other places have theirs by their kind.
template <class Dot, DotKind kKind = Dot::kKind>
struct I8Bring {
  using Rows = CodedRows<Dot>;
  template <fovea_dtype kType>
  using Row = typename Rows::template Row<kType>;
  using RowCode = typename Dot::RowCode;
  static constexpr size_t kGroup = Dot::kGroup, kReads = Dot::kReads;

  // Widens rows of groups to rows of i8 in a buffer, at most kAtOnce at a time, and has kBring bring these to r.to,
  // where rows are row_bytes apart. False if these rows cannot be widened so.
  template <fovea_dtype kType, BringRows* kBring>
  FOVEA_CALLED_TEMPLATE bool BringWidened(const RowsToBring& r, size_t row_bytes) {
    constexpr uint32_t kAtOnce = kGroup > kWidenedAtOnce ? kGroup : kWidenedAtOnce;
    if (!WidensGroups<kType>(r.dim) || r.dim > kMostWidened || r.elements != r.dim) return false;
    uint8_t bytes[kAtOnce * kMostWidened];
    float scales[kKeyTile + kWidenedAtOnce];
    RowsToBring part = r;
    for (uint32_t i = 0; i < r.count; i += part.count) {
      const uint32_t left = r.count - i, room = kAtOnce - (r.at + i) % kAtOnce;
      part.count = room < left ? room : left;
      const auto* const data = static_cast<const uint8_t*>(r.rows.data) + ptrdiff_t(i) * r.rows.stride;
      const auto* const group_scales =
          static_cast<const uint16_t*>(*r.rows.scales) + ptrdiff_t(i) * r.rows.scale_stride;
      WidenGroups<kType>({data, group_scales, r.rows.stride, r.rows.scale_stride, kType}, part.count, r.dim, bytes,
                         r.dim, scales);
      part.rows = {bytes, scales, ptrdiff_t(r.dim), 1, FOVEA_I8};
      part.at = r.at + i;
      part.to = static_cast<char*>(r.to) + i * row_bytes;
      kBring(part);
    }
    return true;
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void PutKey(const Row<kType>& row, size_t dim, size_t padded, RowCode* to) {
    if constexpr (kType == FOVEA_I8 && Dot::kWidensRows) return Dot::WidenRow(row.row.data, dim, to);
    for (size_t d = 0; d < padded; d += kLanes) {
      const size_t n = d >= dim ? 0 : dim - d < kLanes ? dim - d : kLanes;
      Dot::StoreCodes(row.Codes(d, n), to + d, padded - d < kLanes ? padded - d : kLanes);
    }
  }

  // Called where size counts: rows of i8 and rows of groups do not share a frame.
  template <fovea_dtype kType>
  FOVEA_SHARED_TEMPLATE void BringKeysOf(const RowsToBring& r) {
    const size_t padded = round_up(r.dim, kReads);
    if constexpr (Rows::template kAlone<kType> && kGrouped<kType>) {
      if (BringWidened<kType, BringKeysOf<FOVEA_I8>>(r, padded * sizeof(RowCode))) return;
    }
    RowCode* to = static_cast<RowCode*>(r.to);
    const float* const scales = ScalesTogether<kType>(r);
    if (scales) NoteKeyScales(r, scales);
    if (scales && !to && !Dot::kUnsignedQueries) return;
    for (uint32_t i = 0; i < r.count; ++i) {
      const Row<kType> row = Rows::template CodedRowOf<kType>(r, i);
      if (!scales) NoteKeyScale(r, r.at + i, row.Scale());
      [[maybe_unused]] const RowCode* codes = to;
      if (!r.to) codes = static_cast<const RowCode*>(r.rows.data) + ptrdiff_t(i) * r.rows.stride;
      if (r.to) PutKey(row, r.dim, padded, to);
      if (r.to) to += padded;
      if constexpr (Dot::kUnsignedQueries) r.numbers->key_start[r.at + i] = Dot::StartOfKey(codes, r.dim);
    }
  }
  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void BringKeys(const RowsToBring& r) {
    FOVEA_WITH_FORMAT(Rows::kCodedTexts, r.rows.dtype, BringKeysOf<kType>(r));
  }

  // Called before the first rows of a key tile are brought: clears what attend reads in addition to the rows.
  FOVEA_INLINE void BeginValues(const RowsToBring& r, size_t padded) {
    RowCode* const to = static_cast<RowCode*>(r.to);
    const uint32_t first = r.begin / kGroup, last = (r.end - 1) / kGroup;
    if (r.element == 0) BeginValueScales(r);
    const auto zero = [&](uint32_t group, size_t element) {
      __builtin_memset(to + (group * padded + element) * kGroup, 0, (padded - element) * kGroup * sizeof *to);
    };
    if (r.begin % kGroup != 0) zero(first, 0);
    if (r.end % kGroup != 0) zero(last, 0);
    for (uint32_t g = first; r.elements < padded && g <= last; ++g) zero(g, r.elements);
    for (size_t e = 0; Dot::kSignedWeights && e < padded; ++e) r.numbers->value_start[e] = 0;
  }

  // Stores the codes of one row at its key's place in its group of keys.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutValue(const Row<kType>& row, const RowsToBring& r, uint32_t key, size_t e, size_t padded) {
    RowCode* to = static_cast<RowCode*>(r.to) + key / kGroup * padded * kGroup + key % kGroup;
    for (; e < r.elements; e += kLanes) {
      const size_t n = r.elements - e < kLanes ? r.elements - e : kLanes;
      const VF codes = row.Codes(r.element + e, n);
      if constexpr (kGroup == 1) {
        Dot::StoreCodes(codes, to + e, n);
      } else {
        RowCode lanes[kLanes];
        Dot::StoreCodes(codes, lanes, kLanes);
        for (size_t i = 0; i < n; ++i) {
          to[(e + i) * kGroup] = lanes[i];
          if constexpr (Dot::kSignedWeights) r.numbers->value_start[e + i] += 128 * lanes[i];
        }
      }
    }
  }

  // Stores the codes of kGroup rows of i8, from row i on, interleaved. Returns how many elements of each row it stored.
  FOVEA_INLINE size_t PutGroup(const RowsToBring& r, uint32_t i, size_t padded) {
    const int8_t* row[kGroup];
    FOVEA_EACH(k, kGroup) {
      row[k] = static_cast<const int8_t*>(r.rows.data) + ptrdiff_t(i + k) * r.rows.stride + r.element;
    }
    RowCode* const to = static_cast<RowCode*>(r.to) + (r.at + i) * padded;
    return Dot::PackGroup(row, r.elements, to, r.numbers->value_start);
  }

  static constexpr bool kPacksGroups = kGroup > 1 || sizeof(RowCode) == 1;
  template <fovea_dtype kType>
  FOVEA_SHARED_TEMPLATE void BringValuesOf(const RowsToBring& r) {
    if constexpr (Rows::template kAlone<kType> && kGrouped<kType>) {
      if (BringWidened<kType, BringValuesOf<FOVEA_I8>>(r, 0)) return;
    }
    const size_t padded = padded_values(r.elements);
    if (r.at == r.begin) BeginValues(r, padded);
    const float* const scales = ScalesTogether<kType>(r);
    if (scales) Rows::NoteValueScales(r, scales);
    for (uint32_t i = 0; i < r.count;) {
      const bool grouped = kType == FOVEA_I8 && kPacksGroups && (r.at + i) % kGroup == 0 && r.count - i >= kGroup;
      const size_t done = grouped ? PutGroup(r, i, padded) : 0;
      if (scales && done == r.elements) {
        i += kGroup;
        continue;
      }
      for (const uint32_t end = uint32_t(i + (grouped ? kGroup : 1)); i < end; ++i) {
        const Row<kType> row = Rows::template CodedRowOf<kType>(r, i);
        if (!scales) NoteValueScale(r, r.at + i, row.Scale());
        PutValue(row, r, r.at + i, done, padded);
      }
    }
  }
  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void BringValues(const RowsToBring& r) {
    FOVEA_WITH_FORMAT(Rows::kCodedTexts, r.rows.dtype, BringValuesOf<kType>(r));
  }
};

// Brings rows for the few-rows kernels.
template <class Dot>
struct I8FewBring {
  using Rows = CodedRows<Dot>;

  // Stores rows as rows of i8 in a buffer, if there is one: for rows that are not adjacent or not of i8. Others stay
  // where they are. Returns the scales of the rows, which may be stored at `scales`.
  template <fovea_dtype kType>
  FOVEA_SHARED_TEMPLATE const float* FewBringRows(const RowsToBring& r, float* scales) {
    if (!r.to && r.rows.scale_stride == 1) return static_cast<const float*>(*r.rows.scales);
    if constexpr (Rows::template kAlone<kType> && kGrouped<kType>) {
      if (WidensGroups<kType>(r.dim)) {
        WidenGroups<kType>(r.rows, r.count, r.dim, static_cast<uint8_t*>(r.to), r.dim, scales);
        return scales;
      }
    }
    for (uint32_t i = 0; i < r.count; ++i) {
      const auto row = Rows::template CodedRowOf<kType>(r, i);
      scales[i] = row.Scale();
      if (!r.to) continue;
      uint8_t* const to = static_cast<uint8_t*>(r.to) + i * r.dim;
      for (size_t d = 0; d < r.dim; d += kLanes) {
        const size_t n = r.dim - d < kLanes ? r.dim - d : kLanes;
        hn::StoreU8N(hn::BitCast(kI, hn::Add(row.Codes(d, n), hn::Set(kF, kRoundingBias))), to + d, n);
      }
    }
    return scales;
  }

  // Brings rows and calls note(scales). The scales are already where they are to be noted, which saves stack; unless
  // WidenGroups widens the rows, because it stores more scales than there are rows.
  template <fovea_dtype kType, class Note>
  FOVEA_INLINE void FewBring(const RowsToBring& r, float* scales, const Note& note) {
    if constexpr (Rows::template kAlone<kType> && WidensGroups<kType>(kScaleGroup)) {
      float room[kKeyTile + kWidenedAtOnce];
      note(FewBringRows<kType>(r, room));
    } else {
      note(FewBringRows<kType>(r, scales));
    }
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void FewBringKeysOf(const RowsToBring& r) {
    FewBring<kType>(r, r.numbers->key_scale + r.at,
                    [&](const float* scales) __attribute__((always_inline)) { NoteKeyScales(r, scales); });
  }
  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void FewBringKeys(const RowsToBring& r) {
    FOVEA_WITH_FORMAT(Rows::kCodedTexts, r.rows.dtype, FewBringKeysOf<kType>(r));
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void FewBringValuesOf(const RowsToBring& r) {
    FewBring<kType>(r, r.numbers->value_scale + r.at, [&](const float* scales) __attribute__((always_inline)) {
      if (r.at == r.begin) BeginValueScales(r);
      Rows::NoteValueScales(r, scales);
    });
  }
  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void FewBringValues(const RowsToBring& r) {
    FOVEA_WITH_FORMAT(Rows::kCodedTexts, r.rows.dtype, FewBringValuesOf<kType>(r));
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_BRING_INL_
