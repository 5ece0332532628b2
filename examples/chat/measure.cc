// SPDX-License-Identifier: Apache-2.0
//
// Measures accuracy: a model's scores, and the effect of coarser arithmetic and caches. Tests and README.md use it. Also
// measures speed, for bench/peers/chat.py.
// Exit code: 0; 1 when the model cannot be read or a call fails; 2 for wrong arguments.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "examples/chat/decoder.h"
#include "examples/chat/mapped_file.h"
#include "examples/chat/model.h"
#include "examples/chat/tokenizer.h"
#include "platform/platform.h"

namespace chat {
namespace {

constexpr uint32_t kContext = 512;
constexpr char kUsage[] =
    "usage: chat_measure scores MODEL f32|f16|i8 CACHE      arithmetic, and the cache's type\n"
    "       chat_measure compare MODEL f32|f16|i8 CACHE TEXT_FILE TOKENS\n"
    "       chat_measure greedy MODEL f32|f16|i8 CACHE TOKENS\n"
    "       chat_measure tokens MODEL\n"
    "       chat_measure speed MODEL f32|f16|i8 CACHE file|large THREADS DEPTH PROMPT ANSWER\n"
    "CACHE: f32, f16, i8, q8_0, i4 or q4_0; i4-rotated and so on for rotated keys and values; i4-centered and so on\n"
    "for keys that are centred, too.\n"
    "scores: each line of the standard input has numbers of tokens, a bar, and numbers of tokens. Runs the first\n"
    "tokens, and prints the scores of the second ones as the next token.\n"
    "compare: f32 and the given arithmetic, on the first tokens of a text, in pieces of 512. Prints both\n"
    "perplexities, their ratio, the mean Kullback-Leibler divergence, and how often the likeliest token is the same.\n"
    "greedy: each line of the standard input has numbers of tokens. Runs them, and prints the TOKENS likeliest tokens\n"
    "that follow one another.\n"
    "tokens: prints the numbers of the tokens of each line of the standard input.\n"
    "speed: runs DEPTH tokens, then PROMPT tokens in blocks, then ANSWER tokens one by one with their scores, and\n"
    "prints the nanoseconds of the PROMPT tokens and of the ANSWER tokens. file, large: the pages of the weights.\n";

int failed(const char* what, const char* why) {
  std::fprintf(stderr, "chat_measure: %s: %s\n", what, why);
  return 1;
}

struct Runner {
  std::unique_ptr<unsigned char, void (*)(void*)> memory{nullptr, std::free};
  Decoder decoder;

