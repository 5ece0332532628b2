// SPDX-License-Identifier: Apache-2.0
//
// The options of g++ for a file of kernels, which includes this before all that is compiled with them. A file whose
// register blocks use all registers, and load in the order of the text, defines FOVEA_FILLS_REGISTERS: if the loads are
// rescheduled, sums are spilled.
#include "ground/simd/macros.h"
#include "ground/targets/compiled.h"

#if FOVEA_FOR_HELIUM
// With 8 vector registers g++ 12 spills what its schedulers load ahead, and copies pointers to use increments.
FOVEA_GNU_OPTIONS("no-auto-inc-dec", "no-schedule-insns", "no-schedule-insns2")
#elif defined(FOVEA_FILLS_REGISTERS) && (FOVEA_FOR_NEON || (FOVEA_FOR_SCALAR && FOVEA_OFFERS_ARM32))
FOVEA_GNU_OPTIONS("no-schedule-insns", "no-schedule-insns2")
#endif
