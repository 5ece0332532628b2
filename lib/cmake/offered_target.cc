// SPDX-License-Identifier: Apache-2.0
//
// Compiled by offered_target.cmake for its error, which names the best target that the compiler's flags offer.
#include "../src/ground/targets/offered.h"

#if FOVEA_OFFERS_AVX512
#error fovea_offers_avx512
#elif FOVEA_OFFERS_AVX2
#error fovea_offers_avx2
#elif FOVEA_OFFERS_SSE4
#error fovea_offers_sse4
#elif FOVEA_OFFERS_NEON
#error fovea_offers_neon
#elif FOVEA_OFFERS_HELIUM
#error fovea_offers_helium
#elif FOVEA_OFFERS_RVV && __riscv_v_fixed_vlen == 128
#error fovea_offers_rvv128
#elif FOVEA_OFFERS_RVV && __riscv_v_fixed_vlen == 256
#error fovea_offers_rvv256
#elif FOVEA_OFFERS_RVV
#error fovea_offers_rvv512
#elif FOVEA_OFFERS_WASM
#error fovea_offers_wasm
#elif FOVEA_OFFERS_X86
#error fovea_offers_x86
#else
#error fovea_offers_scalar
#endif

#if defined(__i386__)
#error fovea_32_bit_x86
#endif
