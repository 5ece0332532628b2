// SPDX-License-Identifier: Apache-2.0
//
// The kernel tables of every target that may be compiled in. Highway's targets live in the namespaces that Highway
// names.
#ifndef FOVEA_SRC_TARGETS_TABLES_H_
#define FOVEA_SRC_TARGETS_TABLES_H_

#include "kernels/attention_table.h"
#include "kernels/convert_table.h"
#include "kernels/rope_table.h"
#include "kernels/softmax_table.h"
#include "kernels/stream_table.h"

namespace fovea {

namespace N_SSE4 {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace N_SSE4
namespace N_AVX2 {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace N_AVX2
namespace N_AVX3 {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace N_AVX3
namespace N_NEON {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace N_NEON
namespace N_WASM {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace N_WASM

namespace xsimd_target {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace xsimd_target

namespace helium_target {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace helium_target

namespace scalar_target {
extern const AttentionKernels kAttention;
extern const ConvertKernels kConvert;
extern const RopeKernels kRope;
extern const SoftmaxKernels kSoftmax;
extern const StreamKernels kStream;
}  // namespace scalar_target

}  // namespace fovea

#endif  // FOVEA_SRC_TARGETS_TABLES_H_
