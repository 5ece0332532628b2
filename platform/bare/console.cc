// SPDX-License-Identifier: Apache-2.0
#include "platform/platform.h"

namespace fovea::platform {

Console console() { return {false, false, true, 80}; }

}  // namespace fovea::platform
