// SPDX-License-Identifier: Apache-2.0
//
// The options of g++ for a file of kernels, which includes this before all that is compiled with them. A file whose
// register blocks use all registers, and load in the order of the text, defines FOVEA_FILLS_REGISTERS: if the loads are
// rescheduled, sums are spilled. One whose softmax turns weights into codes defines FOVEA_KERNELS_OF_CODES.
#include "ground/simd/macros.h"
#include "ground/targets/compiled.h"

#if FOVEA_FOR_HELIUM
// With 8 vector registers g++ 12 spills what its schedulers load ahead, and copies pointers to use increments.
FOVEA_GNU_OPTIONS("no-auto-inc-dec", "no-schedule-insns", "no-schedule-insns2")
#elif defined(FOVEA_KERNELS_OF_CODES) && FOVEA_FOR_SCALAR
// g++ 12 makes vectors of loads that are not adjacent, and then reads past the end.
FOVEA_GNU_OPTIONS("no-tree-loop-vectorize")
#elif defined(FOVEA_KERNELS_OF_CODES) && FOVEA_FOR_NEON
// The softmax takes as long as the products. If registers are renamed, and scheduled only after that, its loop takes
// 482 cycles on a Cortex-A55 instead of 765, by llvm-mca.
FOVEA_GNU_OPTIONS("no-schedule-insns", "rename-registers")
#elif defined(FOVEA_FILLS_REGISTERS) && (FOVEA_FOR_NEON || (FOVEA_FOR_SCALAR && FOVEA_OFFERS_ARM32))
FOVEA_GNU_OPTIONS("no-schedule-insns", "no-schedule-insns2")
#endif
