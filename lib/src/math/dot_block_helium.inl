// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl for Helium are functions that all its integer kernels call.
using FOVEA_COMMON_NAMESPACE::byte_kernels::multiply_rows;
