// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/model.h"

#include <bitset>
#include <cstdio>

namespace chat {
namespace {

// The supported architectures, by their names in files. They differ in the pairs that rope rotates.
struct Architecture {
  const char* name;
  fovea_rope_layout rope;
};
constexpr Architecture kArchitectures[] = {{"llama", FOVEA_ROPE_INTERLEAVED}, {"qwen2", FOVEA_ROPE_HALF_SPLIT}};

// The ways to split words, by their names in files.
struct Splitter {
  const char* name;
  PreTokenizer kind;
};
constexpr Splitter kSplitters[] = {
    {"smollm", PreTokenizer::kSmollm}, {"qwen2", PreTokenizer::kQwen2}, {"llama-bpe", PreTokenizer::kLlama3}};

// The keys of a model that are known. Any other key with the architecture's name is refused: it may mean other
// arithmetic.
constexpr const char* kKnownKeys[] = {
    "block_count",          "context_length",          "embedding_length",     "feed_forward_length",
    "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length",
    "rope.dimension_count", "rope.freq_base",          "vocab_size",           "attention.layer_norm_rms_epsilon"};

// Reads values and tensors of a file. Keeps the first problem.
class Reader {
 public:
  Reader(const Gguf& file, std::string_view architecture) : file_(file), prefix_(std::string(architecture) + ".") {}

  const std::string& problem() const { return problem_; }
  void fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  template <class T>
  T number(const char* key, T least, T most) {
    T value{};
    if (!file_.number(prefix_ + key, &value)) {
      fail("lacks " + prefix_ + key + ", or it is no such number");
    } else if (!(value >= least && value <= most)) {
      fail("has " + prefix_ + key + " of " + std::to_string(value) + ", which is not served");
    }
    return problem_.empty() ? value : least;
  }
  template <class T>
  T number_or(const char* key, T otherwise, T least, T most) {
    GgufValue value;
    return file_.find(prefix_ + key, &value) ? number(key, least, most) : otherwise;
  }

  void check_keys() {
    for (uint32_t i = 0; i < file_.values(); ++i) {
      std::string_view key;
      file_.value(i, &key);
      if (key.substr(0, prefix_.size()) != prefix_) continue;
      bool known = key.substr(prefix_.size()) == "rope.scaling.type";
      std::string_view scaling;
      if (known && (!file_.text(key, &scaling) || scaling != "none")) {
        return fail("scales its rope, which is not served");
      }
      for (const char* const name : kKnownKeys) known = known || key.substr(prefix_.size()) == name;
      if (!known) return fail("has " + printable(key) + ", which is not served");
    }
  }

  // A tensor of floats. Null if there is none, which is a problem unless it is optional.
  const float* floats(const std::string& name, uint32_t count, bool optional = false) {
    GgufTensor tensor;
    if (!take(name, count, 1, optional, &tensor)) return nullptr;
    if (tensor.type != 0) {
      fail("has " + name + " of type " + ggml_type(tensor.type)->name + ", not F32");
      return nullptr;
    }
    return reinterpret_cast<const float*>(tensor.data);
  }

  // A matrix with a row for each output, with its bias if there is one. data is null if there is no matrix.
  fovea_linear_weights matrix(const std::string& name, uint32_t inputs, uint32_t outputs, bool optional = false) {
    fovea_linear_weights matrix = {};
    GgufTensor tensor;
    if (!take(name + ".weight", inputs, outputs, optional, &tensor)) return matrix;
    const GgmlType& type = *ggml_type(tensor.type);
    if (type.block == 0) {
      fail("has " + tensor_text(tensor) + ", a type that is not served");
      return matrix;
    }
    matrix.dtype = type.dtype;
    matrix.data = tensor.data;
    matrix.row_stride = static_cast<ptrdiff_t>(type.block == 1 ? inputs : inputs / type.block * type.bytes);
    matrix.bias = floats(name + ".bias", outputs, true);
    return matrix;
  }

  // Fails if the file has a tensor that was not read.
  void check_tensors() {
    for (uint32_t i = 0; i < file_.tensors(); ++i) {
      if (!taken_[i]) return fail("has " + tensor_text(file_.tensor(i)) + ", which is not served");
    }
  }

