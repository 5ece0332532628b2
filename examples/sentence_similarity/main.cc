// SPDX-License-Identifier: Apache-2.0
//
// Ranks sentences by the similarity of their meaning, with the model all-MiniLM-L6-v2. See README.md.
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
constexpr uint64_t kBenchNs = 200'000'000;  // for each line
constexpr size_t kBenchRuns = 1000;         // at most

constexpr char kUsage[] =
    "usage: sentence_similarity [--compute f32|f16|i8] [--embedding | --tokens | --bench] MODEL [--] [SENTENCE...]\n"
    "Ranks sentences by their similarity to the first. Without sentences, each line of the standard input is one.\n"
    "Sentences that begin with -- come after a lone --.\n"
    "  --compute    f32: multiply floats, which is the default; f16: multiply halves, for models with f16 weights;\n"
    "               i8: multiply integers, for models with int8 weights\n"
    "  --embedding  print each sentence's vector instead, 384 numbers a line\n"
    "  --tokens     print the numbers of each sentence's tokens instead\n"
    "  --bench      print how many tokens each sentence has and the seconds from its text to its vector instead: "
    "medians\n"
    "               of time that passes and of time on the processor. With --compute f16 or i8, behind these: both\n"
    "               times with --compute f32, taken in turn, and the cosine of the angle between the two vectors\n";

enum class Print { kRanking, kEmbedding, kTokens, kBench };

struct Sentence {
  std::string text;
  float embedding[kWidth];
};

struct Ranked {
  float similarity;
  std::string text;
};

