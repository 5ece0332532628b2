// SPDX-License-Identifier: Apache-2.0
//
// Made-up files and models: which files are refused, and that scores agree with the same arithmetic in double. Exit
// code: 0, or 1 when something is wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include "examples/chat/checks.h"
#include "examples/chat/decoder.h"
#include "examples/chat/made_model.h"
#include "examples/chat/sampler.h"
#include "platform/platform.h"

namespace chat {
namespace {

// Bytes with the alignment of a file.
struct Placed {
  explicit Placed(const std::string& bytes) : words(bytes.size() / 64 + 1), size(bytes.size()) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  struct alignas(64) Word {
    unsigned char bytes[64];
  };
  std::vector<Word> words;
  size_t size;
  const unsigned char* data() const { return words[0].bytes; }
};

std::string problem_of(const std::string& bytes) {
  const Placed placed(bytes);
  static Model model;
  Gguf file;
  std::string problem = file.read(placed.data(), placed.size);
  return problem.empty() ? read_model(file, &model) : problem;
}

void refuses(const std::string& bytes, const char* what) {
  const std::string problem = problem_of(bytes);
  check(problem.find(what) != std::string::npos, "\"" + problem + "\" does not say \"" + what + "\"");
}

void test_files() {
  MadeModel made;
  const std::string good = made.file().bytes();
  check(problem_of(good).empty(), "a good file is refused: " + problem_of(good));
  for (size_t bytes = 0; bytes < good.size(); bytes += bytes < 256 ? 1 : 997) {
    check(!problem_of(good.substr(0, bytes)).empty(), "a file cut to " + std::to_string(bytes) + " bytes is taken");
  }
  refuses("GGML" + good.substr(4), "is not a GGUF file");
  refuses("", "is not a GGUF file");
  std::string spoilt = good;
  spoilt[4] = 1;
  refuses(spoilt, "of GGUF version 1");
  spoilt = good;
  std::memset(&spoilt[8], 0xff, 8);
  refuses(spoilt, "more than any model");

  struct Change {
    const char* what;
    std::function<void(MadeModel&, MadeFile*)> make;
  };
  const Change changes[] = {
      {"is of architecture \"gemma\"", [](MadeModel& m, MadeFile* f) { m.architecture = "gemma", *f = m.file(); }},
      {"has \"llama.expert_count\", which is not served",
       [](MadeModel&, MadeFile* f) { f->u32("llama.expert_count", 8); }},
      {"scales its rope", [](MadeModel&, MadeFile* f) { f->text("llama.rope.scaling.type", "linear"); }},
      {"has factors of its rope that are not served",
       [](MadeModel&, MadeFile* f) { f->tensor("rope_freqs.weight", 0, {8}, std::string(32, 0)); }},
      {"has tensor \"rope_freqs.weight\" of type F32 of 9 x 1, not 8 x 1",
       [](MadeModel&, MadeFile* f) { f->tensor("rope_freqs.weight", 0, {9}, std::string(36, 0)); }},
      {"splits words as \"gpt-2\"", [](MadeModel& m, MadeFile* f) { m.splitter = "gpt-2", *f = m.file(); }},
      {"does not say whether a token begins a text",
       [](MadeModel&, MadeFile* f) { f->u32("tokenizer.ggml.add_bos_token", 1); }},
      {"has tensor \"more\" of the unknown type 99", [](MadeModel&, MadeFile* f) { f->tensor("more", 99, {1}, ""); }},
      {"has tensor \"more\" of type IQ2_XXS", [](MadeModel&, MadeFile* f) { f->tensor("more", 16, {256}, ""); }},
      {"impossible size", [](MadeModel&, MadeFile* f) { f->tensor("more", 14, {128}, std::string(210, 0)); }},
      {"ends behind its end", [](MadeModel&, MadeFile* f) { f->tensor("more", 0, {1u << 20}, ""); }},
      {"has two values of \"llama.block_count\"", [](MadeModel&, MadeFile* f) { f->u32("llama.block_count", 2); }},
      {"other tokens than its vocab_size", [](MadeModel&, MadeFile* f) { f->u32("llama.vocab_size", 7); }},
      {"does not say which token begins a text",
       [](MadeModel&, MadeFile* f) { f->number("tokenizer.ggml.add_bos_token", GgufType::kBool, '\1'); }},
      {"has token_embd.bias",
       [](MadeModel& m, MadeFile* f) {
         f->tensor("token_embd.bias", 0, {m.vocabulary()}, std::string(size_t{4} * m.vocabulary(), 0));
       }},
      {"impossible size", [](MadeModel&, MadeFile* f) { f->tensor("more", 0, {1ull << 40, 1ull << 40}, ""); }},
      {"impossible size", [](MadeModel&, MadeFile* f) { f->tensor("more", 8, {33}, std::string(68, 0)); }},
      {"5 dimensions", [](MadeModel&, MadeFile* f) { f->tensor("more", 0, {1, 1, 1, 1, 1}, "abcd"); }},
      {"0 dimensions", [](MadeModel&, MadeFile* f) { f->tensor("more", 0, {}, "abcd"); }},
      {"a value of unknown type", [](MadeModel&, MadeFile* f) { f->number("more", static_cast<GgufType>(13), 0); }},
      {"a value of unknown type", [](MadeModel&, MadeFile* f) { f->array("more", GgufType::kArray, 0, ""); }},
      {"cut short in value", [](MadeModel&, MadeFile* f) { f->array("more", GgufType::kU64, 1ull << 62, ""); }},
      {"multiple of 32", [](MadeModel&, MadeFile* f) { f->u32("general.alignment", 24); }},
      {"heads that do not fit", [](MadeModel& m, MadeFile* f) { m.kv_heads = 3, *f = m.file(); }},
      {"heads that do not fit", [](MadeModel& m, MadeFile* f) { m.rotary_dim = 18, *f = m.file(); }},
      {"has llama.attention.head_count_kv of 0", [](MadeModel& m, MadeFile* f) { m.kv_heads = 0, *f = m.file(); }},
  };
  for (const Change& change : changes) {
    MadeModel m;
    MadeFile file = m.file();
    change.make(m, &file);
    refuses(file.bytes(), change.what);
  }
  MadeFile older = MadeModel().file();
  older.version = 2;
  check(problem_of(older.bytes()).empty(), "version 2 is refused");
  // A tensor with a wrong name or size.
  std::string renamed = good;
  renamed[renamed.find("blk.1.ffn_up.weight") + 4] = '7';
  refuses(renamed, "lacks tensor \"blk.1.ffn_up.weight\"");
  std::string resized = good;
  resized[resized.find("blk.1.ffn_up.weight") + 19 + 4] = 32;
  refuses(resized, "of 32 x 96, not 64 x 96");
}

// ---------------------------------------------------------------------------------------------- scores

using Row = std::vector<double>;

// The same model in double, with keys and values of all tokens so far.
class Reference {
 public:
  explicit Reference(const MadeModel& model) : m_(model), keys_(model.layers), values_(model.layers) {}

