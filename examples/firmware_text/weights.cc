// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include "../binary_file.h"

// If the sizes differ, run train.py anew.
BINARY_FILE(firmware_text_weights, firmware_text::Weights, 365320, "weights.bin");
