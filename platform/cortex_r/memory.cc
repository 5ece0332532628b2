// SPDX-License-Identifier: Apache-2.0
//
// Nothing is turned on: after reset a Cortex-R has its default memory map, where RAM below 2 GiB is normal memory. Caches,
// tightly coupled memory and regions of the memory protection unit are as your board's own start-up code has them.
#include "platform/bare/start.h"

extern "C" void fovea_protect_guard() {}

extern "C" void fovea_memory_on() {}
