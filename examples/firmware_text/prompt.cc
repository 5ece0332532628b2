// SPDX-License-Identifier: Apache-2.0
#include "../binary_file.h"
#include "weights.h"

// If the sizes differ, run write_prompt anew.
BINARY_FILE(firmware_text_prompt, firmware_text::PromptImages, 13056, "prompt.bin");
