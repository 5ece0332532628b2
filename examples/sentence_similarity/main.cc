// SPDX-License-Identifier: Apache-2.0
//
// How alike sentences are in meaning, by the model all-MiniLM-L6-v2. See README.md.
// The environment variable FOVEA_TARGET chooses the instruction set ("avx2", "scalar", ...).
// Exit code: 0; 1 when the model cannot be read or a call fails; 2 for wrong arguments; 3 for a sentence that is too
// long.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "examples/sentence_similarity/encoder.h"
#include "examples/sentence_similarity/model_file.h"
#include "examples/sentence_similarity/tokenizer.h"
#include "platform/platform.h"

namespace sentence_similarity {
namespace {

constexpr int kExitFailed = 1, kExitUsage = fovea::platform::kExitUsage, kExitTooLong = 3;
constexpr uint64_t kBenchNs = 200'000'000;  // of each line
constexpr size_t kBenchRuns = 1000;         // most of them

constexpr char kUsage[] =
    "usage: sentence_similarity [--embedding | --tokens | --bench] MODEL [--] [SENTENCE...]\n"
    "Ranks sentences by how alike they are to the first. Without sentences, each line of the standard input is one.\n"
    "Sentences that begin with -- go behind a lone --.\n"
    "  --embedding  print each sentence's vector instead, 384 numbers a line\n"
    "  --tokens     print the numbers of each sentence's tokens instead\n"
    "  --bench      print how many tokens each sentence has and the seconds from its text to its vector instead: "
    "medians\n"
    "               of time that passes and of time on the processor\n";

enum class Print { kRanking, kEmbedding, kTokens, kBench };

struct Sentence {
  std::string text;
  float embedding[kWidth];
};

struct Ranked {
  float similarity;
  std::string text;
};

template <class T>
T median(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Program {
 public:
  Program(const ModelFile& file, Print print) : file_(file), tokenizer_(file.model()), print_(print) {}

  int init(fovea_target target) {
    if (!tokenizer_.complete()) {
      std::fprintf(stderr, "sentence_similarity: the model's vocabulary lacks [CLS], [SEP] or [UNK]\n");
      return kExitFailed;
    }
    return exit_code(encoder_.init(file_.model(), target));
  }

  // The next sentence. Not 0: the program must end with that.
  int take(const std::string& text) {
    ++sentences_;
    float embedding[kWidth];
    const int code = print_ == Print::kBench ? bench(text, embedding) : encode(text, embedding);
    if (code != 0) return code;
    switch (print_) {
      case Print::kEmbedding:
        for (uint32_t i = 0; i < kWidth; ++i) {
          std::printf("%.9g%c", static_cast<double>(embedding[i]), i + 1 < kWidth ? ' ' : '\n');
        }
        break;
      case Print::kTokens:
        for (size_t i = 0; i < count_; ++i) std::printf("%u%c", tokens_[i], i + 1 < count_ ? ' ' : '\n');
        break;
      case Print::kBench: break;
      case Print::kRanking:
        if (sentences_ == 1) {
          first_.text = text;
          std::copy_n(embedding, kWidth, first_.embedding);
        } else {
          ranked_.push_back({similarity(embedding), text});
        }
    }
    return 0;
  }

  void end() {
    if (print_ != Print::kRanking) return;
    std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
      return a.similarity != b.similarity ? a.similarity > b.similarity : a.text < b.text;
    });
    if (sentences_ > 0) std::printf("        %s\n", first_.text.c_str());
    for (const Ranked& r : ranked_) std::printf("%6.3f  %s\n", static_cast<double>(r.similarity), r.text.c_str());
    std::printf("\nmodel: %zu bytes, mapped; activations: %zu bytes, static; target: %s\n", file_.bytes(),
                Encoder::arena_bytes(), fovea_target_name(encoder_.target()));
  }

 private:
  int exit_code(fovea_status status) const {
    if (status == FOVEA_OK) return 0;
    std::fprintf(stderr, "sentence_similarity: %s\n", fovea_status_string(status));
    return kExitFailed;
  }

