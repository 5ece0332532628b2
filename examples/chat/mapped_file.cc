// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace chat {

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<unsigned char*>(data_), bytes_);
}

std::string MappedFile::open(const char* path) {
  const int file = ::open(path, O_RDONLY);
  if (file < 0) return std::strerror(errno);
  struct stat status;
  std::string problem;
  if (fstat(file, &status) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    problem = "is not a file, or is empty";
  } else {
    void* const data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
      problem = std::strerror(errno);
    } else {
      data_ = static_cast<const unsigned char*>(data);
      bytes_ = static_cast<size_t>(status.st_size);
    }
  }
  close(file);
  return problem;
}

}  // namespace chat
