// SPDX-License-Identifier: Apache-2.0
//
// Instructions are written in assembly, so that the files need no other compiler flags than their neighbours. The
// assembler accepts an extension only from Armv8.2 on, and cannot go back from another .arch. So .arch names all that
// the code after it may have.
#ifndef FOVEA_SRC_SIMD_ASM_NEON64_INL_
#define FOVEA_SRC_SIMD_ASM_NEON64_INL_
#if defined(__clang__) || defined(__ARM_FEATURE_SVE) || defined(__ARM_FEATURE_SHA3) || \
    defined(__ARM_FEATURE_DOTPROD) || defined(__ARM_FEATURE_COMPLEX)
#define FOVEA_ASM_DOTPROD ".arch_extension dotprod\n\t"
#define FOVEA_ASM_FP16 ".arch_extension fp16\n\t"
#define FOVEA_ASM_I8MM ".arch_extension i8mm\n\t"
#else
#define FOVEA_ASM_DOTPROD ".arch armv8.2-a+crypto+fp16+rcpc+dotprod+i8mm\n\t"
#define FOVEA_ASM_FP16 FOVEA_ASM_DOTPROD
#define FOVEA_ASM_I8MM FOVEA_ASM_DOTPROD
#endif

#endif  // FOVEA_SRC_SIMD_ASM_NEON64_INL_
