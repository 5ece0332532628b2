// SPDX-License-Identifier: Apache-2.0
#include "examples/sentence_similarity/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file is little-endian and used in place"
#endif

namespace sentence_similarity {
namespace {

constexpr char kMagic[] = "fovea-st";
constexpr uint32_t kVersion = 1;
constexpr size_t kAlignment = 64;
constexpr uint32_t kMaxBlocks = Characters::kBlocks, kMaxSequences = 1u << 20, kMaxText = 1u << 24;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t dtype, pieces, tokens, width, heads, hidden, layers;
  uint32_t blocks, sequences, text_bytes;  // of the characters' table and the vocabulary
  uint32_t checksum;                       // Adler-32 of the bytes after the header
  uint64_t body_bytes;
};
static_assert(sizeof(Header) == kAlignment);

// RFC 1950, section 8.2.
uint32_t adler32(const unsigned char* data, size_t bytes) {
  constexpr uint32_t kPrime = 65521;
  constexpr size_t kMost = 5552;  // the most bytes whose sums fit in 32 bits without a modulo
  uint32_t a = 1, b = 0;
  while (bytes > 0) {
    const size_t count = bytes < kMost ? bytes : kMost;
    for (size_t i = 0; i < count; ++i) b += a += data[i];
    a %= kPrime;
    b %= kPrime;
    data += count;
    bytes -= count;
  }
  return b << 16 | a;
}

// Returns one array after the other of the file. The first that does not fit, and all after it, are null.
class Reader {
 public:
  Reader(const unsigned char* data, size_t bytes, fovea_dtype dtype) : at_(data), left_(bytes), dtype_(dtype) {}

  template <class T>
  const T* take(size_t count) {
    const size_t bytes = (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    if (failed_ || bytes > left_) {
      failed_ = true;
      return nullptr;
    }
    const unsigned char* const data = at_;
    at_ += bytes;
    left_ -= bytes;
    return reinterpret_cast<const T*>(data);
  }

  fovea_linear_weights take_matrix(uint32_t rows, uint32_t columns) {
    fovea_linear_weights matrix = {};
    matrix.dtype = dtype_;
    matrix.row_stride = columns;
    const size_t count = size_t{rows} * columns;
    if (dtype_ == FOVEA_I8) {
      matrix.data = take<int8_t>(count);
      matrix.scales = take<float>(rows);
    } else if (dtype_ == FOVEA_F16) {
      matrix.data = take<uint16_t>(count);
    } else {
      matrix.data = take<float>(count);
    }
    return matrix;
  }

  fovea_linear_weights take_linear(uint32_t rows, uint32_t columns) {
    fovea_linear_weights linear = take_matrix(rows, columns);
    linear.bias = take<float>(rows);
    return linear;
  }

  Norm take_norm() {
    const float* const weight = take<float>(kWidth);
    return {weight, take<float>(kWidth)};
  }

  bool took_all() const { return !failed_ && left_ == 0; }

 private:
  const unsigned char* at_;
  size_t left_;
  fovea_dtype dtype_;
  bool failed_ = false;
};

bool valid(const Characters& characters, uint32_t blocks, uint32_t sequences) {
  for (uint32_t i = 0; i < Characters::kBlocks; ++i) {
    if (characters.block_of[i] >= blocks) return false;
  }
  for (uint32_t block = 0; block < blocks; ++block) {
    for (const uint32_t entry : characters.blocks[block]) {
      if (!(entry & kSequence)) continue;
      const uint32_t index = entry & kCharacterBits;
      if (index >= sequences || characters.sequences[index] >= sequences - index) return false;
    }
  }
  return true;
}

bool valid(const Vocabulary& vocabulary, uint32_t text_bytes) {
  for (uint32_t i = 0; i < kPieces; ++i) {
    if (vocabulary.begins[i] > vocabulary.begins[i + 1] || vocabulary.numbers[i] >= kPieces) return false;
  }
  return vocabulary.begins[kPieces] == text_bytes;
}

}  // namespace

std::string check_bytes(const unsigned char* data, size_t bytes) {
  Header header;
  std::memcpy(&header, data, sizeof header);
  const size_t body_bytes = bytes - sizeof header;
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0) return "is not a model of convert.py";
  if (header.version != kVersion) return "is of version " + std::to_string(header.version) + ", not 1";
  if (header.body_bytes != body_bytes) {
    return "has " + std::to_string(body_bytes) + " bytes behind its header, not " + std::to_string(header.body_bytes) +
           (body_bytes < header.body_bytes ? ": it was cut short" : "");
  }
  if (header.checksum != adler32(data + sizeof header, body_bytes)) return "is damaged: its checksum is wrong";
  return {};
}