// Both have length 1.
float cosine(const float (&a)[kWidth], const float (&b)[kWidth]) {
  float sum = 0.0f;
  for (uint32_t i = 0; i < kWidth; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
T median(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How long the runs of an encoder took.
struct Times {
  std::vector<uint64_t> passed_ns;
  std::vector<std::clock_t> processor;

  void print() {
    std::printf(" %.9f %.6f", static_cast<double>(median(passed_ns)) * 1e-9,
                static_cast<double>(median(processor)) / CLOCKS_PER_SEC);
  }
};

class Program {
 public:
  Program(const ModelFile& file, Print print, fovea_compute compute)
      : file_(file), tokenizer_(file.model()), print_(print), compute_(compute) {}

  int init(fovea_target target) {
    if (!tokenizer_.complete()) {
      std::fprintf(stderr, "sentence_similarity: the model's vocabulary lacks [CLS], [SEP] or [UNK]\n");
      return kExitFailed;
    }
    if (compute_ == FOVEA_COMPUTE_I8 && file_.model().dtype != FOVEA_I8) {
      std::fprintf(stderr, "sentence_similarity: --compute i8 needs a model with int8 weights\n");
      return kExitFailed;
    }
    if (compute_ == FOVEA_COMPUTE_F16 && file_.model().dtype != FOVEA_F16) {
      std::fprintf(stderr, "sentence_similarity: --compute f16 needs a model with f16 weights\n");
      return kExitFailed;
    }
    const int code = exit_code(encoder_.init(file_.model(), target, compute_));
    return code == 0 ? exit_code(f32_.init(file_.model(), target, FOVEA_COMPUTE_F32)) : code;
  }

  // Processes the next sentence. Returns 0, or the exit code with which the program must end.
  int take(const std::string& text) {
    ++sentences_;
    float embedding[kWidth];
    const int code = print_ == Print::kBench ? bench(text, embedding) : encode(encoder_, text, embedding);
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

  int encode(Encoder& encoder, const std::string& text, float (&embedding)[kWidth]) {
    count_ = tokenizer_.tokenize(text, tokens_);
    if (count_ > kTokens) {
      std::fprintf(stderr, "sentence_similarity: sentence %zu has %zu tokens, and the model takes %u\n", sentences_,
                   count_, kTokens);
      return kExitTooLong;
    }
    return print_ == Print::kTokens ? 0 : exit_code(encoder.encode(embedding, tokens_, static_cast<uint32_t>(count_)));
  }

  int run_timed(Encoder& encoder, const std::string& text, float (&embedding)[kWidth], Times* times) {
    const std::clock_t processor_before = std::clock();
    const uint64_t before = fovea::platform::clock_ns();
    const int code = encode(encoder, text, embedding);
    times->passed_ns.push_back(fovea::platform::clock_ns() - before);
    times->processor.push_back(std::clock() - processor_before);
    return code;
  }

  int bench(const std::string& text, float (&embedding)[kWidth]) {
    using fovea::platform::clock_ns;
    const bool compare = compute_ != FOVEA_COMPUTE_F32;
    if (const int code = encode(encoder_, text, embedding)) return code;  // not timed: warms the caches
    Times times, f32_times;
    float first[kWidth], f32_embedding[kWidth];
    std::copy_n(embedding, kWidth, first);
    std::fill_n(embedding, kWidth, 0.0f);
    const uint64_t begin = clock_ns();
    while (times.passed_ns.empty() || (clock_ns() - begin < kBenchNs && times.passed_ns.size() < kBenchRuns)) {
      int code = run_timed(encoder_, text, embedding, &times);
      if (code == 0 && compare) code = run_timed(f32_, text, f32_embedding, &f32_times);
      if (code != 0) return code;
    }
    if (!std::equal(first, first + kWidth, embedding)) {
      std::fprintf(stderr, "sentence_similarity: a timed run gave another vector than the first\n");
      return kExitFailed;
    }
    std::printf("%zu", count_);
    times.print();
    if (compare) {
      f32_times.print();
      std::printf(" %.6f", static_cast<double>(cosine(embedding, f32_embedding)));
    }
    std::printf("\n");
    std::fflush(stdout);
    return 0;
  }

  // Ranks a NaN, which only a broken model gives, last.
  float similarity(const float (&embedding)[kWidth]) const {
    const float to_first = cosine(embedding, first_.embedding);
    return to_first >= -1.1f ? to_first : -2.0f;
  }

  const ModelFile& file_;
  Tokenizer tokenizer_;
  Encoder encoder_;
  Encoder f32_;  // with which encoder_ is compared, in time and result
  Print print_;
  fovea_compute compute_;
  size_t sentences_ = 0;
  size_t count_ = 0;  // of tokens_
  uint32_t tokens_[kTokens];
  Sentence first_;
  std::vector<Ranked> ranked_;
};

int wrong(const char* what, const char* argument) {
  std::fprintf(stderr, "sentence_similarity: %s: %s\n%s", what, argument, kUsage);
  return kExitUsage;
}

struct Options {
  Print print = Print::kRanking;
  fovea_compute compute = FOVEA_COMPUTE_F32;
};

// Reads the arguments from *next on that begin with --, and moves *next past them. Returns 0, or the exit code with
// which the program must end.
int read_options(int count, char** arguments, int* next, Options* options) {
  for (; *next < count && std::strncmp(arguments[*next], "--", 2) == 0; ++*next) {
    const std::string option = arguments[*next];
    if (option == "--embedding")
      options->print = Print::kEmbedding;
    else if (option == "--tokens")
      options->print = Print::kTokens;
    else if (option == "--bench")
      options->print = Print::kBench;
    else if (option == "--compute") {
      const std::string name = ++*next < count ? arguments[*next] : "";
      if (name != "f32" && name != "f16" && name != "i8") {
        return wrong("--compute takes f32, f16 or i8, not", name.c_str());
      }
      options->compute = name == "i8" ? FOVEA_COMPUTE_I8 : name == "f16" ? FOVEA_COMPUTE_F16 : FOVEA_COMPUTE_F32;
    } else {
      return wrong("no such option", option.c_str());
    }
  }
  return 0;
}

int read_sentences(int count, char** arguments, int next, std::vector<std::string>* sentences) {
  for (bool literal = false; next < count; ++next) {
    const std::string argument = arguments[next];
    if (literal || argument.compare(0, 2, "--") != 0) {
      sentences->push_back(argument);
    } else if (argument == "--") {
      literal = true;
    } else {
      return wrong("an option behind MODEL", argument.c_str());
    }
  }
  return 0;
}

int run(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "--help") == 0) {
    std::printf("%s", kUsage);
    return 0;
  }
  Options options;
  int next = 1;
  if (const int code = read_options(count, arguments, &next, &options)) return code;
  if (next == count) {
    std::fprintf(stderr, "%s", kUsage);
    return kExitUsage;
  }
  const char* const path = arguments[next++];
  std::vector<std::string> sentences;
  if (const int code = read_sentences(count, arguments, next, &sentences)) return code;
  const fovea_target target = fovea::platform::target_from_environment();
  if (target == fovea::platform::kNoTarget) return kExitUsage;

  ModelFile file;
  const std::string problem = file.open(path);
  if (!problem.empty()) {
    std::fprintf(stderr, "sentence_similarity: %s: %s\n", path, problem.c_str());
    return kExitFailed;
  }
  static Program program(file, options.print, options.compute);
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