  Row next(uint32_t token) {
    Row x(m_.width);
    for (uint32_t i = 0; i < m_.width; ++i) x[i] = m_.weights.at("token_embd.weight")[size_t{token} * m_.width + i];
    for (uint32_t layer = 0; layer < m_.layers; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      add(&x, attend(layer, block, norm(x, block + "attn_norm.weight")));
      const Row n = norm(x, block + "ffn_norm.weight");
      Row gate = linear(n, block + "ffn_gate");
      const Row up = linear(n, block + "ffn_up");
      for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1.0 + std::exp(-gate[i])) * up[i];
      add(&x, linear(gate, block + "ffn_down"));
    }
    ++position_;
    return linear(norm(x, "output_norm.weight"), m_.untied ? "output" : "token_embd");
  }

 private:
  static void add(Row* x, const Row& more) {
    for (size_t i = 0; i < x->size(); ++i) (*x)[i] += more[i];
  }
  Row norm(const Row& x, const std::string& name) const {
    double sum = 0.0;
    for (const double v : x) sum += v * v;
    const double factor = 1.0 / std::sqrt(sum / static_cast<double>(x.size()) + static_cast<double>(m_.epsilon));
    Row y(x);
    for (size_t i = 0; i < y.size(); ++i) y[i] *= factor * static_cast<double>(m_.weights.at(name)[i]);
    return y;
  }
  Row linear(const Row& x, const std::string& name) const {
    const std::vector<float>& w = m_.weights.at(name + ".weight");
    const auto bias = m_.weights.find(name + ".bias");
    Row y(w.size() / x.size());
    for (size_t o = 0; o < y.size(); ++o) {
      y[o] = bias != m_.weights.end() ? static_cast<double>(bias->second[o]) : 0.0;
      for (size_t i = 0; i < x.size(); ++i) y[o] += static_cast<double>(w[o * x.size() + i]) * x[i];
    }
    return y;
  }
  void turn(Row* heads) const {
    const uint32_t half = m_.rotary_dim / 2;
    for (size_t head = 0; head < heads->size(); head += m_.head_dim) {
      for (uint32_t i = 0; i < half; ++i) {
        const double factor = m_.rope_factors.empty() ? 1.0 : static_cast<double>(m_.rope_factors[i]);
        const double angle = position_ * std::pow(static_cast<double>(m_.rope_base), -2.0 * i / m_.rotary_dim) / factor;
        const bool split = m_.architecture == "qwen2";
        double &a = (*heads)[head + (split ? i : 2 * i)], &b = (*heads)[head + (split ? i + half : 2 * i + 1)];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    }
  }
  Row attend(uint32_t layer, const std::string& block, const Row& x) {
    Row q = linear(x, block + "attn_q"), k = linear(x, block + "attn_k");
    turn(&q), turn(&k);
    keys_[layer].push_back(k), values_[layer].push_back(linear(x, block + "attn_v"));
    Row out(q.size());
    for (uint32_t head = 0; head < m_.q_heads; ++head) {
      const size_t at = head * m_.head_dim, kv = head / (m_.q_heads / m_.kv_heads) * m_.head_dim;
      double sum = 0.0;
      for (size_t t = 0; t < keys_[layer].size(); ++t) {
        double score = 0.0;
        for (uint32_t i = 0; i < m_.head_dim; ++i) score += q[at + i] * keys_[layer][t][kv + i];
        const double weight = std::exp(score / std::sqrt(double{m_.head_dim * 1.0}));
        sum += weight;
        for (uint32_t i = 0; i < m_.head_dim; ++i) out[at + i] += weight * values_[layer][t][kv + i];
      }
      for (uint32_t i = 0; i < m_.head_dim; ++i) out[at + i] /= sum;
    }
    return linear(out, block + "attn_output");
  }

  const MadeModel& m_;
  double position_ = 0.0;
  std::vector<std::vector<Row>> keys_, values_;
};

// The scores after each of these tokens, which are run in pieces of these counts.
std::vector<std::vector<float>> scores_of(const Model& model, const Settings& settings,
                                          const std::vector<uint32_t>& tokens, const std::vector<uint32_t>& runs) {
  static Decoder decoder;
  std::vector<std::vector<float>> all;
  const size_t bytes = Decoder::memory_bytes(model, settings);
  std::vector<Placed::Word> memory((bytes + 63) / 64);
  check(bytes != 0 && decoder.init(model, settings, memory.data(), bytes) == FOVEA_OK, "a decoder is refused");
  const fovea_status short_of = decoder.init(model, settings, memory.data(), bytes - 1);
  check(short_of == FOVEA_ERR_WORKSPACE, "memory is short");
  check(decoder.init(model, settings, memory.data(), bytes) == FOVEA_OK, "a decoder is refused");
  size_t begin = 0;
  for (size_t run = 0; begin < tokens.size(); ++run) {
    const auto count = static_cast<uint32_t>(std::min<size_t>(runs[run % runs.size()], tokens.size() - begin));
    check(decoder.run(&tokens[begin], count) == FOVEA_OK, "a run is refused");
    for (uint32_t i = 0; i < count; ++i) {
      float* scores = nullptr;
      check(decoder.logits(i, &scores) == FOVEA_OK, "scores are refused");
      all.emplace_back(scores, scores + model.vocabulary);
    }
    begin += count;
  }
  check(decoder.length() == tokens.size(), "a wrong length");
  const std::vector<uint32_t> more(decoder.room() + 1);
  if (more.size() <= kBlock) {
    check(decoder.run(more.data(), static_cast<uint32_t>(more.size())) == FOVEA_ERR_FULL, "a full context takes more");
  }
  // Truncation removes tokens from every layer.
  for (const uint32_t left : {40u, 0u}) {
    if (left == 0 && settings.cache.centered) continue;  // keys then have another center
    check(decoder.truncate(left) == FOVEA_OK && decoder.length() == left, "truncation is refused");
    float* scores = nullptr;
    check(decoder.run(&tokens[left], 1) == FOVEA_OK && decoder.logits(0, &scores) == FOVEA_OK, "a run is refused");
    double error = 0.0;
    for (uint32_t i = 0; i < model.vocabulary; ++i) {
      error = std::max(error, static_cast<double>(std::fabs(scores[i] - all[left][i])));
    }
    // Linear layers round few tokens otherwise than many, and then another half may be the nearest.
    const double most = settings.compute == FOVEA_COMPUTE_F16 ? 1e-2 : 1e-3;
    check(error < most, "after truncation scores are off by " + std::to_string(error));
    check(decoder.truncate(left) == FOVEA_OK, "truncation is refused");
  }
  return all;
}

void test_scores(const char* name, const std::function<void(MadeModel&)>& change) {
  MadeModel made;
  change(made);
  const Placed placed(made.file().bytes());
  static Model model;
  Gguf file;
  std::string problem = file.read(placed.data(), placed.size);
  if (problem.empty()) problem = read_model(file, &model);
  check(problem.empty(), std::string(name) + ": " + problem);
  if (!problem.empty()) return;

  std::vector<uint32_t> tokens;
  for (uint32_t i = 0; i < 70; ++i) tokens.push_back(i * 37 % made.vocabulary());
  Reference reference(made);
  std::vector<Row> want;
  for (const uint32_t token : tokens) want.push_back(reference.next(token));

  fovea::platform::ThreadPool pool(2);
  struct Case {
    fovea_compute compute;
    CacheType cache;
    double most;  // largest error, in units of the largest score
  };
  const Case cases[] = {{FOVEA_COMPUTE_F32, {FOVEA_F32, FOVEA_HADAMARD_NONE, false}, 1e-5},
                        {FOVEA_COMPUTE_F32, {FOVEA_F32, FOVEA_HADAMARD_BOTH, false}, 1e-5},
                        {FOVEA_COMPUTE_F32, {FOVEA_F32, FOVEA_HADAMARD_BOTH, true}, 1e-5},
                        {FOVEA_COMPUTE_F32, {FOVEA_F16, FOVEA_HADAMARD_NONE, false}, 2e-3},
                        {FOVEA_COMPUTE_F16, {FOVEA_F16, FOVEA_HADAMARD_NONE, false}, 2e-2},
                        {FOVEA_COMPUTE_F32, {FOVEA_I8, FOVEA_HADAMARD_NONE, false}, 6e-2},
                        {FOVEA_COMPUTE_F32, {FOVEA_I8, FOVEA_HADAMARD_BOTH, false}, 0.12},
                        {FOVEA_COMPUTE_I8, {FOVEA_I8, FOVEA_HADAMARD_NONE, false}, 0.12},
                        {FOVEA_COMPUTE_I8, {FOVEA_Q8_0, FOVEA_HADAMARD_BOTH, false}, 0.12},
                        {FOVEA_COMPUTE_I8, {FOVEA_Q8_0, FOVEA_HADAMARD_BOTH, true}, 0.13}};
  for (const Case& c : cases) {
    Settings settings;
    settings.compute = c.compute;
    settings.cache = c.cache;
    settings.context = 71;
    const auto scores = scores_of(model, settings, tokens, {64, 1, 3});
    double error = 0.0, size = 0.0;
    for (size_t t = 0; t < tokens.size(); ++t) {
      for (uint32_t i = 0; i < made.vocabulary(); ++i) {
        error = std::max(error, std::fabs(static_cast<double>(scores[t][i]) - want[t][i]));
        size = std::max(size, std::fabs(want[t][i]));
      }
    }
    check(error <= c.most * size, std::string(name) + ": error " + std::to_string(error / size) + " with compute " +
                                      std::to_string(c.compute) + ", cache " + std::to_string(c.cache.dtype));
    if (c.cache.dtype != FOVEA_I8) continue;
    settings.executor = &pool.executor();
    check(scores_of(model, settings, tokens, {64, 1, 3}) == scores, std::string(name) + ": threads change scores");
    const bool groups = made.type == 2 || made.type == 3 || made.type == 6 || made.type == 8 || made.type == 12 ||
                        made.type == 14;  // else the linear layers are f32
    if (c.compute == FOVEA_COMPUTE_I8 && groups) {
      check(scores_of(model, settings, tokens, {1}) == scores, std::string(name) + ": runs change scores");
    }
  }
}

// -------------------------------------------------------------------------------------------- sampling

void test_sampler() {
  const float scores[] = {1.0f, 3.0f, 2.0f, 3.0f, -1.0f};
  const auto draw = [&](Sampler& sampler) {
    float copy[5];
    std::copy_n(scores, 5, copy);
    uint32_t token = 5;
    check(sampler.choose(copy, 5, &token) == FOVEA_OK, "scores are refused");
    return token;
  };
  Sampler greedy({0.0f, 1, 1.0f, 0.0f, 1.0f}, FOVEA_TARGET_BEST);
  for (int i = 0; i < 3; ++i) check(draw(greedy) == 1, "the first of the highest scores is not chosen");
  // A penalty of 2, once for each token: 3, 3 and 2 become 1.5, 1.5 and 1.
  Sampler careful({0.0f, 40, 0.95f, 0.05f, 2.0f}, FOVEA_TARGET_BEST);
  for (const uint32_t token : {1u, 3u, 2u, 1u, 1u}) check(draw(careful) == token, "a repeated token has another score");

  // Compares how often each token is chosen with its probability among those that the steps keep. Without temperature
  // the probabilities of tokens 1, 3, 2, 0 and 4 are 0.40, 0.40, 0.147, 0.054 and 0.007.
  constexpr int kDraws = 20000;
  const struct {
    Sampling sampling;
    std::vector<int> kept;
  } cases[] = {
      {{}, {1, 3, 2, 0}},
      {{1.0f, 40, 1.0f, 0.0f}, {1, 3, 2, 0, 4}},
      {{1.0f, 3, 1.0f, 0.0f}, {1, 3, 2}},
      {{1.0f, 1, 1.0f, 0.0f}, {1}},
      {{1.0f, 40, 0.9f, 0.0f}, {1, 3, 2}},
      {{1.0f, 3, 0.85f, 0.0f}, {1, 3, 2}},  // of three tokens, two have 0.845
      {{1.0f, 40, 0.5f, 0.0f}, {1, 3}},
      {{1.0f, 40, 0.0f, 0.0f}, {1}},
      {{1.0f, 40, 1.0f, 0.2f}, {1, 3, 2}},
      {{0.5f, 40, 1.0f, 0.2f}, {1, 3, 2}},  // the temperature comes last
      {{3.0f, 40, 0.9f, 0.0f}, {1, 3, 2}},
  };
  for (const auto& c : cases) {
    Sampling sampling = c.sampling;
    sampling.repeat_penalty = 1.0f;
    sampling.seed = 7;
    Sampler sampler(sampling, FOVEA_TARGET_BEST), same(sampling, FOVEA_TARGET_BEST);
    double counts[5] = {}, want[5] = {}, sum = 0.0;
    for (int i = 0; i < kDraws; ++i) {
      const uint32_t token = draw(sampler);
      check(draw(same) == token, "the same seed gives other tokens");
      counts[token] += 1.0 / kDraws;
    }
    for (const int i : c.kept) {
      want[i] = std::exp(static_cast<double>(scores[i]) / static_cast<double>(sampling.temperature));
      sum += want[i];
    }
    for (int i = 0; i < 5; ++i) {
      check(std::fabs(counts[i] - want[i] / sum) < 0.015 && (counts[i] == 0.0) == (want[i] == 0.0),
            "token " + std::to_string(i) + " came " + std::to_string(counts[i]) + " times, case " +
                std::to_string(&c - cases));
    }
  }
  float strange[] = {0.0f, std::nanf(""), 1.0f};
  uint32_t token;
  check(greedy.choose(strange, 3, &token) == FOVEA_ERR_NUMBER, "NaN is taken");
  strange[1] = INFINITY;
  check(greedy.choose(strange, 3, &token) == FOVEA_ERR_NUMBER, "infinity is taken");
}

int run() {
  test_files();
  test_scores("llama", [](MadeModel&) {});
  test_scores("half-split, biases, untied", [](MadeModel& m) { m.architecture = "qwen2", m.biases = m.untied = true; });
  test_scores("wide heads, of which half turns", [](MadeModel& m) { m.head_dim = 32, m.rotary_dim = 16; });
  test_scores("one key head", [](MadeModel& m) { m.kv_heads = 1; });
  test_scores("factors of rope",
              [](MadeModel& m) { m.rope_factors = {1.0f, 1.0f, 1.0f, 1.5f, 4.0f, 8.0f, 8.0f, 32.0f}; });
  test_scores("Q4_1", [](MadeModel& m) { m.type = 3; });
  test_scores("F16", [](MadeModel& m) { m.type = 1; });
  test_scores("BF16", [](MadeModel& m) { m.type = 30; });
  test_scores("Q4_0", [](MadeModel& m) { m.type = 2; });
  test_scores("Q4_1 with embeddings of Q8_0, aligned to 64 bytes",
              [](MadeModel& m) { m.type = 3, m.embeddings = 8, m.alignment = 64; });
  test_scores("Q5_0 and Q8_0, as a narrow model of Q4_K_M",
              [](MadeModel& m) { m.type = 6, m.embeddings = m.values = 8; });
  test_scores("Q5_1", [](MadeModel& m) { m.type = 7; });
  test_scores("IQ4_NL", [](MadeModel& m) { m.type = 20; });
  test_scores("Q8_0", [](MadeModel& m) { m.type = 8; });
  const auto widen = [](MadeModel& m) { m.width = 256, m.hidden = 512, m.head_dim = 64, m.rotary_dim = 64; };
  test_scores("Q6_K", [&](MadeModel& m) { widen(m), m.type = 14; });
  test_scores("Q4_K_M", [&](MadeModel& m) { widen(m), m.type = 12, m.embeddings = m.values = 14; });
  test_sampler();
  return report();
}

}  // namespace
}  // namespace chat

int main() { return chat::run(); }
