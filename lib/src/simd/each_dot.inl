// SPDX-License-Identifier: Apache-2.0
//
// Includes FOVEA_DOT_FILE once for each instruction for integer products that processors of the target may have. There
//   FOVEA_DOT_WORDS      is the header with the instruction's dot words
//   FOVEA_DOT_NAMESPACE  is a namespace for what is made of them
//   FOVEA_DOT_<NAME>     is 1, for what is different with this instruction

#if FOVEA_FOR_SCALAR && FOVEA_HAS_OWN_DOT
#define FOVEA_DOT_OWN 1
#define FOVEA_DOT_NAMESPACE of_own
#define FOVEA_DOT_WORDS Own
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_OWN
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#elif FOVEA_FOR_SCALAR && FOVEA_SMLAD_OF_FLOATS
#define FOVEA_DOT_SMLAD 1
#define FOVEA_DOT_NAMESPACE of_smlad
#define FOVEA_DOT_WORDS Smlad
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_SMLAD
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#elif FOVEA_FOR_HELIUM
#define FOVEA_DOT_HELIUM 1
#define FOVEA_DOT_NAMESPACE of_helium
#define FOVEA_DOT_WORDS Helium
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_HELIUM
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#elif FOVEA_FOR_RVV
#define FOVEA_DOT_VWMACC 1
#define FOVEA_DOT_NAMESPACE of_vwmacc
#define FOVEA_DOT_WORDS Vwmacc
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_VWMACC
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#elif defined(FOVEA_DOT_LANES)
#define FOVEA_DOT_PMADDWD 1
#define FOVEA_DOT_NAMESPACE of_pmaddwd
#define FOVEA_DOT_WORDS Pmaddwd
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_PMADDWD
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#else
#define FOVEA_DOT_FLOATS 1
#define FOVEA_DOT_NAMESPACE of_floats
#define FOVEA_DOT_WORDS Floats
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_FLOATS
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#endif
#if FOVEA_DOT_LANES >= 8
#define FOVEA_DOT_VNNI 1
#define FOVEA_DOT_NAMESPACE of_vnni
#define FOVEA_DOT_WORDS Vnni
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_VNNI
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#endif
#if defined(FOVEA_HAS_NEON_DOT)
#define FOVEA_DOT_SDOT 1
#define FOVEA_DOT_NAMESPACE of_sdot
#define FOVEA_DOT_WORDS Sdot
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_SDOT
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#endif
#if defined(FOVEA_HAS_NEON_MATRIX_DOT)
#define FOVEA_DOT_SMMLA 1
#define FOVEA_DOT_NAMESPACE of_smmla
#define FOVEA_DOT_WORDS Smmla
#include FOVEA_DOT_FILE
#undef FOVEA_DOT_SMMLA
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#endif

#undef FOVEA_DOT_FILE
