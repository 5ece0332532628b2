// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_MAPPED_FILE_H_
#define FOVEA_EXAMPLES_CHAT_MAPPED_FILE_H_

#include <cstddef>
#include <string>

namespace chat {

// A file in memory, for reading.
class MappedFile {
 public:
  enum class Pages {
    kFile,   // those of the system's cache of files, which it can drop and read again
    kLarge,  // a copy in pages of 2 MiB: the processor's table of pages then covers more of it. It means kFile where
             // there are no such pages, or where less memory is available than four times the file's bytes
  };

  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string open(const char* path, Pages pages = Pages::kFile);  // what is wrong with it; empty if nothing is

  const unsigned char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Pages pages() const { return pages_; }

 private:
  const unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
  void* memory_ = nullptr;  // what was mapped: the data and, with large pages, what aligns them
  size_t memory_bytes_ = 0;
  Pages pages_ = Pages::kFile;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_MAPPED_FILE_H_
