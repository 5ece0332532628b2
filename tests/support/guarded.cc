// SPDX-License-Identifier: Apache-2.0
#include "support/guarded.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#define FOVEA_TESTS_POSIX 1
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <windows.h>
#elif defined(__arm__) || defined(__aarch64__)
#include "platform/bare/start.h"
#define FOVEA_TESTS_BARE 1
#if __ARM_ARCH_PROFILE == 'M'
#include "platform/cortex_m/protection.h"
#define FOVEA_TESTS_FORBID 1
#endif
#endif

#if FOVEA_TESTS_POSIX || defined(_WIN32)
#define FOVEA_TESTS_PAGES 1  // the byte next to a buffer is in a page that is not mapped
#endif

// For the memory sanitizer a buffer that was filled again is uninitialised, and only these functions may read it. The
// constructor's fill counts as initialised: kernels compute with NaN where keys are hidden, and discard the result.
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define FOVEA_TESTS_MSAN 1
#include <sanitizer/msan_interface.h>
#endif
#endif
#if FOVEA_TESTS_MSAN
#define FOVEA_TESTS_READS_FILLED __attribute__((no_sanitize("memory")))
#else
#define FOVEA_TESTS_READS_FILLED
#endif

namespace fovea_test {
namespace {

// A quiet NaN that no arithmetic makes; and its bytes, at addresses that are multiples of 4.
constexpr uint32_t kPatternWord = 0x7fc5a5a5u;
uint8_t pattern_at(const uint8_t* p) {
  static const uint8_t kPattern[4] = {0xa5, 0xa5, 0xc5, 0x7f};
  return kPattern[reinterpret_cast<uintptr_t>(p) % 4];
}

void fill_range(uint8_t* begin, uint8_t* end) {
  for (; begin != end && reinterpret_cast<uintptr_t>(begin) % 4 != 0; ++begin) *begin = pattern_at(begin);
  for (; end - begin >= 4; begin += 4) std::memcpy(begin, &kPatternWord, 4);
  for (; begin != end; ++begin) *begin = pattern_at(begin);
}

FOVEA_TESTS_READS_FILLED bool range_intact(const uint8_t* begin, const uint8_t* end) {
  for (; begin != end && reinterpret_cast<uintptr_t>(begin) % 4 != 0; ++begin) {
    if (*begin != pattern_at(begin)) return false;
  }
  uint32_t word;
  for (; end - begin >= 4; begin += 4) {
    std::memcpy(&word, begin, 4);
    if (word != kPatternWord) return false;
  }
  for (; begin != end; ++begin) {
    if (*begin != pattern_at(begin)) return false;
  }
  return true;
}

#if FOVEA_TESTS_POSIX
size_t page_bytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Reserves pages without access; null if that fails.
uint8_t* reserve_pages(size_t bytes) {
  void* all = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return all == MAP_FAILED ? nullptr : static_cast<uint8_t*>(all);
}
bool open_pages(uint8_t* pages, size_t bytes) { return mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0; }
void set_read_only(uint8_t* pages, size_t bytes, bool on) {
  mprotect(pages, bytes, on ? PROT_READ : PROT_READ | PROT_WRITE);
}
void release_pages(uint8_t* pages, size_t bytes) { munmap(pages, bytes); }

#if defined(__x86_64__)

sigjmp_buf g_probe;
extern "C" void on_probe_fault(int) { siglongjmp(g_probe, 1); }

__attribute__((target("avx"))) void load_first_of_eight(const float* p) {
  const __m256 v = _mm256_maskload_ps(p, _mm256_castps_si256(_mm256_set_ps(0, 0, 0, 0, 0, 0, 0, -0.0f)));
  volatile float first = _mm256_cvtss_f32(v);
  (void)first;
}

// QEMU 7.2 reads all eight elements for a vmaskmovps of which the processor reads one.
bool masked_load_faults() {
  if (!__builtin_cpu_supports("avx")) return false;
  const size_t page = page_bytes();
  uint8_t* const all = reserve_pages(2 * page);
  if (all == nullptr || !open_pages(all, page)) std::abort();
  struct sigaction probe, before;
  std::memset(&probe, 0, sizeof probe);
  probe.sa_handler = on_probe_fault;
  sigaction(SIGSEGV, &probe, &before);
  bool faults = true;
  if (sigsetjmp(g_probe, 1) == 0) {
    load_first_of_eight(reinterpret_cast<const float*>(all + page) - 1);
    faults = false;
  }
  sigaction(SIGSEGV, &before, nullptr);
  release_pages(all, 2 * page);
  return faults;
}

#else
bool masked_load_faults() { return false; }
#endif

// Bytes of pattern between the end of a buffer and the unmapped page: 0, except in an emulator that reads too far.
// There it is 32 elements and a vector, because a load of no elements may point anywhere into the 32 elements of a
// group of i4.
size_t slack_bytes() {
  static const size_t bytes = masked_load_faults() ? 256 : 0;
  return bytes;
}

#elif defined(_WIN32)

size_t page_bytes() { return 4096; }
constexpr size_t slack_bytes() { return 0; }

uint8_t* reserve_pages(size_t bytes) {
  return static_cast<uint8_t*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS));
}
bool open_pages(uint8_t* pages, size_t bytes) {
  return VirtualAlloc(pages, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}
void set_read_only(uint8_t* pages, size_t bytes, bool on) {
  DWORD before;
  VirtualProtect(pages, bytes, on ? PAGE_READONLY : PAGE_READWRITE, &before);
}
void release_pages(uint8_t* pages, size_t) { VirtualFree(pages, 0, MEM_RELEASE); }

#elif FOVEA_TESTS_FORBID
constexpr size_t kMargin = fovea::platform::kForbiddenBytes;
#else
constexpr size_t kMargin = 256;
#endif

}  // namespace

