// SPDX-License-Identifier: Apache-2.0
//
// GGUF files for examples/chat. A made-up model's file is spoilt where the bytes say, or is the bytes themselves: it
// must be refused, or all of it that the model refers to must lie within the file, and a decoder must run it. A model
// as it was made has finite scores, and tokens one by one have those of a prompt.
#include "examples/chat/gguf.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "examples/chat/decoder.h"
#include "examples/chat/made_model.h"
#include "examples/chat/model.h"
#include "fuzz/memory.h"

namespace fovea_test {
namespace {

using namespace chat;

constexpr uint32_t kMostChanges = 8, kContext = 6;
constexpr size_t kMostMemory = size_t{64} << 20;

volatile uint32_t touched;  // so that reads are not left out

uint32_t touch(const void* data, size_t bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += static_cast<const unsigned char*>(data)[i];
  return sum;
}

// Reads all that a model refers to, so that the address sanitizer sees what lies elsewhere.
uint32_t touch_matrix(const fovea_linear_weights& matrix, uint32_t inputs, uint32_t outputs) {
  std::unique_ptr<float[]> row(new float[inputs]);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < outputs; ++i) {
    expect(take_rows(row.get(), matrix, inputs, outputs, &i, 1) == FOVEA_OK, "a row is refused");
    sum += touch(row.get(), sizeof(float) * inputs);
  }
  return sum + (matrix.bias != nullptr ? touch(matrix.bias, sizeof(float) * outputs) : 0);
}
uint32_t touch_model(const Model& m) {
  const uint32_t q = m.q_heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  uint32_t sum = touch_matrix(m.embeddings, m.width, m.vocabulary) + touch_matrix(m.output, m.width, m.vocabulary) +
                 touch(m.output_norm, sizeof(float) * m.width) + touch(m.words.tokens.data, m.words.tokens.bytes) +
                 touch(m.words.merges.data, m.words.merges.bytes) + touch(m.words.types, size_t{4} * m.vocabulary);
  if (m.rope_factors != nullptr) sum += touch(m.rope_factors, sizeof(float) * (m.rotary_dim / 2));
  for (uint32_t i = 0; i < m.layers; ++i) {
    const Layer& layer = m.layer[i];
    sum += touch(layer.attention_norm, sizeof(float) * m.width) + touch(layer.hidden_norm, sizeof(float) * m.width);
    sum += touch_matrix(layer.q, m.width, q) + touch_matrix(layer.k, m.width, kv) + touch_matrix(layer.v, m.width, kv) +
           touch_matrix(layer.out, q, m.width) + touch_matrix(layer.gate, m.width, m.hidden) +
           touch_matrix(layer.up, m.width, m.hidden) + touch_matrix(layer.down, m.hidden, m.width);
  }
  return sum;
}

using Memory64 = std::unique_ptr<void, void (*)(void*)>;

// The scores of what follows each of kContext tokens, of which `first` are run at once and the others one by one. Empty
// where the settings are refused.
std::vector<float> scores_of(const Model& model, const Settings& settings, uint32_t first) {
  static Decoder decoder;
  const size_t bytes = Decoder::memory_bytes(model, settings);
  if (bytes == 0 || bytes > kMostMemory) return {};
  const Memory64 memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free);
  expect(decoder.init(model, settings, memory.get(), bytes) == FOVEA_OK, "a decoder is refused");
  std::vector<float> all;
  for (uint32_t begin = 0, count = first; begin < kContext; begin += count, count = 1) {
    uint32_t tokens[kContext];
    for (uint32_t i = 0; i < count; ++i) tokens[i] = (begin + i) * 37 % model.vocabulary;
    expect(decoder.run(tokens, count) == FOVEA_OK, "tokens are refused");
    for (uint32_t i = 0; i < count; ++i) {
      float* scores;
      expect(decoder.logits(i, &scores) == FOVEA_OK, "scores are refused");
      all.insert(all.end(), scores, scores + model.vocabulary);
    }
  }
  return all;
}

// Whether all linear layers multiply integers, which have the same bits for any number of tokens.
bool in_groups(const Model& m) {
  bool groups = m.output.dtype >= FOVEA_Q8_0;
  for (uint32_t i = 0; i < m.layers; ++i) {
    const Layer& layer = m.layer[i];
    for (const fovea_linear_weights* const w :
         {&layer.q, &layer.k, &layer.v, &layer.out, &layer.gate, &layer.up, &layer.down}) {
      groups = groups && w->dtype >= FOVEA_Q8_0;
    }
  }
  return groups;
}