 private:
  static std::string tensor_text(const GgufTensor& tensor) {
    return "tensor " + printable(tensor.name) + " of type " + ggml_type(tensor.type)->name;
  }

  bool take(const std::string& name, uint32_t columns, uint32_t rows, bool optional, GgufTensor* tensor) {
    if (!problem_.empty()) return false;
    if (!file_.find_tensor(name, tensor)) {
      if (!optional) fail("lacks tensor \"" + name + "\"");
      return false;
    }
    taken_[tensor->index] = true;
    if (tensor->dims[0] != columns || tensor->dims[1] != rows || tensor->dims[2] != 1 || tensor->dims[3] != 1) {
      fail("has " + tensor_text(*tensor) + " of " + std::to_string(tensor->dims[0]) + " x " +
           std::to_string(tensor->dims[1]) + ", not " + std::to_string(columns) + " x " + std::to_string(rows));
      return false;
    }
    return true;
  }

  const Gguf& file_;
  const std::string prefix_;
  std::string problem_;
  std::bitset<Gguf::kMostTensors> taken_;
};

void read_shape(Reader& reader, Model* m) {
  constexpr uint32_t kMost = 1u << 16;  // inputs of a linear layer with integer products
  m->layers = reader.number<uint32_t>("block_count", 1, kMostLayers);
  m->width = reader.number<uint32_t>("embedding_length", 1, kMost);
  m->hidden = reader.number<uint32_t>("feed_forward_length", 1, kMost);
  m->q_heads = reader.number<uint32_t>("attention.head_count", 1, kMost);
  m->kv_heads = reader.number_or<uint32_t>("attention.head_count_kv", m->q_heads, 1, m->q_heads);
  m->head_dim = reader.number_or<uint32_t>("attention.key_length", m->width / m->q_heads, 1, 1024);
  const auto value_dim = reader.number_or<uint32_t>("attention.value_length", m->head_dim, 1, 1024);
  m->rotary_dim = reader.number_or<uint32_t>("rope.dimension_count", m->head_dim, 2, 1024);
  m->rope_base = reader.number_or<float>("rope.freq_base", 10000.0f, 1.0f, 1e9f);
  m->epsilon = reader.number<float>("attention.layer_norm_rms_epsilon", 0.0f, 1.0f);
  m->context = reader.number<uint32_t>("context_length", 1, 1u << 24);
  if (!reader.problem().empty()) return;
  if (m->q_heads % m->kv_heads != 0 || value_dim != m->head_dim || m->rotary_dim > m->head_dim ||
      m->rotary_dim % 2 != 0 || m->head_dim == 0 || m->q_heads * m->head_dim > kMost) {
    reader.fail("has heads that do not fit together");
  }
}

void read_layer(Reader& reader, const Model& m, uint32_t index, Layer* layer) {
  const std::string block = "blk." + std::to_string(index) + ".";
  const uint32_t q = m.q_heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  layer->attention_norm = reader.floats(block + "attn_norm.weight", m.width);
  layer->q = reader.matrix(block + "attn_q", m.width, q);
  layer->k = reader.matrix(block + "attn_k", m.width, kv);
  layer->v = reader.matrix(block + "attn_v", m.width, kv);
  layer->out = reader.matrix(block + "attn_output", q, m.width);
  layer->hidden_norm = reader.floats(block + "ffn_norm.weight", m.width);
  layer->gate = reader.matrix(block + "ffn_gate", m.width, m.hidden);
  layer->up = reader.matrix(block + "ffn_up", m.width, m.hidden);
  layer->down = reader.matrix(block + "ffn_down", m.hidden, m.width);
}

void read_words(const Gguf& file, Reader& reader, Model* m) {
  std::string_view kind, splitter;
  if (!file.text("tokenizer.ggml.model", &kind) || kind != "gpt2") {
    return reader.fail("has a tokenizer of the kind " + printable(kind) + ", not \"gpt2\"");
  }
  const Splitter* found = nullptr;
  if (!file.text("tokenizer.ggml.pre", &splitter)) splitter = {};
  for (const Splitter& s : kSplitters) {
    if (splitter == s.name) found = &s;
  }
  if (found == nullptr) return reader.fail("splits words as " + printable(splitter) + ", which is not served");
  m->words.splitter = found->kind;
  GgufValue types;
  if (!file.strings("tokenizer.ggml.tokens", &m->words.tokens) || m->words.tokens.count != m->vocabulary) {
    return reader.fail("does not have a text for each token");
  }
  if (!file.strings("tokenizer.ggml.merges", &m->words.merges)) return reader.fail("lacks tokenizer.ggml.merges");
  if (!file.find("tokenizer.ggml.token_type", &types) || !types.is_array || types.type != GgufType::kI32 ||
      types.count != m->vocabulary) {
    return reader.fail("does not have a type for each token");
  }
  m->words.types = types.data;
  if (!file.number("tokenizer.ggml.eos_token_id", &m->end_token) || m->end_token >= m->vocabulary) {
    return reader.fail("does not say which token ends a text");
  }
  // Files of Llama 3 need not say that its texts begin with a token.
  GgufValue begins;
  bool has_begin = m->words.splitter == PreTokenizer::kLlama3;
  if (file.find("tokenizer.ggml.add_bos_token", &begins)) {
    if (begins.type != GgufType::kBool || begins.is_array)
      return reader.fail("does not say whether a token begins a text");
    has_begin = *begins.data != 0;
  }
  m->begin_token = kNoToken;
  if (!has_begin) return;
  if (!file.number("tokenizer.ggml.bos_token_id", &m->begin_token) || m->begin_token >= m->vocabulary) {
    reader.fail("does not say which token begins a text");
  }
}

// Factors below 1 would make more than a whole turn of a token's.
void check_rope_factors(Reader& reader, const Model& m) {
  for (uint32_t i = 0; m.rope_factors != nullptr && i < m.rotary_dim / 2; ++i) {
    if (!(m.rope_factors[i] >= 1.0f && m.rope_factors[i] <= 1e6f))
      return reader.fail("has factors of its rope that are not served");
  }
}

}  // namespace

std::string read_model(const Gguf& file, Model* model) {
  *model = {};
  std::string_view name;
  if (!file.text("general.architecture", &name)) return "does not name its architecture";
  const Architecture* architecture = nullptr;
  for (const Architecture& a : kArchitectures) {
    if (name == a.name) architecture = &a;
  }
  if (architecture == nullptr) return "is of architecture " + printable(name) + ", which is not served";

  Reader reader(file, name);
  reader.check_keys();
  read_shape(reader, model);
  model->rope_layout = architecture->rope;
  Strings tokens;
  if (file.strings("tokenizer.ggml.tokens", &tokens) && tokens.count <= UINT32_MAX) {
    model->vocabulary = static_cast<uint32_t>(tokens.count);
  }
  model->embeddings = reader.matrix("token_embd", model->width, model->vocabulary);
  if (model->embeddings.bias != nullptr) reader.fail("has token_embd.bias, which is not served");
  const uint32_t said = reader.number_or<uint32_t>("vocab_size", model->vocabulary, 1, UINT32_MAX);
  if (said != model->vocabulary) reader.fail("has texts of other tokens than its vocab_size says");
  for (uint32_t i = 0; i < model->layers; ++i) read_layer(reader, *model, i, &model->layer[i]);
  model->rope_factors = reader.floats("rope_freqs.weight", model->rotary_dim / 2, true);
  check_rope_factors(reader, *model);
  model->output_norm = reader.floats("output_norm.weight", model->width);
  model->output = reader.matrix("output", model->width, model->vocabulary, true);
  if (model->output.data == nullptr) model->output = model->embeddings;
  reader.check_tensors();
  if (reader.problem().empty()) read_words(file, reader, model);
  return reader.problem();
}

fovea_status take_rows(float* out, const fovea_linear_weights& matrix, uint32_t columns, uint32_t rows,
                       const uint32_t* indices, uint32_t count) {
  fovea_embedding_args args = {};
  args.struct_bytes = sizeof args;
  args.tokens = count, args.dim = columns, args.rows = rows;
  args.y = out, args.y_stride = static_cast<ptrdiff_t>(columns);
  args.indices = indices;
  args.table = matrix;
  return fovea_embedding(&args);
}

}  // namespace chat