std::string read_model(const unsigned char* data, size_t bytes, Model* model) {
  Header header;
  std::memcpy(&header, data, sizeof header);
  const bool served = header.dtype == FOVEA_F32 || header.dtype == FOVEA_F16 || header.dtype == FOVEA_I8;
  if (!served || header.pieces != kPieces || header.tokens != kTokens || header.width != kWidth ||
      header.heads != kHeads || header.hidden != kHidden || header.layers != kLayers || header.blocks > kMaxBlocks ||
      header.sequences > kMaxSequences || header.text_bytes > kMaxText) {
    return "holds a model of another shape";
  }

  model->dtype = static_cast<fovea_dtype>(header.dtype);
  Reader reader(data + sizeof header, bytes - sizeof header, model->dtype);
  model->characters.block_of = reader.take<uint16_t>(Characters::kBlocks);
  model->characters.blocks = reader.take<uint32_t[Characters::kBlock]>(header.blocks);
  model->characters.sequences = reader.take<uint32_t>(header.sequences);
  model->vocabulary.begins = reader.take<uint32_t>(kPieces + 1);
  model->vocabulary.numbers = reader.take<uint32_t>(kPieces);
  model->vocabulary.text = reader.take<char>(header.text_bytes);
  model->words = reader.take_matrix(kPieces, kWidth);
  model->positions = reader.take<float>(size_t{kTokens} * kWidth);
  model->embedding_norm = reader.take_norm();
  for (Layer& layer : model->layers) {
    layer.qkv = reader.take_linear(3 * kWidth, kWidth);
    layer.attention = reader.take_linear(kWidth, kWidth);
    layer.attention_norm = reader.take_norm();
    layer.hidden = reader.take_linear(kHidden, kWidth);
    layer.out = reader.take_linear(kWidth, kHidden);
    layer.out_norm = reader.take_norm();
  }
  if (!reader.took_all()) return "has another size than its header tells";
  if (!valid(model->characters, header.blocks, header.sequences)) return "has a damaged table of characters";
  if (!valid(model->vocabulary, header.text_bytes)) return "has a damaged vocabulary";
  return {};
}

ModelFile::~ModelFile() {
  if (data_) munmap(const_cast<unsigned char*>(data_), bytes_);
}

std::string ModelFile::open(const char* path) {
  const int file = ::open(path, O_RDONLY);
  if (file < 0) return std::strerror(errno);
  struct stat status;
  void* data = MAP_FAILED;
  std::string problem;
  if (fstat(file, &status) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "is not a file";
  } else if (status.st_size < static_cast<off_t>(sizeof(Header))) {
    problem = "is too short to be a model";
  } else {
    bytes_ = static_cast<size_t>(status.st_size);
    data = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) problem = std::strerror(errno);
  }
  close(file);
  if (!problem.empty()) return problem;
  data_ = static_cast<const unsigned char*>(data);
  problem = check_bytes(data_, bytes_);
  return problem.empty() ? read_model(data_, bytes_, &model_) : problem;
}

}  // namespace sentence_similarity
