// SPDX-License-Identifier: Apache-2.0
//
// Command lines, right and wrong. Exit code: 0, or 1 when something is wrong.
#include "examples/chat/options.h"

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "examples/chat/checks.h"

namespace chat {
namespace {

// Reads a command line, without the program's name. '' is an argument without characters. The next call overwrites texts.
bool read(const std::string& line, Options* options) {
  static std::vector<std::string> arguments;
  arguments = {"chat"};
  std::istringstream words(line);
  for (std::string word; words >> word;) arguments.push_back(word == "''" ? "" : word);
  std::vector<char*> all;
  for (std::string& argument : arguments) all.push_back(argument.data());
  return read_options(static_cast<int>(all.size()), all.data(), options);
}

bool is(const char* text, const char* want) { return text != nullptr && std::strcmp(text, want) == 0; }

void test_defaults() {
  Options o;
  check(read("model", &o), "a model alone is refused");
  check(is(o.model, "model") && o.question == nullptr && o.system == nullptr && o.save == nullptr &&
            o.load == nullptr && o.prompts == nullptr && !o.help,
        "there is what was not given");
  check(o.tokens == 256 && o.context == 0 && o.threads == 0, "other counts than those of --help");
  check(o.sampling.temperature == 0.8f && o.sampling.top_k == 40 && o.sampling.top_p == 0.95f &&
            o.sampling.min_p == 0.05f && o.sampling.repeat_penalty == 1.1f && o.sampling.seed == 0,
        "another choice");
  check(o.compute == FOVEA_COMPUTE_I8 && o.cache.dtype == FOVEA_I8, "other arithmetic");
  check(o.pages == MappedFile::Pages::kFile, "other pages");
}

void test_each_option() {
  Options o;
  check(read("--tokens 3 --context 4 --threads 5 model --temperature 0.5 --top-k 256 --top-p 0.25 --min-p 0 "
             "--repeat-penalty 1.125 --seed 18446744073709551615 --system '' question --compute f32 --cache f16 "
             "--weights large --save into --load from --prompts kept",
             &o),
        "options are refused");
  check(is(o.model, "model") && is(o.question, "question") && is(o.system, ""), "texts are not those that were given");
  check(is(o.save, "into") && is(o.load, "from") && is(o.prompts, "kept"), "files are not those that were given");
  check(o.tokens == 3 && o.context == 4 && o.threads == 5, "counts are not those that were given");
  check(o.sampling.temperature == 0.5f && o.sampling.top_k == 256 && o.sampling.top_p == 0.25f &&
            o.sampling.min_p == 0.0f && o.sampling.repeat_penalty == 1.125f && o.sampling.seed == UINT64_MAX,
        "the choice is not the one that was given");
  check(o.compute == FOVEA_COMPUTE_F32 && o.cache.dtype == FOVEA_F16 && o.cache.hadamard == FOVEA_HADAMARD_NONE,
        "arithmetic is not the one that was given");
  check(o.pages == MappedFile::Pages::kLarge, "pages are not those that were given");

  Options last;
  check(read("--compute f32 --compute i8 --cache f32 --cache i8 model", &last) && last.compute == FOVEA_COMPUTE_I8 &&
            last.cache.dtype == FOVEA_I8,
        "an option that comes twice does not count as its last value");
  Options halves;
  check(read("--compute f16 --cache f16 model", &halves) && halves.compute == FOVEA_COMPUTE_F16,
        "products of halves are not those that were given");
  Options rotated;
  check(read("--cache i4-rotated model", &rotated) && rotated.cache.dtype == FOVEA_I4 &&
            rotated.cache.hadamard == FOVEA_HADAMARD_BOTH,
        "a rotated cache is not the one that was given");
  check(!rotated.cache.centered && read("--cache q8_0-centered model", &rotated) && rotated.cache.dtype == FOVEA_Q8_0 &&
            rotated.cache.hadamard == FOVEA_HADAMARD_BOTH && rotated.cache.centered,
        "a centred cache is not the one that was given");
  Options literal;
  check(read("model -- --tokens", &literal) && is(literal.question, "--tokens"), "-- does not end the options");
  Options help;
  check(read("--help", &help) && help.help, "help is refused");
}

void test_refusals() {
  const char* const wrong[] = {
      "",
      "model a question",
      "model --other",
      "model --tokens",
      "model --save",
      "model --load",
      "model --prompts",
      "--tokens 0 model",
      "--tokens -1 model",
      "--tokens 1x model",
      "--tokens '' model",
      "--tokens 4294967296 model",
      "--context 0 model",
      "--context 1073741825 model",
      "--threads 0 model",
      "--threads 4097 model",
      "--seed 18446744073709551616 model",
      "--temperature 0.001 model",
      "--temperature 101 model",
      "--temperature nan model",
      "--temperature warm model",
      "--top-k 0 model",
      "--top-k 257 model",
      "--min-p 1.5 model",
      "--repeat-penalty 0.5 model",
      "--top-p 1.5 model",
      "--top-p -1 model",
      "--compute f16 model",
      "--compute f16 --cache f32 model",
      "--compute bf16 --cache f16 model",
      "--cache q8 model",
      "--cache i4-rotate model",
      "--cache i4-rotated-centered model",
      "--compute i8 --cache f16 model",
      "--cache f32 model",
      "--weights huge model",
  };
  for (const char* const line : wrong) {
    Options o;
    check(!read(line, &o), std::string("taken: ") + line);
  }
}

int run() {
  test_defaults();
  test_each_option();
  test_refusals();
  return report();
}

}  // namespace
}  // namespace chat

int main() { return chat::run(); }