  int encode(const std::string& text, float (&embedding)[kWidth]) {
    count_ = tokenizer_.tokenize(text, tokens_);
    if (count_ > kTokens) {
      std::fprintf(stderr, "sentence_similarity: sentence %zu has %zu tokens, and the model takes %u\n", sentences_,
                   count_, kTokens);
      return kExitTooLong;
    }
    return print_ == Print::kTokens ? 0 : exit_code(encoder_.encode(embedding, tokens_, static_cast<uint32_t>(count_)));
  }

  int bench(const std::string& text, float (&embedding)[kWidth]) {
    using fovea::platform::clock_ns;
    if (const int code = encode(text, embedding)) return code;  // not timed: the caches take in the weights
    std::vector<uint64_t> times;
    std::vector<std::clock_t> processor_times;
    const uint64_t begin = clock_ns();
    while (times.empty() || (clock_ns() - begin < kBenchNs && times.size() < kBenchRuns)) {
      const std::clock_t processor_before = std::clock();
      const uint64_t before = clock_ns();
      encode(text, embedding);
      times.push_back(clock_ns() - before);
      processor_times.push_back(std::clock() - processor_before);
    }
    std::printf("%zu %.9f %.6f\n", count_, static_cast<double>(median(times)) * 1e-9,
                static_cast<double>(median(processor_times)) / CLOCKS_PER_SEC);
    std::fflush(stdout);
    return 0;
  }

  // The cosine of the angle between the embedding and that of the first sentence: both have length 1.
  float similarity(const float (&embedding)[kWidth]) const {
    float sum = 0.0f;
    for (uint32_t i = 0; i < kWidth; ++i) sum += embedding[i] * first_.embedding[i];
    return sum >= -1.1f ? sum : -2.0f;  // a NaN, which only a strange model has, comes last
  }

  const ModelFile& file_;
  Tokenizer tokenizer_;
  Encoder encoder_;
  Print print_;
  size_t sentences_ = 0;
  size_t count_ = 0;  // of the tokens
  uint32_t tokens_[kTokens];
  Sentence first_;
  std::vector<Ranked> ranked_;
};

int run(int count, char** arguments) {
  Print print = Print::kRanking;
  int next = 1;
  for (; next < count && std::strncmp(arguments[next], "--", 2) == 0; ++next) {
    const std::string option = arguments[next];
    if (option == "--help") {
      std::printf("%s", kUsage);
      return 0;
    }
    if (option == "--embedding")
      print = Print::kEmbedding;
    else if (option == "--tokens")
      print = Print::kTokens;
    else if (option == "--bench")
      print = Print::kBench;
    else {
      std::fprintf(stderr, "sentence_similarity: no such option: %s\n%s", option.c_str(), kUsage);
      return kExitUsage;
    }
  }
  if (next == count) {
    std::fprintf(stderr, "%s", kUsage);
    return kExitUsage;
  }
  const char* const path = arguments[next++];
  std::vector<std::string> sentences;
  for (bool literal = false; next < count; ++next) {
    const std::string argument = arguments[next];
    if (literal || argument.compare(0, 2, "--") != 0) {
      sentences.push_back(argument);
    } else if (argument == "--") {
      literal = true;
    } else {
      std::fprintf(stderr, "sentence_similarity: an option behind MODEL: %s\n%s", argument.c_str(), kUsage);
      return kExitUsage;
    }
  }
  const fovea_target target = fovea::platform::target_from_environment();
  if (target == fovea::platform::kNoTarget) return kExitUsage;

  ModelFile file;
  const std::string problem = file.open(path);
  if (!problem.empty()) {
    std::fprintf(stderr, "sentence_similarity: %s: %s\n", path, problem.c_str());
    return kExitFailed;
  }
  static Program program(file, print);
  int code = program.init(target);
  for (size_t i = 0; code == 0 && i < sentences.size(); ++i) code = program.take(sentences[i]);
  if (sentences.empty()) {
    for (std::string line; code == 0 && std::getline(std::cin, line);) code = program.take(line);
  }
  if (code == 0) program.end();
  return code;
}

}  // namespace
}  // namespace sentence_similarity

int main(int count, char** arguments) { return sentence_similarity::run(count, arguments); }
