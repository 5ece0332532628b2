// SPDX-License-Identifier: Apache-2.0
//
// A FOVEA_DOT_FILE for the body of a function: adds the kernels of each instruction to `table`.
FOVEA_DOT_NAMESPACE::AddKernels(&table);