void decode(Bytes& bytes, const Model& model, bool changed) {
  Settings settings;
  settings.context = kContext;
  settings.compute = bytes.choose({FOVEA_COMPUTE_I8, FOVEA_COMPUTE_F32});
  const bool integers = settings.compute == FOVEA_COMPUTE_I8;
  settings.cache.dtype = integers ? FOVEA_I8 : bytes.choose({FOVEA_F32, FOVEA_F16, FOVEA_I8});
  if (bytes.flag()) settings.cache.hadamard = FOVEA_HADAMARD_BOTH, settings.cache.centered = bytes.flag();
  const std::vector<float> one_by_one = scores_of(model, settings, 1);
  const std::vector<float> at_once = scores_of(model, settings, 1 + bytes.below(kContext));
  expect(changed || !one_by_one.empty(), "the model is refused");
  if (settings.cache.centered) return;  // scores depend on how long the first run is
  for (size_t i = 0; i < one_by_one.size(); ++i) {
    const float a = one_by_one[i], b = at_once[i];
    if (integers && in_groups(model)) {
      expect(a == b || (std::isnan(a) && std::isnan(b)), "the number of tokens changes bits");
    } else if (!changed) {
      expect(std::fabs(a - b) <= 1e-3f, "the number of tokens changes scores");
    }
    expect(changed || std::isfinite(a), "a score is not finite");
  }
}

std::string draw_file(Bytes& bytes, bool* changed) {
  *changed = true;
  if (bytes.below(8) == 7) {
    std::string raw = "GGUF";
    for (uint32_t count = bytes.below(400); count > 0; --count) raw += char(bytes.take<uint8_t>());
    return raw;
  }
  static const std::string files[] = {[] { return MadeModel().file().bytes(); }(),
                                      [] {
                                        MadeModel m;
                                        m.architecture = "qwen2", m.biases = m.untied = true, m.type = 3;
                                        return m.file().bytes();
                                      }(),
                                      [] {
                                        MadeModel m;
                                        m.layers = 1, m.width = m.hidden = 256, m.head_dim = m.rotary_dim = 64;
                                        m.type = 12, m.embeddings = m.values = 14;
                                        return m.file().bytes();
                                      }(),
                                      [] {
                                        MadeModel m("llama-bpe");
                                        m.type = 6, m.embeddings = 8;
                                        m.rope_factors = {1.0f, 1.0f, 2.0f, 4.0f, 4.0f, 8.0f, 8.0f, 32.0f};
                                        return m.file().bytes();
                                      }()};
  const std::string& made = files[bytes.below(4)];
  std::string file = made;
  for (uint32_t changes = bytes.below(kMostChanges); changes > 0; --changes) {
    // Where there are no weights most of the time.
    const size_t bound = bytes.below(8) == 0 ? file.size() : std::min<size_t>(file.size(), 12000);
    const size_t at = bytes.take<uint32_t>() % bound;
    const auto value = bytes.take<uint64_t>();
    std::memcpy(&file[at], &value, std::min<size_t>(file.size() - at, 1 + bytes.below(8)));
  }
  if (bytes.below(8) == 1) file.resize(bytes.take<uint32_t>() % (file.size() + 1));
  *changed = file != made;
  return file;
}

}  // namespace

void run(Bytes bytes) {
  bool changed;
  const std::string file = draw_file(bytes, &changed);
  // Memory of just its bytes, at a multiple of 32.
  std::unique_ptr<unsigned char[], void (*)(void*)> memory(
      static_cast<unsigned char*>(std::aligned_alloc(32, (file.size() + 31) / 32 * 32 + 32)), std::free);
  const size_t slack = (32 - file.size() % 32) % 32 + 32;
  unsigned char* const data = memory.get();
  std::memcpy(data, file.data(), file.size());
  ASAN_POISON_MEMORY_REGION(data + file.size(), slack);
  static Model model;
  Gguf gguf;
  std::string problem = gguf.read(data, file.size());
  if (problem.empty()) problem = read_model(gguf, &model);
  expect(changed || problem.empty(), problem.c_str());
  if (problem.empty()) touched = touch_model(model), decode(bytes, model, changed);
  ASAN_UNPOISON_MEMORY_REGION(data + file.size(), slack);
}

}  // namespace fovea_test
