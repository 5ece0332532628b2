// SPDX-License-Identifier: Apache-2.0
//
// What a call asks of the steps around the products, if it is compiled in.
#ifndef FOVEA_SRC_ATTENTION_STEPS_ASKED_INL_
#define FOVEA_SRC_ATTENTION_STEPS_ASKED_INL_

// Whether the steps have an Exp2 in any case.
constexpr bool kStepsHaveExp2 = config::kScores || config::kStates;
FOVEA_INLINE bool ModifiesScores(const ScoreSteps& steps) {
  return config::kModifiers && steps.modifier->modifier && steps.modifier->modifier->score_mod;
}
FOVEA_INLINE bool InMeasuringPass(const ScoreSteps& steps) {
  return config::kModifiers && steps.modifier->pass == kMeasuringPass;
}
FOVEA_INLINE bool InWeighingPass(const ScoreSteps& steps) {
  return config::kModifiers && steps.modifier->pass == kWeighingPass;
}
FOVEA_INLINE bool Drops(const ScoreSteps& steps) { return config::kDropout && steps.dropout->probability > 0.0f; }
FOVEA_INLINE bool Keeps(const KeyTile& keys) { return config::kKeyMass && *keys.kept; }
FOVEA_INLINE bool Shifted(const ScoreSteps& steps) { return kHasI8Tensors && steps.shifted; }
FOVEA_INLINE bool Capped(const ScoreSteps& steps) { return config::kSoftcap && steps.softcap->cap > 0.0f; }
FOVEA_INLINE bool Biased(const ScoreSteps& steps) { return config::kAlibi && steps.alibi; }
FOVEA_INLINE bool Masked(const KeySpan& keys, const ScoreSteps& steps) {
  return config::kMask && steps.mask->kind != FOVEA_MASK_NONE && (!config::kBlockMaps || keys.masked);
}
// False: a byte mask, which hides keys where it is 0.
FOVEA_INLINE bool MaskAdds(const ScoreSteps& steps) {
  return config::kMaskF32 && (!config::kMaskByte || steps.mask->kind != FOVEA_MASK_BYTE);
}
FOVEA_INLINE bool AtEdge(const KeyTile& keys) { return kEdgeHides && keys.edge; }
FOVEA_INLINE bool Hides(const KeyTile& keys, const ScoreSteps& steps) { return AtEdge(keys) || Masked(keys, steps); }
FOVEA_INLINE bool AnyStep(const KeyTile& keys, const ScoreSteps& steps) {
  return Shifted(steps) || Capped(steps) || Biased(steps) || ModifiesScores(steps) || Hides(keys, steps);
}

#endif  // FOVEA_SRC_ATTENTION_STEPS_ASKED_INL_
