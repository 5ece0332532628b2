// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace chat {
namespace {

constexpr char kUsage[] =
    "usage: chat [options] MODEL [QUESTION]\n"
    "Answers a question by a language model in a GGUF file. Without one it asks for questions, line by line; /reset\n"
    "forgets the conversation, /stats prints tokens and memory, and the end of input or Ctrl-C ends.\n"
    "  --tokens N       most tokens of an answer (256)\n"
    "  --context N      most tokens of the whole conversation (2048)\n"
    "  --threads N      threads (as many as the process may use); the answer does not depend on it\n"
    "  --temperature T  0: always the likeliest token; else 0.01 to 100 (0.8)\n"
    "  --top-k K        chooses among the K likeliest tokens, 1 to 256 (40),\n"
    "  --top-p P        of these among the likeliest that together have this probability (0.95),\n"
    "  --min-p P        of these among those with at least this part of the highest probability (0.05)\n"
    "  --repeat-penalty R  how much lower the scores of the last 64 tokens of answers become: 1, not at all, to 10 "
    "(1.1)\n"
    "  --seed N         of the choice (0): the same seed gives the same answers\n"
    "  --system TEXT    tells the model who it is; '': no such text (the text of the file)\n"
    "  --compute TYPE   i8: multiplies integers; f32: floats, which is more exact; f16: attention multiplies numbers\n"
    "                   of half precision, and the rest is as with f32: for processors that have such arithmetic (i8)\n"
    "  --cache TYPE     of keys and values: i8, q8_0, i4 or q4_0, with --compute f32 also f16 or f32 (i8); with\n"
    "                   --compute f16 it must be f16;\n"
    "                   i4-rotated and so on: rotated rows, for which 4 bits are more exact;\n"
    "                   i4-centered and so on: these, and keys without the mean of the first ones: still more exact\n"
    "  --weights PAGES  file: in the file, as it is mapped; large: copied into pages of 2 MiB, if there is memory for\n"
    "                   four copies: a little faster, but the copy takes time (file)\n"
    "  --save FILE      writes the conversation into a file at the end, with its keys and values,\n"
    "  --load FILE      and goes on from one that the same model has written, with the same --cache\n"
    "  --prompts FOLDER keeps the keys and values of the text of --system there, in a file that is found by a hash of\n"
    "                   its tokens: the next conversation that begins with this text does not run it again\n"
    "FOVEA_TARGET chooses the instruction set (\"avx2\", \"scalar\", ...), NO_COLOR disables colours.\n";

bool wrong(const char* what, const char* option) {
  std::fprintf(stderr, "chat: %s: %s; see chat --help\n", what, option);
  return false;
}

bool read_number(const char* text, uint64_t least, uint64_t most, uint64_t* number) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != 0 || errno != 0 || value < least || value > most) return false;
  *number = value;
  return true;
}
bool read_number(const char* text, uint32_t least, uint32_t most, uint32_t* number) {
  uint64_t wide = 0;
  if (!read_number(text, uint64_t{least}, uint64_t{most}, &wide)) return false;
  *number = static_cast<uint32_t>(wide);
  return true;
}
bool read_number(const char* text, float least, float most, float* number) {
  char* end = nullptr;
  const float value = std::strtof(text, &end);
  if (end == text || *end != 0 || !(value >= least && value <= most)) return false;
  *number = value;
  return true;
}

// One option with its value.
bool read_option(const char* name, const char* text, Options* o) {
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("--tokens")) return read_number(text, 1u, UINT32_MAX, &o->tokens);
  if (is("--context")) return read_number(text, 1u, 1u << 30, &o->context);
  if (is("--threads")) return read_number(text, 1u, 4096u, &o->threads);
  if (is("--temperature")) {
    return read_number(text, 0.0f, 100.0f, &o->sampling.temperature) &&
           (o->sampling.temperature == 0.0f || o->sampling.temperature >= 0.01f);
  }
  if (is("--top-k")) return read_number(text, 1u, Sampling::kMostTopK, &o->sampling.top_k);
  if (is("--min-p")) return read_number(text, 0.0f, 1.0f, &o->sampling.min_p);
  if (is("--repeat-penalty")) return read_number(text, 1.0f, 10.0f, &o->sampling.repeat_penalty);
  if (is("--top-p")) return read_number(text, 0.0f, 1.0f, &o->sampling.top_p);
  if (is("--seed")) return read_number(text, uint64_t{0}, UINT64_MAX, &o->sampling.seed);
  if (is("--system")) return o->system = text, true;
  if (is("--save")) return o->save = text, true;
  if (is("--load")) return o->load = text, true;
  if (is("--prompts")) return o->prompts = text, true;
  const auto says = [text](const char* other) { return std::strcmp(text, other) == 0; };
  if (is("--compute")) {
    o->compute = says("i8") ? FOVEA_COMPUTE_I8 : says("f16") ? FOVEA_COMPUTE_F16 : FOVEA_COMPUTE_F32;
    return says("i8") || says("f16") || says("f32");
  }
  if (is("--weights")) {
    o->pages = says("file") ? MappedFile::Pages::kFile : MappedFile::Pages::kLarge;
    return says("file") || says("large");
  }
  return read_cache_type(text, &o->cache);  // --cache
}

bool is_option(const char* text) {
  for (const char* const name :
       {"--tokens", "--context", "--threads", "--temperature", "--top-k", "--top-p", "--min-p", "--repeat-penalty",
        "--seed", "--system", "--save", "--load", "--prompts", "--compute", "--cache", "--weights"}) {
    if (std::strcmp(text, name) == 0) return true;
  }
  return false;
}

}  // namespace

void print_usage() { std::printf("%s", kUsage); }

bool read_options(int count, char** arguments, Options* options) {
  bool literal = false;
  for (int i = 1; i < count; ++i) {
    const char* const argument = arguments[i];
    if (!literal && std::strcmp(argument, "--help") == 0) return options->help = true;
    if (!literal && std::strcmp(argument, "--") == 0) {
      literal = true;
    } else if (!literal && is_option(argument)) {
      if (++i == count) return wrong("no value after", argument);
      if (!read_option(argument, arguments[i], options)) return wrong("a value that is not supported after", argument);
    } else if (!literal && std::strncmp(argument, "--", 2) == 0) {
      return wrong("no such option", argument);
    } else if (options->model == nullptr) {
      options->model = argument;
    } else if (options->question == nullptr) {
      options->question = argument;
    } else {
      return wrong("more than one question (quote it)", argument);
    }
  }
  if (options->model == nullptr) {
    std::fprintf(stderr, "%s", kUsage);
    return false;
  }
  if (options->compute == FOVEA_COMPUTE_I8 && options->cache.is_float()) {
    return wrong("only with --compute f32", "--cache f16 or f32");
  }
  if (options->compute == FOVEA_COMPUTE_F16 && options->cache.dtype != FOVEA_F16) {
    return wrong("only with --cache f16", "--compute f16");
  }
  return true;
}

}  // namespace chat
