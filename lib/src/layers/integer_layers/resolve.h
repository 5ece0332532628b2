// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_INTEGER_LAYERS_RESOLVE_H_
#define FOVEA_SRC_INTEGER_LAYERS_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/integer_layers/call.h"

namespace fovea {

// Perform every check, and make *call ready to run.
fovea_status resolve_integer_norm(const fovea_integer_norm_args& args, IntegerNormCall* call);
fovea_status resolve_integer_sum(const fovea_integer_pair_args& args, IntegerSumCall* call);
fovea_status resolve_integer_product(const fovea_integer_pair_args& args, IntegerProductCall* call);
fovea_status resolve_integer_activation(const fovea_integer_activation_args& args, IntegerActivationCall* call);
fovea_status resolve_integer_hard_swish(const fovea_integer_hard_swish_args& args, IntegerHardSwishCall* call);
fovea_status resolve_integer_mean(const fovea_integer_mean_args& args, IntegerMeanCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_LAYERS_RESOLVE_H_
