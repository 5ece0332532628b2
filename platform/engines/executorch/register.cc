// SPDX-License-Identifier: Apache-2.0
//
// Tells the runtime which functions compute which operators. A kernel with a key, that is, for tensors of these types
// and in this order of dimensions, is preferred to one without. ExecuTorch registers its own kernels without keys: so
// this library may be loaded before or after them, or alone.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include "operators.h"

namespace fovea_executorch {
namespace {

using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelKey;
using executorch::runtime::Span;

// What takes the arguments from the runtime's stack. The runtime's own wrapper knows operators of one output alone.
#define FOVEA_BOXED(function, name) \
  executorch::extension::WrapUnboxedIntoFunctor<decltype(EXECUTORCH_FN(function, name))>::call

#ifndef FOVEA_EXECUTORCH_INT8_ONLY
constexpr const char kCustomSdpa[] = "llama::custom_sdpa.out";
constexpr const char kSdpaWithKvCache[] = "llama::sdpa_with_kv_cache.out";
constexpr const char kQuantizedSdpa[] = "llama::custom_quantized_sdpa.out";
constexpr const char kUpdateCache[] = "llama::update_cache.out";
constexpr const char kUpdateCacheWithIndices[] = "llama::update_cache_with_indices.out";
constexpr const char kGatedDeltaRule[] = "llama::gated_delta_rule.out";
constexpr const char kChannelwiseDeltaRule[] = "llama::channelwise_gated_delta_rule.out";

// Profiles name the operator as ExecuTorch's kernel does.
constexpr const char kGatedDeltaEvent[] = "native_call_llama::gated_delta_rule.out";
constexpr const char kChannelwiseDeltaEvent[] = "native_call_llama::channelwise_gated_delta_rule.out";

template <const char* name>
void gated_delta_rule_boxed(Context& context, Span<EValue*> stack) {
  executorch::runtime::internal::EventTracerProfileOpScope scope(context.internal_event_tracer(), name);
  FOVEA_REQUIRE(context, stack.size() >= 8, );
  gated_delta_rule_out(context, stack[0]->toTensor(), stack[1]->toTensor(), stack[2]->toTensor(), stack[3]->toTensor(),
                       stack[4]->toTensor(), stack[5]->toTensor(), stack[6]->toTensor(), stack[7]->toTensor());
  for (size_t i = 6; i < 8; ++i) {
    executorch::runtime::internal::event_tracer_log_evalue(context.internal_event_tracer(), *stack[i]);
  }
}

#ifdef FOVEA_EXECUTORCH_WITHOUT_KEYS
// One kernel for all types, for runners that do not link ExecuTorch's own: boards, for example.
const Kernel kKernels[] = {
    Kernel(kCustomSdpa, FOVEA_BOXED(custom_sdpa_out, kCustomSdpa)),
    Kernel(kSdpaWithKvCache, FOVEA_BOXED(sdpa_with_kv_cache_out, kSdpaWithKvCache)),
    Kernel(kQuantizedSdpa, FOVEA_BOXED(custom_quantized_sdpa_out, kQuantizedSdpa)),
    Kernel(kUpdateCache, FOVEA_BOXED(update_cache_out, kUpdateCache)),
    Kernel(kUpdateCacheWithIndices, FOVEA_BOXED(update_cache_with_indices_out, kUpdateCacheWithIndices)),
    Kernel(kGatedDeltaRule, gated_delta_rule_boxed<kGatedDeltaEvent>),
    Kernel(kChannelwiseDeltaRule, gated_delta_rule_boxed<kChannelwiseDeltaEvent>),
};
#else
// A key has the type and the order of dimensions of each tensor, in the order of the arguments. Absent optional tensors
// are left out; a single output comes twice, as argument and as result. Numbers are those of ScalarType.
#define D1 ";0"
#define D2 ";0,1"
#define D3 ";0,1,2"
#define D4 ";0,1,2,3"
#define U8 "0"
#define I8 "1"
#define I16 "2"
#define I32 "3"
#define I64 "4"
#define F16 "5"
#define F32 "6"
#define F64 "7"
#define BF16 "15"
#define MASK F32 D2 "|"
#define NO_MASK

#define FOVEA_KERNEL(name, key, function) Kernel(name, KernelKey("v1/" key), function)
#define FOVEA_SDPA(t, mask)                                                                                            \
  FOVEA_KERNEL(kCustomSdpa, t D4 "|" t D4 "|" t D4 "|" mask t D4 "|" t D4, FOVEA_BOXED(custom_sdpa_out, kCustomSdpa)), \
      FOVEA_KERNEL(kSdpaWithKvCache, t D4 "|" t D4 "|" t D4 "|" t D4 "|" t D4 "|" mask t D4 "|" t D4,                  \
                   FOVEA_BOXED(sdpa_with_kv_cache_out, kSdpaWithKvCache)),                                             \
      FOVEA_KERNEL(kQuantizedSdpa, t D4 "|" t D4 "|" t D4 "|" mask t D4 "|" t D4,                                      \
                   FOVEA_BOXED(custom_quantized_sdpa_out, kQuantizedSdpa))
#define FOVEA_CODES I8 D4 "|" F32 D4 "|"
#define FOVEA_QUANTIZED_SDPA(mask)                                                                       \
  FOVEA_KERNEL(kQuantizedSdpa,                                                                           \
               I8 D4 "|" I8 D4 "|" I8 D4 "|" mask FOVEA_CODES FOVEA_CODES FOVEA_CODES F32 D4 "|" F32 D4, \
               FOVEA_BOXED(custom_quantized_sdpa_out, kQuantizedSdpa))
#define FOVEA_CACHE(t)                                                                                      \
  FOVEA_KERNEL(kUpdateCache, t D4 "|" t D4 "|" t D1 "|" t D1, FOVEA_BOXED(update_cache_out, kUpdateCache)), \
      FOVEA_KERNEL(kUpdateCacheWithIndices, t D4 "|" t D4 "|" I64 D2 "|" t D1 "|" t D1,                     \
                   FOVEA_BOXED(update_cache_with_indices_out, kUpdateCacheWithIndices))
#define FOVEA_DELTA(name, event, decay)                                                                      \
  FOVEA_KERNEL(name, F32 D4 "|" F32 D4 "|" F32 D4 "|" F32 decay "|" F32 D3 "|" F32 D4 "|" F32 D4 "|" F32 D4, \
               gated_delta_rule_boxed<event>)

const Kernel kKernels[] = {
    FOVEA_SDPA(F32, NO_MASK),
    FOVEA_SDPA(F32, MASK),
    FOVEA_SDPA(F16, NO_MASK),
    FOVEA_SDPA(F16, MASK),
    FOVEA_SDPA(BF16, NO_MASK),
    FOVEA_SDPA(BF16, MASK),
    FOVEA_QUANTIZED_SDPA(NO_MASK),
    FOVEA_QUANTIZED_SDPA(MASK),
    FOVEA_CACHE(U8),
    FOVEA_CACHE(I8),
    FOVEA_CACHE(I16),
    FOVEA_CACHE(I32),
    FOVEA_CACHE(I64),
    FOVEA_CACHE(F16),
    FOVEA_CACHE(F32),
    FOVEA_CACHE(F64),
    FOVEA_CACHE(BF16),
    FOVEA_DELTA(kGatedDeltaRule, kGatedDeltaEvent, D3),
    FOVEA_DELTA(kGatedDeltaRule, kGatedDeltaEvent, D4),
    FOVEA_DELTA(kChannelwiseDeltaRule, kChannelwiseDeltaEvent, D3),
    FOVEA_DELTA(kChannelwiseDeltaRule, kChannelwiseDeltaEvent, D4),
};
#endif  // FOVEA_EXECUTORCH_WITHOUT_KEYS
#endif  // FOVEA_EXECUTORCH_INT8_ONLY

// Operators that only fovea has, without keys.
#ifndef FOVEA_EXECUTORCH_INT8_ONLY
constexpr const char kAttention[] = "fovea::attention.out";
constexpr const char kLinear[] = "fovea::linear_activation.out";
constexpr const char kLayerNorm[] = "fovea::layer_norm.out";
constexpr const char kRmsNorm[] = "fovea::rms_norm.out";
constexpr const char kActivation[] = "fovea::activation.out";
constexpr const char kSoftmax[] = "fovea::softmax.out";
#endif
constexpr const char kQuantizedAttention[] = "fovea::quantized_attention.out";
constexpr const char kQuantizedLinear[] = "fovea::quantized_linear.out";
constexpr const char kQuantizedLayerNorm[] = "fovea::quantized_layer_norm.out";
constexpr const char kQuantizedRmsNorm[] = "fovea::quantized_rms_norm.out";
constexpr const char kQuantizedActivation[] = "fovea::quantized_activation.out";
constexpr const char kQuantizedSoftmax[] = "fovea::quantized_softmax.out";

const Kernel kGraphKernels[] = {
#ifndef FOVEA_EXECUTORCH_INT8_ONLY
    Kernel(kAttention, FOVEA_BOXED(attention_out, kAttention)),
    Kernel(kLinear, FOVEA_BOXED(linear_out, kLinear)),
    Kernel(kLayerNorm, FOVEA_BOXED(layer_norm_out, kLayerNorm)),
    Kernel(kRmsNorm, FOVEA_BOXED(rms_norm_out, kRmsNorm)),
    Kernel(kActivation, FOVEA_BOXED(activation_out, kActivation)),
    Kernel(kSoftmax, FOVEA_BOXED(softmax_out, kSoftmax)),
#endif
    Kernel(kQuantizedAttention, FOVEA_BOXED(quantized_attention_out, kQuantizedAttention)),
    Kernel(kQuantizedLinear, FOVEA_BOXED(quantized_linear_out, kQuantizedLinear)),
    Kernel(kQuantizedLayerNorm, FOVEA_BOXED(quantized_layer_norm_out, kQuantizedLayerNorm)),
    Kernel(kQuantizedRmsNorm, FOVEA_BOXED(quantized_rms_norm_out, kQuantizedRmsNorm)),
    Kernel(kQuantizedActivation, FOVEA_BOXED(quantized_activation_out, kQuantizedActivation)),
    Kernel(kQuantizedSoftmax, FOVEA_BOXED(quantized_softmax_out, kQuantizedSoftmax)),
};

template <size_t count>
Error add(const Kernel (&kernels)[count]) {
  return executorch::runtime::register_kernels({kernels, count});
}

const Error kRegistered[] = {
#ifndef FOVEA_EXECUTORCH_INT8_ONLY
    add(kKernels),
#endif
    add(kGraphKernels)};

}  // namespace
}  // namespace fovea_executorch
