// SPDX-License-Identifier: Apache-2.0
//
// key_mass.inl for the few-rows kernels: a vector has adjacent keys of each row.

FOVEA_KERNEL void FewKeepWeights(const QueryTile& t, const KeyTile& keys, const float* weights, size_t column) {
  const uint32_t at_once = t.row_lanes;  // keys of a vector
  KeepVectors(t, keys, weights, 0, (keys.end - keys.begin + at_once - 1) / at_once, column);
}

// The sum over the rows of each key.
template <int kKeys, int kStep = kLanes / 2>
FOVEA_INLINE VF SumOfRows(VF v) {
  if constexpr (kStep < kKeys) {
    return v;
  } else {
    return SumOfRows<kKeys, kStep / 2>(hn::Add(v, hn::SwapLanes<kStep>(v)));
  }
}

template <int kRows>
FOVEA_TEMPLATE void FewAddMassOf(const QueryTile& t, float* mass) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  ForEachSlot(t, [&](const KeptKeys& keys, const float* weights, const float* factors) {
    const VF factor = hn::LoadU(kF, factors), lane = hn::Iota(kF, 0.0f);
    for (uint32_t j = keys.begin; j < keys.end; j += kLanes) {
      const uint32_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
      VF sums = hn::Zero(kF);
      FOVEA_UNROLL(4)
      for (uint32_t done = 0; done < kLanes; done += kKeys) {  // each vector has the sums of kKeys keys
        if (done >= n) continue;
        const VF some = SumOfRows<kKeys>(hn::Mul(hn::LoadU(kF, weights), factor));
        sums = kKeys == kLanes ? some : hn::IfThenElse(hn::Lt(lane, hn::Set(kF, float(done))), sums, some);
        weights += kLanes;
      }
      AddToMass(mass + keys.first + j, n, sums);
    }
  });
}

FOVEA_KERNEL void FewAddMass(const QueryTile& t, float* mass) {
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewAddMassOf<1>(t, mass);
  if (rows == 2) return FewAddMassOf<2>(t, mass);
  if constexpr (kLanes > 4) FewAddMassOf<4>(t, mass);  // with 4 lanes, 4 rows fill the tile kernel
}