#if FOVEA_TESTS_PAGES || FOVEA_TESTS_FORBID
bool guards_fault() { return true; }
#else
bool guards_fault() { return false; }
#endif

const char* name(Placement placement) {
  switch (placement) {
    case Placement::kEnd: return "end";
    case Placement::kStart: return "start";
    case Placement::kOffset: return "offset";
  }
  return "?";
}

Guarded::Guarded(size_t bytes, size_t alignment, Placement placement) : bytes_(bytes) {
  const size_t shift = placement == Placement::kOffset ? alignment : 0;
#if FOVEA_TESTS_PAGES
  const size_t page = page_bytes();
  const size_t slack = slack_bytes();
  pages_bytes_ = std::max<size_t>((bytes + shift + slack + page - 1) / page, 1) * page;
  uint8_t* const all = reserve_pages(pages_bytes_ + 2 * page);
  if (all == nullptr) std::abort();
  pages_ = all + page;
  if (!open_pages(pages_, pages_bytes_)) std::abort();
  data_ = placement == Placement::kEnd ? pages_ + pages_bytes_ - slack - bytes : pages_ + shift;
#else
  // A margin on both sides, and the padding of alignment: the buffer ends or begins at a multiple of kMargin.
  pages_bytes_ = bytes + shift + 4 * kMargin;
  pages_ = static_cast<uint8_t*>(std::malloc(pages_bytes_));
  if (pages_ == nullptr) std::abort();
  uint8_t* const first = pages_ + 2 * kMargin - reinterpret_cast<uintptr_t>(pages_) % kMargin;
  uint8_t* const behind = first + (bytes + shift + kMargin - 1) / kMargin * kMargin;
  data_ = placement == Placement::kEnd ? behind - bytes : first + shift;
#endif
  fill_range(pages_, pages_ + pages_bytes_);
#if FOVEA_TESTS_FORBID
  uint8_t* const edge = placement == Placement::kEnd ? behind : first - kMargin;
  if (placement != Placement::kOffset && fovea::platform::forbid_memory(edge)) forbidden_ = edge;
#endif
}

Guarded::~Guarded() {
  if (pages_ == nullptr) return;
#if FOVEA_TESTS_PAGES
  release_pages(pages_ - page_bytes(), pages_bytes_ + 2 * page_bytes());
#else
#if FOVEA_TESTS_FORBID
  if (forbidden_ != nullptr) fovea::platform::allow_memory(forbidden_);
#endif
  std::free(pages_);
#endif
}

Guarded::Guarded(Guarded&& other) noexcept { *this = std::move(other); }

Guarded& Guarded::operator=(Guarded&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(pages_bytes_, other.pages_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(forbidden_, other.forbidden_);
  return *this;
}

void Guarded::fill() {
  fill_range(data_, data_ + bytes_);
#if FOVEA_TESTS_MSAN
  __msan_poison(data_, bytes_);
#endif
}

void Guarded::read_only(bool on) const {
#if FOVEA_TESTS_PAGES
  if (pages_ != nullptr) set_read_only(pages_, pages_bytes_, on);
#else
  (void)on;
#endif
}

bool Guarded::margin_intact() const {
  const uint8_t *begin = pages_, *end = pages_ + pages_bytes_;
  if (forbidden_ != nullptr) (forbidden_ < data_ ? begin : end) = data_ + (forbidden_ < data_ ? 0 : bytes_);
  return range_intact(begin, data_) && range_intact(data_ + bytes_, end);
}

FOVEA_TESTS_READS_FILLED bool Guarded::untouched(size_t offset) const {
  return data_[offset] == pattern_at(data_ + offset);
}

bool Guarded::untouched() const { return range_intact(data_, data_ + bytes_); }

// ------------------------------------------------------------------------------------------------ the name of the case

namespace {

char g_case[512];

#if FOVEA_TESTS_POSIX

struct sigaction g_before[2];  // the handlers before ours: Catch2's
constexpr int kSignals[2] = {SIGSEGV, SIGBUS};

void say(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

extern "C" void on_fault(int number) {
  say("\nmemory fault in case: ");
  say(g_case);
  say("\n");
  // The instruction faults again, and the earlier handler gets it.
  for (int i = 0; i < 2; ++i) {
    if (kSignals[i] == number) sigaction(number, &g_before[i], nullptr);
  }
}

// Catch2 installs and removes its own handlers around every test case: so ours are installed again each time.
void install_handlers() {
  for (int i = 0; i < 2; ++i) {
    struct sigaction current;
    sigaction(kSignals[i], nullptr, &current);
    if (current.sa_handler == on_fault) continue;
    g_before[i] = current;
    struct sigaction ours;
    std::memset(&ours, 0, sizeof ours);
    ours.sa_handler = on_fault;
    sigaction(kSignals[i], &ours, nullptr);
  }
}

#elif FOVEA_TESTS_BARE

void install_handlers() { fovea_fault_note = g_case; }

#else

void install_handlers() {}

#endif

}  // namespace

void set_current_case(const std::string& text) {
  std::snprintf(g_case, sizeof g_case, "%s", text.c_str());
  install_handlers();
}

const char* current_case() { return g_case; }

}  // namespace fovea_test
