// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace chat {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

struct Mapping {
  void* memory = nullptr;
  size_t bytes = 0;
};

#if defined(MADV_HUGEPAGE)
// Linux counts as available what is free, and what it can drop.
bool enough_is_available(size_t bytes) {
  std::FILE* const file = std::fopen("/proc/meminfo", "r");
  if (file == nullptr) return false;
  unsigned long long available_kb = 0;
  for (char line[128]; available_kb == 0 && std::fgets(line, sizeof line, file) != nullptr;) {
    std::sscanf(line, "MemAvailable: %llu kB", &available_kb);
  }
  std::fclose(file);
  return bytes / 1024 < available_kb / 4;
}

// Reads the whole file. False if it ends before, or cannot be read.
bool read_all(int file, unsigned char* data, size_t bytes) {
  while (bytes != 0) {
    const ssize_t count = read(file, data, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

// A copy that begins on a large page. Null if there are no large pages, or too little memory for them.
const unsigned char* copy(int file, size_t bytes, Mapping* mapping) {
  if (bytes < kLargePage || bytes > SIZE_MAX - 2 * kLargePage || !enough_is_available(bytes)) return nullptr;
  const size_t needed = bytes + 2 * kLargePage;
  void* const memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const data =
      static_cast<unsigned char*>(memory) + (kLargePage - reinterpret_cast<uintptr_t>(memory) % kLargePage);
  if (madvise(data, (bytes / kLargePage + 1) * kLargePage, MADV_HUGEPAGE) != 0 || !read_all(file, data, bytes)) {
    munmap(memory, needed);
    return nullptr;
  }
  mprotect(memory, needed, PROT_READ);
  *mapping = {memory, needed};
  return data;
}
#else
const unsigned char* copy(int, size_t, Mapping*) { return nullptr; }
#endif

}  // namespace

MappedFile::~MappedFile() {
  if (memory_ != nullptr) munmap(memory_, memory_bytes_);
}

std::string MappedFile::open(const char* path, Pages pages) {
  const int file = ::open(path, O_RDONLY);
  if (file < 0) return std::strerror(errno);
  struct stat status;
  std::string problem;
  if (fstat(file, &status) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    problem = "is not a file, or is empty";
  } else {
    const auto bytes = static_cast<size_t>(status.st_size);
    Mapping mapping;
    const unsigned char* data = pages == Pages::kLarge ? copy(file, bytes, &mapping) : nullptr;
    pages_ = data != nullptr ? Pages::kLarge : Pages::kFile;
    if (data == nullptr) {
      mapping = {mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0), bytes};
      data = static_cast<const unsigned char*>(mapping.memory);
    }
    if (mapping.memory == MAP_FAILED) {
      problem = std::strerror(errno);
    } else {
      data_ = data, bytes_ = bytes;
      memory_ = mapping.memory, memory_bytes_ = mapping.bytes;
    }
  }
  close(file);
  return problem;
}

}  // namespace chat
