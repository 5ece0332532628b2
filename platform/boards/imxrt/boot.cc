// SPDX-License-Identifier: Apache-2.0
//
// What the ROM of an i.MX RT1060 reads before it starts a program from a serial NOR flash: how to read the flash, and where the
// program is. And what the program does first: the kernels' code into tightly coupled memory. i.MX RT1060 Processor Reference Manual, chapter "System Boot": "FlexSPI Serial NOR Flash Boot", "Program image".
#include <cstddef>
#include <cstdint>

namespace {

// An instruction of FlexSPI's sequences: what is sent, on how many lines (0: one, 2: four), and a number.
constexpr uint32_t kCommand = 1, kAddress = 2, kDummy = 0x0c, kRead = 9, kOneLine = 0, kFourLines = 2;
constexpr uint32_t instruction(uint32_t what, uint32_t lines, uint32_t number) {
  return what << 10 | lines << 8 | number;
}

struct FlashConfiguration {
  uint32_t tag, version, reserved_08;
  uint8_t sample_clock, hold_time, setup_time, column_bits;
  uint8_t reserved_10[0x30];
  uint32_t controller_options;
  uint8_t device_type, lines, clock, custom_sequences;
  uint8_t reserved_48[8];
  uint32_t bytes_of_a1;
  uint8_t reserved_54[0x2c];
  uint32_t sequences[64];
  uint8_t reserved_180[0x40];
  uint32_t page_bytes, sector_bytes;
  uint8_t reserved_1c8[0x38];
};
static_assert(offsetof(FlashConfiguration, controller_options) == 0x40 &&
                  offsetof(FlashConfiguration, bytes_of_a1) == 0x50 &&
                  offsetof(FlashConfiguration, sequences) == 0x80 &&
                  offsetof(FlashConfiguration, page_bytes) == 0x1c0 && sizeof(FlashConfiguration) == 0x200,
              "as the ROM reads it");

// Reads by "fast read quad I/O" at 100 MHz, which flashes of four lines have without being switched to it, if their QE bit is set,
// as on NXP's evaluation board and on Teensy 4.
[[gnu::used, gnu::section(".boot.flash")]] extern const FlashConfiguration g_flash = {
    0x42464346,  // "FCFB"
    0x56010400,
    0,
    1,  // data are sampled by a clock that is looped back from the pad DQS
    3,
    3,
    0,
    {},
    0,
    1,  // NOR
    4,
    6,  // 100 MHz
    0,
    {},
    8 << 20,
    {},
    {instruction(kCommand, kOneLine, 0xeb) | instruction(kAddress, kFourLines, 24) << 16,
     instruction(kDummy, kFourLines, 6) | instruction(kRead, kFourLines, 4) << 16},
    {},
    256,
    4096,
    {}};

struct ImageVectorTable {
  uint32_t header;
  const void* entry;  // the vectors, of which the ROM takes the stack and reset
  uint32_t reserved1;
  const void* device_configuration;
  const void* boot_data;
  const void* self;
  const void* signature;
  uint32_t reserved2;
};

struct BootData {
  const void* begin;
  const void* bytes;  // the address of a symbol is the number
  uint32_t plugin;
};

}  // namespace

extern "C" {
extern const char fovea_vectors[], image_bytes[];
extern uint32_t itcm_begin[], itcm_end[], itcm_image[];
extern const ImageVectorTable image_vector_table;

[[gnu::used, gnu::section(".boot.data")]] extern const BootData image_boot_data = {&g_flash, image_bytes, 0};
[[gnu::used, gnu::section(".boot.image")]] extern const ImageVectorTable image_vector_table = {
    0x412000d1,  // tag 0xd1, 32 bytes, version 0x41
    fovea_vectors, 0, nullptr, &image_boot_data, &image_vector_table, nullptr, 0};
}

// Before main, which alone calls kernels.
[[gnu::constructor]] static void copy_kernels() {
  for (uint32_t *from = itcm_image, *to = itcm_begin; to < itcm_end;) *to++ = *from++;
  __asm__ volatile("dsb\n isb" : : : "memory");
}
