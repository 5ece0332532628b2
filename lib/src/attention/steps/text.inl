// SPDX-License-Identifier: Apache-2.0
//
// The steps around the products: tables of functions, kTileSteps and kFewSteps.

#include "math/math.inl"
#include "math/philox.inl"
#include "attention/steps/modifier.inl"
#include "attention/steps/score_steps.inl"
#include "attention/steps/dropout.inl"
#include "attention/steps/outputs.inl"
#include "attention/steps/stream.inl"
#include "attention/steps/key_mass.inl"
#include "attention/steps/tile_steps.inl"
#if FOVEA_FOR_ONE_LANE  // with one lane the tile kernel has no empty lanes
constexpr StepKernels kFewSteps = {};
#else
#include "attention/few_block.inl"
#include "attention/steps/few_stream.inl"
#include "attention/steps/few_key_mass.inl"
#include "attention/steps/few_steps.inl"
#endif
