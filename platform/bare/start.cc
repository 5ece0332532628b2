// SPDX-License-Identifier: Apache-2.0
#include "platform/bare/start.h"

#include <cstddef>

#include "platform/bare/semihosting.h"
#include "platform/platform.h"

extern "C" {
int fovea_main(int argc, char** argv) __asm__("main");  // by another name: C++ forbids to call main
[[noreturn]] void exit(int status);

extern void (*init_array_begin[])();
extern void (*init_array_end[])();
}

namespace {

constexpr size_t kMostArguments = 16;
char g_command_line[1024];
char* g_arguments[kMostArguments + 1];

// Splits the line at its spaces; an argument in double quotes may contain spaces. A line with too many arguments is
// refused: a program must not run with only some of them.
int read_arguments() {
  const uintptr_t block[2] = {reinterpret_cast<uintptr_t>(g_command_line), sizeof g_command_line};
  if (fovea::semihosting::call(fovea::semihosting::kGetCommandLine, block) != 0) {
    fovea::semihosting::write_text("no command line, or one that is too long: running without arguments\n");
    return 0;
  }
  size_t count = 0;
  for (char* p = g_command_line;;) {
    while (*p == ' ') ++p;
    if (!*p) return static_cast<int>(count);
    if (count == kMostArguments) {
      fovea::semihosting::write_text("too many arguments\n");
      fovea::semihosting::exit(fovea::platform::kExitUsage);
    }
    const char end = *p == '"' ? '"' : ' ';
    if (end == '"') ++p;
    g_arguments[count++] = p;
    while (*p && *p != end) ++p;
    if (*p) *p++ = 0;
  }
}

void write_hex(uintptr_t number) {
  char text[2 * sizeof number + 3];
  char* p = text + sizeof text;
  *--p = 0;
  for (size_t i = 0; i < 2 * sizeof number; ++i, number >>= 4) *--p = "0123456789abcdef"[number & 15];
  *--p = 'x';
  *--p = '0';
  fovea::semihosting::write_text(p);
}

// The end of the unbroken paint from `begin` on.
const uint32_t* after_paint(const uint32_t* begin, const uint32_t* end) {
  while (begin < end && *begin == kStackPaint) ++begin;
  return begin;
}

}  // namespace

void fovea_start() {
  for (uint32_t* p = stack_guard; p < stack_limit; ++p) *p = kStackPaint;
  fovea_protect_guard();
  fovea::platform::stack_paint();
  if (&data_image[0] != &data_begin[0]) {
    for (uint32_t *from = data_image, *to = data_begin; to < data_end;) *to++ = *from++;
  }
  for (uint32_t* p = bss_begin; p < bss_end; ++p) *p = 0;
  for (void (**constructor)() = init_array_begin; constructor < init_array_end; ++constructor) (*constructor)();
  const int count = read_arguments();
  exit(fovea_main(count, g_arguments));
}

bool fovea_stack_held() { return after_paint(stack_guard, stack_limit) == stack_limit; }

const char* fovea_fault_note;

void fovea_fault(const char* what, uintptr_t instruction, uintptr_t caller, uintptr_t detail) {
  fovea::semihosting::write_text("\nfault: ");
  fovea::semihosting::write_text(what);
  fovea::semihosting::write_text(", instruction at ");
  write_hex(instruction);
  fovea::semihosting::write_text(", called from ");
  write_hex(caller);
  fovea::semihosting::write_text(", detail ");
  write_hex(detail);
  if (fovea_fault_note != nullptr) {
    fovea::semihosting::write_text(", in case: ");
    fovea::semihosting::write_text(fovea_fault_note);
  }
  fovea::semihosting::write_text(fovea_stack_held() ? "\n" : "\nthe stack was too small\n");
  fovea::semihosting::exit(kFaultStatus);
}

namespace fovea::platform {

size_t stack_used_bytes() {
  const uint32_t* const used = after_paint(stack_limit, stack_top);
  return static_cast<size_t>(reinterpret_cast<const char*>(stack_top) - reinterpret_cast<const char*>(used));
}

void stack_paint() {
  uint32_t* const here = static_cast<uint32_t*>(__builtin_frame_address(0)) - 64;  // unused below
  for (volatile uint32_t* p = stack_limit; p < here; ++p) *p = kStackPaint;
}

size_t stack_in_use_bytes() {
  return static_cast<size_t>(reinterpret_cast<const char*>(stack_top) -
                             static_cast<const char*>(__builtin_frame_address(0)));
}

}  // namespace fovea::platform
