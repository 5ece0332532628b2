// SPDX-License-Identifier: Apache-2.0
#include "bench/fma_probe/fma_probe.h"

namespace fovea::bench {

double fma_peak_gflops(fovea_target, Clock) { return 0.0; }

}  // namespace fovea::bench