  fovea_status init(const Model& model, fovea_compute compute, CacheType cache, uint32_t context = kContext,
                    const fovea_executor* executor = nullptr) {
    Settings settings;
    settings.compute = compute;
    settings.cache = cache;
    settings.context = context;
    settings.executor = executor;
    const size_t bytes = Decoder::memory_bytes(model, settings);
    memory.reset(static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
    return memory != nullptr ? decoder.init(model, settings, memory.get(), bytes) : FOVEA_ERR_WORKSPACE;
  }
};

Model model;
Runner plain, coarse;

// Runs the tokens from the beginning of a context, and gives the scores of the next one.
fovea_status run_tokens(std::vector<uint32_t> tokens, float** scores) {
  fovea_status status = coarse.decoder.truncate(0);
  uint32_t run = 0;
  for (size_t i = 0; status == FOVEA_OK && i < tokens.size(); i += run) {
    run = static_cast<uint32_t>(std::min<size_t>(kBlock, tokens.size() - i));
    status = coarse.decoder.run(&tokens[i], run);
  }
  *scores = nullptr;
  if (status == FOVEA_OK && run != 0) status = coarse.decoder.logits(run - 1, scores);
  return status == FOVEA_OK && *scores == nullptr ? FOVEA_ERR_LENGTH : status;
}

// The numbers of a text. False, after a message, if there is no such token.
bool read_tokens(const std::string& text, std::vector<uint32_t>* tokens) {
  std::istringstream numbers(text);
  tokens->assign(std::istream_iterator<uint32_t>(numbers), {});
  for (const uint32_t token : *tokens) {
    if (token >= model.vocabulary) return failed("a line", "has a token that there is not") == 0;
  }
  return true;
}

int print_scores() {
  for (std::string line; std::getline(std::cin, line);) {
    const size_t bar = line.find('|');
    if (bar == std::string::npos) return failed("a line", "has no bar");
    std::vector<uint32_t> given, asked;
    if (!read_tokens(line.substr(0, bar), &given) || !read_tokens(line.substr(bar + 1), &asked)) return 1;
    float* scores = nullptr;
    const fovea_status status = run_tokens(given, &scores);
    if (status != FOVEA_OK) return failed("a line", fovea_status_string(status));
    for (const uint32_t token : asked) std::printf("%.9g ", static_cast<double>(scores[token]));
    std::printf("\n");
  }
  return 0;
}

int print_greedy(size_t count) {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<uint32_t> tokens;
    if (!read_tokens(line, &tokens)) return 1;
    float* scores = nullptr;
    fovea_status status = run_tokens(tokens, &scores);
    for (size_t i = 0; i < count && status == FOVEA_OK; ++i) {
      const auto best = static_cast<uint32_t>(std::max_element(scores, scores + model.vocabulary) - scores);
      std::printf("%u ", best);
      if (i + 1 == count) break;
      status = coarse.decoder.run(&best, 1);
      if (status == FOVEA_OK) status = coarse.decoder.logits(0, &scores);
    }
    if (status != FOVEA_OK) return failed("a line", fovea_status_string(status));
    std::printf("\n");
  }
  return 0;
}

// The logarithm of the sum of the exponentials of scores, and the likeliest token.
double log_sum(const float* scores, uint32_t* best) {
  *best = static_cast<uint32_t>(std::max_element(scores, scores + model.vocabulary) - scores);
  const auto most = static_cast<double>(scores[*best]);
  double sum = 0.0;
  for (uint32_t i = 0; i < model.vocabulary; ++i) sum += std::exp(static_cast<double>(scores[i]) - most);
  return most + std::log(sum);
}

struct Sums {
  double plain = 0.0, coarse = 0.0;  // logarithms of the next token's probability
  double divergence = 0.0;
  uint32_t same = 0, count = 0;
};

void compare_scores(const float* a, const float* b, uint32_t next, Sums* sums) {
  uint32_t best_a, best_b;
  const double log_a = log_sum(a, &best_a), log_b = log_sum(b, &best_b);
  for (uint32_t i = 0; i < model.vocabulary; ++i) {
    const double p = static_cast<double>(a[i]) - log_a, q = static_cast<double>(b[i]) - log_b;
    sums->divergence += std::exp(p) * (p - q);
  }
  sums->plain += static_cast<double>(a[next]) - log_a;
  sums->coarse += static_cast<double>(b[next]) - log_b;
  sums->same += best_a == best_b;
  ++sums->count;
}

// False, after a message, if the vocabulary is wrong.
bool tokenize(const std::string& text, std::vector<uint32_t>* tokens) {
  static Tokenizer tokenizer;
  static std::vector<uint32_t> words;
  if (words.empty()) {
    words.resize((Tokenizer::memory_bytes(model.words) + 3) / 4);
    const std::string problem = tokenizer.init(model.words, words.data(), 4 * words.size());
    if (!problem.empty()) return failed("the vocabulary", problem.c_str()) == 0;
  }
  tokens->resize(text.size());
  tokens->resize(std::min(tokenizer.encode(text, false, tokens->data(), tokens->size()), tokens->size()));
  return true;
}

int print_tokens() {
  std::vector<uint32_t> tokens;
  for (std::string line; std::getline(std::cin, line);) {
    if (!tokenize(line, &tokens)) return 1;
    for (const uint32_t token : tokens) std::printf("%u ", token);
    std::printf("\n");
  }
  return 0;
}

int compare(const char* path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed(path, "cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<uint32_t> tokens;
  if (!tokenize(text, &tokens)) return 1;
  if (tokens.size() > most) tokens.resize(most);
  Sums sums;
  for (size_t i = 0; i + 1 < tokens.size();) {
    const auto run = static_cast<uint32_t>(std::min<size_t>(kBlock, tokens.size() - i));
    for (Runner* const runner : {&plain, &coarse}) {
      fovea_status status = runner->decoder.room() < run ? runner->decoder.truncate(0) : FOVEA_OK;
      if (status == FOVEA_OK) status = runner->decoder.run(&tokens[i], run);
      if (status != FOVEA_OK) return failed("a run", fovea_status_string(status));
    }
    for (uint32_t k = 0; k < run && i + k + 1 < tokens.size(); ++k) {
      float *a = nullptr, *b = nullptr;
      if (plain.decoder.logits(k, &a) != FOVEA_OK || coarse.decoder.logits(k, &b) != FOVEA_OK) return 1;
      compare_scores(a, b, tokens[i + k + 1], &sums);
    }
    i += run;
  }
  if (sums.count == 0) return failed(path, "has fewer than two tokens");
  const double n = sums.count;
  std::printf("%u tokens: perplexity %.3f and %.3f, ratio %.4f; divergence %.5f; the same likeliest token %.3f\n",
              sums.count, std::exp(-sums.plain / n), std::exp(-sums.coarse / n),
              std::exp((sums.plain - sums.coarse) / n), sums.divergence / n, sums.same / n);
  return 0;
}

// Runs tokens, whose numbers are arbitrary, `block` at a time, and computes the scores after the last one; after each
// one if they run one by one.
fovea_status run_any(uint32_t count, uint32_t block) {
  std::vector<uint32_t> tokens(block);
  fovea_status status = FOVEA_OK;
  for (uint32_t i = 0; status == FOVEA_OK && i < count; i += block) {
    const uint32_t run = std::min(block, count - i);
    for (uint32_t k = 0; k < run; ++k) tokens[k] = (i + k) * 7919 % model.vocabulary;
    status = coarse.decoder.run(tokens.data(), run);
    float* unused;
    const bool scored = block == 1 || i + run == count;
    if (status == FOVEA_OK && scored) status = coarse.decoder.logits(run - 1, &unused);
  }
  return status;
}

// counts: threads, and tokens of the context before, of the prompt and of the answer.
int print_speed(fovea_compute compute, CacheType cache, const uint32_t (&counts)[4]) {
  const auto [threads, depth, prompt, answer] = counts;
  const fovea::platform::ThreadPool pool(threads);
  const fovea_executor* const executor = pool.executor().workers > 1 ? &pool.executor() : nullptr;
  fovea_status status = coarse.init(model, compute, cache, depth + prompt + answer + kBlock, executor);
  if (status == FOVEA_OK) status = run_any(kBlock, kBlock);  // the first use of the memory is not timed
  if (status == FOVEA_OK) status = coarse.decoder.truncate(0);
  if (status == FOVEA_OK) status = run_any(depth, kBlock);
  const uint64_t begin = fovea::platform::clock_ns();
  if (status == FOVEA_OK) status = run_any(prompt, kBlock);
  const uint64_t middle = fovea::platform::clock_ns();
  if (status == FOVEA_OK) status = run_any(answer, 1);
  const uint64_t end = fovea::platform::clock_ns();
  if (status != FOVEA_OK) return failed("a run", fovea_status_string(status));
  std::printf("%.0f %.0f\n", static_cast<double>(middle - begin), static_cast<double>(end - middle));
  return 0;
}

int run(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const std::string compute = count > 4 ? arguments[3] : "f32";
  CacheType cache;
  const bool caches = read_cache_type(count > 4 ? arguments[4] : "f32", &cache);
  const bool modes = (mode == "scores" && count == 5) || (mode == "greedy" && count == 6) ||
                     (mode == "compare" && count == 7) || (mode == "tokens" && count == 3) ||
                     (mode == "speed" && count == 10);
  if (!modes || !caches || (compute != "f32" && compute != "f16" && compute != "i8")) {
    std::fprintf(stderr, "%s", kUsage);
    return 2;
  }
  MappedFile file;
  Gguf gguf;
  const bool large = mode == "speed" && std::strcmp(arguments[5], "large") == 0;
  std::string problem = file.open(arguments[2], large ? MappedFile::Pages::kLarge : MappedFile::Pages::kFile);
  if (problem.empty()) problem = gguf.read(file.data(), file.bytes());
  if (problem.empty()) problem = read_model(gguf, &model);
  if (!problem.empty()) return failed(arguments[2], problem.c_str());
  if (mode == "tokens") return print_tokens();
  const fovea_compute arithmetic = compute == "i8"    ? FOVEA_COMPUTE_I8
                                   : compute == "f16" ? FOVEA_COMPUTE_F16
                                                      : FOVEA_COMPUTE_F32;
  if (mode == "speed") {
    uint32_t counts[4];
    for (size_t i = 0; i < 4; ++i) counts[i] = static_cast<uint32_t>(std::strtoul(arguments[6 + i], nullptr, 10));
    return print_speed(arithmetic, cache, counts);
  }
  fovea_status status = coarse.init(model, arithmetic, cache);
  if (status == FOVEA_OK && mode == "compare") {
    status = plain.init(model, FOVEA_COMPUTE_F32, {FOVEA_F32, FOVEA_HADAMARD_NONE, false});
  }
  if (status != FOVEA_OK) return failed(arguments[2], fovea_status_string(status));
  if (mode == "greedy") return print_greedy(std::strtoul(arguments[5], nullptr, 10));
  return mode == "scores" ? print_scores() : compare(arguments[5], std::strtoul(arguments[6], nullptr, 10));
}

}  // namespace
}  // namespace chat

int main(int count, char** arguments) { return chat::run(count, arguments); }
