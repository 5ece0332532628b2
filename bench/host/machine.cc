// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif
#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace fovea::bench {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

#if defined(__linux__)
// The size of the data cache of this level by the kernel, if the C library does not know it.
size_t cache_from_sysfs(int level) {
  for (int index = 0; index < 8; ++index) {
    char path[96], type[16] = "";
    int found = 0;
    unsigned long kib = 0;
    const char* const files[] = {"level", "type", "size"};
    for (const char* name : files) {
      std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
      std::FILE* file = std::fopen(path, "r");
      if (!file) return 0;
      const bool ok = name == files[0]   ? std::fscanf(file, "%d", &found) == 1
                      : name == files[1] ? std::fscanf(file, "%15s", type) == 1
                                         : std::fscanf(file, "%luK", &kib) == 1;
      std::fclose(file);
      if (!ok) return 0;
    }
    if (found == level && type[0] != 'I') return kib * 1024;
  }
  return 0;
}

// The first word of a file about the frequency of the first processor; empty if there is no file.
void read_frequency(const char* name, char (&word)[24]) {
  char path[80];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cpufreq/%s", name);
  word[0] = '\0';
  std::FILE* file = std::fopen(path, "r");
  if (!file) return;
  if (std::fscanf(file, "%23s", word) != 1) word[0] = '\0';
  std::fclose(file);
}
#endif

size_t find_cache(int level) {
#if defined(__linux__)
  const size_t from_sysfs = cache_from_sysfs(level);
  if (from_sysfs) return from_sysfs;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  constexpr int kNames[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  const long bytes = sysconf(kNames[level - 1]);
  if (bytes > 0) return static_cast<size_t>(bytes);
#endif
#elif defined(__APPLE__)
  constexpr const char* kNames[] = {"hw.l1dcachesize", "hw.l2cachesize", "hw.l3cachesize"};
  uint64_t bytes = 0;
  size_t answer_bytes = sizeof bytes;
  if (sysctlbyname(kNames[level - 1], &bytes, &answer_bytes, nullptr, 0) == 0) return bytes;
#endif
  constexpr size_t kUsual[] = {size_t{32} << 10, size_t{512} << 10, 0};
  return kUsual[level - 1];
}

}  // namespace

size_t cache_bytes(int level) {
  static const size_t bytes[] = {find_cache(1), find_cache(2), find_cache(3)};
  return bytes[level - 1];
}

Speed processor_speed() {
  Speed speed = {};
#if defined(__linux__)
  char khz[24];
  read_frequency("scaling_cur_freq", khz);
  speed.mhz = std::strtod(khz, nullptr) / 1000;
  read_frequency("cpuinfo_max_freq", khz);
  speed.most_mhz = std::strtod(khz, nullptr) / 1000;
  read_frequency("scaling_governor", speed.governor);
#endif
  return speed;
}

uint64_t thread_cpu_ns() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
#else
  return static_cast<uint64_t>(std::clock()) * (1000000000u / CLOCKS_PER_SEC);
#endif
}

void* allocate(size_t bytes) {
  const size_t alignment = bytes >= 2 * kLargePage ? kLargePage : 64;
  bytes = (bytes + alignment - 1) / alignment * alignment;
#if defined(_WIN32)
  void* memory = _aligned_malloc(bytes, alignment);
#else
  void* memory = std::aligned_alloc(alignment, bytes);
#endif
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (memory && alignment == kLargePage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

#if defined(_WIN32)
void release(void* memory) { _aligned_free(memory); }
#else
void release(void* memory) { std::free(memory); }
#endif

bool stderr_is_terminal() {
#if __has_include(<unistd.h>)
  return isatty(STDERR_FILENO) != 0;
#else
  return false;
#endif
}

}  // namespace fovea::bench
