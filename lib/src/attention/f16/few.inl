// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel with products of halves, over the half words of f16/tile.inl: the chains are those of
// f16/products.inl, so that the bits are those of the tile kernel. A lane is a key while its products with a query are
// added up: the elements of kProductLanes keys are transposed, or gathered. With values, lanes run along value_dim, and
// each value is read once for all rows.

using Lanes = HalfLanes<Half>;
// clang-format off
#include "attention/few_block.inl"
#include "attention/few_strands.inl"
#include "attention/f16/few_softmax.inl"
#if FOVEA_FOR_HELIUM
#include "attention/f16/few_rows_helium.inl"
#else
#include "attention/f16/few_rows.inl"
#endif
#include "attention/few_kernel.inl"
// clang-format on
