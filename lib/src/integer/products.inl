// SPDX-License-Identifier: Apache-2.0
//
// Both products of all-integer attention, and the arrays that they read: by the instructions that the build multiplies
// bytes with.
#ifndef FOVEA_SRC_INTEGER_PRODUCTS_INL_
#define FOVEA_SRC_INTEGER_PRODUCTS_INL_

#if FOVEA_FOR_HELIUM
#include "integer/products_helium.inl"
#elif FOVEA_FOR_SCALAR && FOVEA_SMLAD
#include "integer/products_smlad.inl"
#else
#include "integer/products_plain.inl"
#endif

#endif  // FOVEA_SRC_INTEGER_PRODUCTS_INL_
