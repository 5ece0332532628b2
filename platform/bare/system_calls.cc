// SPDX-License-Identifier: Apache-2.0
//
// The system calls of the C library: heap, standard output and standard error, exit. newlib calls the functions of its
// manual's chapter "Syscalls"; picolibc needs fewer.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#if defined(__NEWLIB__) && !defined(__PICOLIBC__)
#include <sys/stat.h>
#include <sys/time.h>
#endif

#include "platform/bare/semihosting.h"
#include "platform/bare/start.h"

namespace {

enum Stream { kOutput, kError };

// Writes to the debugger's or emulator's standard output or error.
void write_to(Stream stream, const char* text, size_t bytes) {
  static intptr_t handles[2];  // 0: not opened (0 is the debugger's own standard input)
  if (handles[stream] == 0) {
    // The name of the console, a mode ("w" is output, "a" is error), the length of the name.
    const uintptr_t block[3] = {reinterpret_cast<uintptr_t>(":tt"), stream == kOutput ? 4u : 8u, 3};
    handles[stream] = fovea::semihosting::call(fovea::semihosting::kOpen, block);
  }
  const uintptr_t block[3] = {static_cast<uintptr_t>(handles[stream]), reinterpret_cast<uintptr_t>(text), bytes};
  fovea::semihosting::call(fovea::semihosting::kWrite, block);
}

void* grow_heap(ptrdiff_t bytes) {
  static char* end = heap_begin;
  if (bytes > heap_end - end) {
    fovea::semihosting::write_text("\nthe heap is full\n");
    errno = ENOMEM;
    return reinterpret_cast<void*>(-1);
  }
  char* const begin = end;
  end += bytes;
  return begin;
}

#if defined(__PICOLIBC__)
char g_line[128];  // standard output that is not yet written
size_t g_line_bytes;

void write_line() {
  write_to(kOutput, g_line, g_line_bytes);
  g_line_bytes = 0;
}

int put_output(char c, std::FILE*) {
  g_line[g_line_bytes++] = c;
  if (c == '\n' || g_line_bytes == sizeof g_line) write_line();
  return 0;
}

int put_error(char c, std::FILE*) {
  write_to(kError, &c, 1);
  return 0;
}

std::FILE g_output = FDEV_SETUP_STREAM(put_output, nullptr, nullptr, _FDEV_SETUP_WRITE);
std::FILE g_error = FDEV_SETUP_STREAM(put_error, nullptr, nullptr, _FDEV_SETUP_WRITE);
#endif

}  // namespace

#if defined(__PICOLIBC__)
std::FILE* const stdin = &g_output;  // always empty
std::FILE* const stdout = &g_output;
std::FILE* const stderr = &g_error;
#endif

extern "C" {

[[noreturn]] void _exit(int status) {
#if defined(__PICOLIBC__)
  write_line();
#endif
  if (!fovea_stack_held()) {
    fovea::semihosting::write_text("\nthe stack was too small\n");
    status = kFaultStatus;
  }
  fovea::semihosting::exit(status);
}

[[noreturn]] static void end_by_signal() {
  fovea::semihosting::write_text("\nended by abort()\n");
  _exit(kFaultStatus);
}

#if defined(__PICOLIBC__)

void* sbrk(ptrdiff_t bytes) { return grow_heap(bytes); }
int getpid() { return 1; }
int kill(int, int) { end_by_signal(); }

#else

void* _sbrk(ptrdiff_t bytes) { return grow_heap(bytes); }

int _write(int file, const char* text, int bytes) {
  write_to(file == 2 ? kError : kOutput, text, static_cast<size_t>(bytes));
  return bytes;
}

int _isatty(int) { return 1; }  // so that the library writes each line when it ends

int _fstat(int, struct stat* facts) {
  facts->st_mode = S_IFCHR;
  return 0;
}

// Hundredths of a second since the program began.
int _gettimeofday(struct timeval* time, void*) {
  const intptr_t hundredths = fovea::semihosting::call(fovea::semihosting::kClock, nullptr);
  time->tv_sec = hundredths / 100;
  time->tv_usec = hundredths % 100 * 10000;
  return 0;
}

int _open(const char*, int, int) { return -1; }  // there are no files
int _read(int, char*, int) { return 0; }         // end of file
int _close(int) { return -1; }
int _lseek(int, int, int) { return 0; }
int _getpid() { return 1; }
int _kill(int, int) { end_by_signal(); }
void _init() {}
void _fini() {}

#endif

void* __dso_handle;  // names this program to __cxa_atexit
}
