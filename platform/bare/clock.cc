// SPDX-License-Identifier: Apache-2.0
//
// The clock, in cycles or instructions. An emulator that counts instructions (QEMU's -icount) gives each of them the
// same time, which no processor does. There, a loop of divisions that depend on one another takes as long as a loop
// with the same number of nops. If the two loops take the same time, ticks are converted to instructions.
#include "platform/bare/counter.h"
#include "platform/platform.h"

namespace fovea::platform {
namespace {

constexpr uint32_t kRounds = 16384;
constexpr uint32_t kInstructions = kRounds * 10;  // in either loop

#define FOVEA_EIGHT(text) text text text text text text text text

#if defined(__riscv)
#define FOVEA_LOOP(body) "1:\n" FOVEA_EIGHT(body) "addi %0, %0, -1\n bnez %0, 1b\n"
#define FOVEA_DIVIDE "divu %1, %1, %2\n"
#elif defined(__aarch64__)
#define FOVEA_LOOP(body) "1:\n" FOVEA_EIGHT(body) "subs %w0, %w0, #1\n b.ne 1b\n"
#define FOVEA_DIVIDE "udiv %w1, %w1, %w2\n"
#else
#define FOVEA_LOOP(body) ".syntax unified\n 1:\n" FOVEA_EIGHT(body) "subs %0, %0, #1\n bne 1b\n"
#if defined(__ARM_FEATURE_IDIV)
#define FOVEA_DIVIDE "udiv %1, %1, %2\n"
#else
#define FOVEA_DIVIDE "muls %1, %2, %1\n"
#endif
#endif
#if defined(__arm__)
#define FOVEA_REGISTER "l"  // a register that all Thumb instructions can name
#else
#define FOVEA_REGISTER "r"
#endif

uint64_t time_of_nops() {
  uint32_t rounds = kRounds;
  const uint64_t begin = counter();
  __asm__ volatile(FOVEA_LOOP("nop\n") : "+" FOVEA_REGISTER(rounds) : : "cc");
  return counter() - begin;
}

uint64_t time_of_divisions() {
  uint32_t rounds = kRounds, number = 0xffffffff;
  const uint32_t divisor = 1;
  const uint64_t begin = counter();
  __asm__ volatile(FOVEA_LOOP(FOVEA_DIVIDE)
                   : "+" FOVEA_REGISTER(rounds), "+" FOVEA_REGISTER(number)
                   : FOVEA_REGISTER(divisor)
                   : "cc");
  return counter() - begin;
}

// Ticks of kInstructions instructions; 0 if their time depends on which instructions they are.
uint64_t measure() {
  const uint64_t nops = time_of_nops(), divisions = time_of_divisions();
  const uint64_t difference = nops < divisions ? divisions - nops : nops - divisions;
  return difference * 200 <= nops ? nops : 0;
}

uint64_t ticks_of_instructions() {
  static const uint64_t ticks = measure();
  return ticks;
}

}  // namespace

uint64_t clock_ticks() {
  const uint64_t ticks = ticks_of_instructions(), now = counter();
  return ticks ? now / ticks * kInstructions + now % ticks * kInstructions / ticks : now;
}

const char* clock_unit() { return ticks_of_instructions() ? "instructions" : counter_unit(); }

const char* clock_source() { return counter_source(); }

}  // namespace fovea::platform
