// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include "../binary_file.h"

// If the sizes differ, run train.py anew.
BINARY_FILE(keywords_weights, Weights, 123064, "weights.bin");
