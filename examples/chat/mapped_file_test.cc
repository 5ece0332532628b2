// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/mapped_file.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "examples/chat/checks.h"

namespace chat {
namespace {

using Pages = MappedFile::Pages;

std::vector<unsigned char> pattern(size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 31 + i / 4096);
  return data;
}

bool write(const char* path, const std::vector<unsigned char>& data) {
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  const bool written = data.empty() || std::fwrite(data.data(), 1, data.size(), file) == data.size();
  return std::fclose(file) == 0 && written;
}

// Sizes next to a large page's, and of some: each kind of pages gives the same bytes.
void test_both_kinds(const char* path) {
  constexpr size_t kLargePage = size_t{2} << 20;
  for (const size_t bytes : {size_t{1}, kLargePage - 1, kLargePage, kLargePage + 1, 3 * kLargePage}) {
    const std::vector<unsigned char> data = pattern(bytes);
    check(write(path, data), "the test cannot write its file");
    for (const Pages pages : {Pages::kFile, Pages::kLarge}) {
      const std::string what = std::to_string(bytes) + " bytes, " + (pages == Pages::kFile ? "mapped" : "large pages");
      MappedFile file;
      check(file.open(path, pages).empty(), what + ": not opened");
      check(file.bytes() == bytes && std::memcmp(file.data(), data.data(), bytes) == 0, what + ": other bytes");
      check(pages == Pages::kLarge || file.pages() == Pages::kFile, what + ": copied");
      check(file.pages() == Pages::kFile || reinterpret_cast<uintptr_t>(file.data()) % kLargePage == 0,
            what + ": not on a large page");
      check(bytes >= kLargePage || file.pages() == Pages::kFile, what + ": a page for less than a page");
    }
  }
}

void test_refusals(const char* path) {
  check(write(path, {}), "the test cannot write its file");
  for (const Pages pages : {Pages::kFile, Pages::kLarge}) {
    MappedFile empty, folder, missing;
    check(!empty.open(path, pages).empty() && empty.data() == nullptr, "an empty file is taken");
    check(!folder.open(".", pages).empty() && folder.data() == nullptr, "a folder is taken");
    check(!missing.open("no/such/file", pages).empty() && missing.data() == nullptr, "a missing file is taken");
  }
}

int run(const char* path) {
  test_both_kinds(path);
  test_refusals(path);
  std::remove(path);
  return report();
}

}  // namespace
}  // namespace chat

int main(int, char** arguments) { return chat::run((std::string(arguments[0]) + ".bytes").c_str()); }
