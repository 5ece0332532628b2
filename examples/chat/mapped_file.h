// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_MAPPED_FILE_H_
#define FOVEA_EXAMPLES_CHAT_MAPPED_FILE_H_

#include <cstddef>
#include <string>

namespace chat {

// A file that is mapped into memory for reading.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string open(const char* path);  // what is wrong with it; empty if nothing is

  const unsigned char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  const unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_MAPPED_FILE_H_
