// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "ground/base/image.h"

namespace fovea {

// Reflected CRC, polynomial 0x04c11db7, four bits at a time.
uint32_t checksum_of(const uint8_t* image, size_t bytes) {
  static constexpr uint32_t kOfNibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                             0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                             0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= i - kChecksumAt < 4 ? 0 : image[i];
    crc = crc >> 4 ^ kOfNibble[crc & 15];
    crc = crc >> 4 ^ kOfNibble[crc & 15];
  }
  return ~crc;
}

}  // namespace fovea
