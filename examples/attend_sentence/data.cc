// SPDX-License-Identifier: Apache-2.0
#include "data.h"

#include "../binary_file.h"

BINARY_FILE(attend_sentence_data, attend_sentence::Data, 55296, "data.bin");
