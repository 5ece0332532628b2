// SPDX-License-Identifier: Apache-2.0
//
// A chat with a language model, from text to text. See README.md. All memory is static: the model's file is mapped,
// everything else lies in one arena.
// Exit code: 0; 1 when the model cannot be read or a call fails; 2 for wrong arguments; 130 where Ctrl-C ended an
// answer.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "examples/chat/conversation.h"
#include "examples/chat/decoder.h"
#include "examples/chat/mapped_file.h"
#include "examples/chat/model.h"
#include "examples/chat/options.h"
#include "examples/chat/sampler.h"
#include "examples/chat/text_stream.h"
#include "examples/chat/tokenizer.h"
#include "platform/platform.h"

namespace chat {
namespace {

using fovea::platform::clock_ns;

constexpr int kExitFailed = 1, kExitUsage = fovea::platform::kExitUsage, kExitInterrupted = 130;
#if !defined(FOVEA_CHAT_ARENA_BYTES)
#define FOVEA_CHAT_ARENA_BYTES (64u << 20)
#endif
alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char arena[FOVEA_CHAT_ARENA_BYTES];

volatile std::sig_atomic_t interrupted = 0;

// Without SA_RESTART, so that a read of the next line ends.
void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
}

int failed(const char* what, const char* why) {
  std::fprintf(stderr, "chat: %s: %s\n", what, why);
  return kExitFailed;
}
int failed(const char* what, fovea_status status) { return failed(what, fovea_status_string(status)); }

// What the file's template for conversations has as the first turn where the user gives none.
std::string_view system_of(const Gguf& file) {
  constexpr std::string_view kBegin = "<|im_start|>system\n", kEnd = "<|im_end|>";
  std::string_view text;
  if (!file.text("tokenizer.chat_template", &text)) return {};
  const size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + kBegin.size());
  const size_t end = text.find(kEnd);
  // What is put together by the template is not looked at.
  return end != std::string_view::npos && text.find('\'') > end ? text.substr(0, end) : std::string_view();
}

struct Counts {
  uint32_t tokens = 0;
  uint64_t ns = 0;
  double a_second() const { return ns != 0 ? tokens * 1e9 / static_cast<double>(ns) : 0.0; }
};

class Program {
 public:
  Program(const Options& options, const fovea::platform::Console& console)
      : options_(options), console_(console), pool_(threads(options)) {}

  int init(fovea_target target);
  int ask_once();
  int ask_all();

 private:
  static uint32_t threads(const Options& options) {
    return options.threads != 0 ? options.threads : fovea::platform::processor_threads();
  }
  int ask(const char* question);
  int answer();
  void print_counts() const;
  void print_stats() const;
  void dim(bool on) const {
    if (console_.colours) std::fputs(on ? "\033[2m" : "\033[0m", stderr);
  }

  const Options options_;
  const fovea::platform::Console console_;
  fovea::platform::ThreadPool pool_;
  MappedFile file_;
  Gguf gguf_;
  Model model_;
  Tokenizer tokenizer_;
  Decoder decoder_;
  std::string_view system_;
  std::optional<Conversation> conversation_;
  fovea_target target_ = FOVEA_TARGET_BEST;
  size_t arena_used_ = 0;
  Counts prompt_, answer_;
};

int Program::init(fovea_target target) {
  std::string problem = file_.open(options_.model);
  if (problem.empty()) problem = gguf_.read(file_.data(), file_.bytes());
  if (problem.empty()) problem = read_model(gguf_, &model_);
  if (problem.empty() && options_.context > model_.context) {
    problem = "was trained for " + std::to_string(model_.context) + " tokens, fewer than --context says";
  }
  if (!problem.empty()) return failed(options_.model, problem.c_str());

  Settings settings;
  settings.target = target_ = target;
  settings.compute = options_.compute;
  settings.cache = options_.cache;
  settings.context = options_.context;
  settings.executor = pool_.executor().workers > 1 ? &pool_.executor() : nullptr;
  const auto aligned = [](size_t bytes) {
    return (bytes + FOVEA_WORKSPACE_ALIGNMENT - 1) / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
  };
  const size_t words_bytes = aligned(Tokenizer::memory_bytes(model_.words));
  const size_t tokens_bytes = aligned(sizeof(uint32_t) * options_.context);
  const size_t decoder_bytes = Decoder::memory_bytes(model_, settings);
  if (decoder_bytes == 0) return failed(options_.model, "the library refuses its shape or weights");
  arena_used_ = words_bytes + tokens_bytes + decoder_bytes;
  if (arena_used_ > sizeof arena) {
    problem = "needs " + std::to_string(arena_used_) + " bytes, and the arena has " + std::to_string(sizeof arena) +
              ": choose a smaller --context, or build with a larger FOVEA_CHAT_ARENA_BYTES";
    return failed(options_.model, problem.c_str());
  }
  problem = tokenizer_.init(model_.words, arena, words_bytes);
  if (!problem.empty()) return failed(options_.model, problem.c_str());
  auto* const tokens = reinterpret_cast<uint32_t*>(arena + words_bytes);
  const fovea_status status = decoder_.init(model_, settings, arena + words_bytes + tokens_bytes, decoder_bytes);
  if (status != FOVEA_OK) return failed(options_.model, status);
  conversation_.emplace(model_, tokenizer_, decoder_, tokens, options_.context);
  if (!conversation_->init()) return failed(options_.model, "its vocabulary lacks <|im_start|> or <|im_end|>");
  system_ = options_.system != nullptr ? std::string_view(options_.system) : system_of(gguf_);
  return 0;
}

