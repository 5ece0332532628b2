// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include "../binary_file.h"

BINARY_FILE(keywords_recording, Recording, 198400, "recording.bin");
