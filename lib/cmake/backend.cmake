# SPDX-License-Identifier: Apache-2.0
#
# Backends. A toolchain file that names the processor sets FOVEA_EXPECT_TARGET: sse4, avx2, avx512, ... What the compiler's
# flags offer must then be that. FOVEA_SIMD=scalar alone may take less than they offer.
if(FOVEA_EXPECT_TARGET AND NOT FOVEA_EXPECT_TARGET MATCHES "^(sse4|avx2|avx512|neon|helium|rvv128|rvv256|rvv512|wasm|scalar)$")
  message(FATAL_ERROR "FOVEA_EXPECT_TARGET is ${FOVEA_EXPECT_TARGET}: it must be the name of a target, as in fovea.h")
endif()
if(NOT FOVEA_SIMD MATCHES "^(auto|helium|highway|neon|rvv|xsimd|scalar|all)$")
  message(FATAL_ERROR "FOVEA_SIMD is ${FOVEA_SIMD}: it must be auto, helium, highway, neon, rvv, xsimd, scalar or all")
endif()
if(FOVEA_SIMD STREQUAL all AND FOVEA_EXPECT_TARGET)
  message(FATAL_ERROR "FOVEA_SIMD=all is for builds whose toolchain file names no processor")
endif()
fovea_keep_toolchain_flags()
fovea_offered_target(offered x86_32)
if(FOVEA_EXPECT_TARGET AND NOT FOVEA_EXPECT_TARGET STREQUAL offered AND NOT FOVEA_SIMD STREQUAL scalar)
  message(FATAL_ERROR "FOVEA_EXPECT_TARGET is ${FOVEA_EXPECT_TARGET}, but the compiler's flags offer ${offered}: correct the one or "
    "the other. FOVEA_SIMD=scalar does without vectors")
endif()
set(x86 OFF)
if(offered MATCHES "^(x86|sse4|avx2|avx512)$")
  set(x86 ON)
endif()

set(target ${FOVEA_EXPECT_TARGET})  # the only one of this build; empty: several, or scalar for the asking
if(NOT target AND NOT x86)
  set(target ${offered})
endif()
set(simd ${FOVEA_SIMD})
set(reason "FOVEA_SIMD is ${FOVEA_SIMD}, the compiler's flags offer ${offered}")
if(simd STREQUAL scalar OR simd STREQUAL all)
  set(target "")
elseif(simd STREQUAL auto)
  set(simd_of_helium helium)
  set(simd_of_rvv128 rvv)
  set(simd_of_rvv256 rvv)
  set(simd_of_rvv512 rvv)
  set(simd_of_scalar scalar)
  set(simd_of_wasm highway)
  set(simd_of_neon neon)
  set(simd_of_ highway)  # x86
  set(simd xsimd)
  if(DEFINED simd_of_${target})
    set(simd ${simd_of_${target}})
  endif()
  if(NOT target)
    string(APPEND reason ", the program picks what the processor has")
  endif()
endif()
set(served_by_helium helium scalar)  # scalar: where the processor is named in flags that CMake does not see, as Zephyr's. Without
set(served_by_highway avx2 avx512 sse4 wasm x86)
set(served_by_neon neon)
set(served_by_rvv rvv128 rvv256 rvv512)
set(served_by_xsimd avx2 avx512 sse4 x86 scalar)  # such flags neither of the two compiles
set(served_by_all avx2 avx512 neon sse4 x86)
if(NOT simd STREQUAL scalar AND NOT offered IN_LIST served_by_${simd})
  message(FATAL_ERROR "FOVEA_SIMD is ${FOVEA_SIMD}, which does not serve ${offered}, all that the compiler's flags offer: auto does. "
    "FOVEA_SIMD=scalar does without vectors")
endif()
if(target STREQUAL scalar AND NOT simd STREQUAL scalar)
  set(target "")
endif()
if(simd STREQUAL all AND offered STREQUAL neon)
  set(backends neon scalar)
elseif(simd STREQUAL all)
  set(backends highway scalar xsimd)
elseif(simd STREQUAL highway)
  set(backends highway scalar)  # scalar where the processor has none of Highway's targets
else()
  set(backends ${simd})
endif()

# xsimd compiles for what the compiler's flags name. Where they name no vector unit it is AVX2: for the whole library,
# or, among other backends, for the files of xsimd alone.
set(FOVEA_XSIMD_FLAGS "")
if(x86 AND "xsimd" IN_LIST backends)
  if(simd STREQUAL all OR offered STREQUAL "x86")  # unquoted it were the variable
    set(FOVEA_XSIMD_FLAGS -mavx2 -mfma -mf16c)
  endif()
endif()
set(FOVEA_XSIMD_FLAGS ${FOVEA_XSIMD_FLAGS} PARENT_SCOPE)