int Program::ask(const char* question) {
  const uint64_t begin = clock_ns();
  const fovea_status status = conversation_->ask(system_, question);
  if (status == FOVEA_ERR_FULL) {
    std::fprintf(stderr, "chat: the question has %u tokens, and the context has room for %u: /reset forgets what was "
                 "before, --context makes more room\n",
                 conversation_->question_tokens(), decoder_.room());
    return kExitFailed;
  }
  if (status != FOVEA_OK) return failed("the question", status);
  prompt_ = {conversation_->question_tokens(), clock_ns() - begin};
  return answer();
}

int Program::answer() {
  Sampler sampler(options_.sampling, target_);
  TextStream text(tokenizer_);
  const auto print = [](std::string_view characters) {
    std::fwrite(characters.data(), 1, characters.size(), stdout);
    std::fflush(stdout);
  };
  const uint64_t begin = clock_ns();
  answer_ = {};
  fovea_status status = FOVEA_OK;
  for (bool ends = false; answer_.tokens < options_.tokens && !interrupted; ++answer_.tokens) {
    uint32_t token;
    status = conversation_->answer(sampler, &token, &ends);
    if (status != FOVEA_OK || ends) break;
    print(text.add(token));
  }
  print(text.finish());
  answer_.ns = clock_ns() - begin;
  std::printf("\n");
  std::fflush(stdout);
  if (status == FOVEA_ERR_FULL) {
    std::fprintf(stderr, "chat: the context is full, so the answer ends here\n");
  } else if (status != FOVEA_OK) {
    return failed("the answer", status);
  }
  return interrupted ? kExitInterrupted : 0;
}

void Program::print_counts() const {
  dim(true);
  std::fprintf(stderr, "prompt: %u tokens in %.2f s (%.1f a second); answer: %u tokens in %.2f s (%.1f a second)\n",
               prompt_.tokens, static_cast<double>(prompt_.ns) * 1e-9, prompt_.a_second(), answer_.tokens,
               static_cast<double>(answer_.ns) * 1e-9, answer_.a_second());
  dim(false);
}

void Program::print_stats() const {
  dim(true);
  std::fprintf(stderr, "context: %u of %u tokens; arena: %zu bytes, of which tokenizer %zu; model: %zu bytes, mapped; "
               "%s, %u threads, %s\n",
               decoder_.length(), options_.context, arena_used_, Tokenizer::memory_bytes(model_.words), file_.bytes(),
               fovea_target_name(decoder_.target()), pool_.executor().workers,
               fovea::platform::processor_name());
  dim(false);
}

int Program::ask_once() {
  const int code = ask(options_.question);
  if (code == kExitFailed) return code;
  print_counts();
  print_stats();
  return code;
}

int Program::ask_all() {
  static char line[Conversation::kMostText];
  for (;;) {
    interrupted = 0;
    if (console_.terminal) std::printf("> "), std::fflush(stdout);
    if (std::fgets(line, sizeof line, stdin) == nullptr) break;
    const size_t length = std::strlen(line);
    if (length + 1 == sizeof line && line[length - 1] != '\n') {
      std::fprintf(stderr, "chat: the line has more than %zu bytes, and was not taken\n", sizeof line - 2);
      for (int c = 0; c != '\n' && c != EOF;) c = std::getchar();
      continue;
    }
    line[std::strcspn(line, "\n")] = 0;
    int code = 0;
    if (std::strcmp(line, "/reset") == 0) {
      const fovea_status status = conversation_->reset();
      if (status != FOVEA_OK) return failed("/reset", status);
    } else if (std::strcmp(line, "/stats") == 0) {
      print_counts();
      print_stats();
    } else if (line[0] == '/') {
      std::fprintf(stderr, "chat: no such command: %s; there are /reset and /stats\n", line);
    } else if (line[0] != 0) {
      code = ask(line);
      if (code == 0) print_counts();
    }
    if (code == kExitFailed && !conversation_->usable()) return code;
  }
  if (console_.terminal) std::printf("\n");
  return 0;
}

int run(int count, char** arguments) {
  Options options;
  if (!read_options(count, arguments, &options)) return kExitUsage;
  if (options.help) {
    print_usage();
    return 0;
  }
  const fovea_target target = fovea::platform::target_from_environment();
  if (target == fovea::platform::kNoTarget) return kExitUsage;
  static Program program(options, fovea::platform::console());
  catch_interrupts();
  const int code = program.init(target);
  if (code != 0) return code;
  return options.question != nullptr ? program.ask_once() : program.ask_all();
}

}  // namespace
}  // namespace chat

int main(int count, char** arguments) { return chat::run(count, arguments); }
