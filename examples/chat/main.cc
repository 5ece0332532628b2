// SPDX-License-Identifier: Apache-2.0
//
// A chat with a language model, from text to text. See README.md. Memory that depends on the model's size is in
// one arena, except the model's file, which is mapped or in large pages.
// Exit code: 0; 1 when the model cannot be read, or a call or a question failed; 2 for wrong arguments; 130 when
// Ctrl-C ended an answer, except in a conversation, which continues.
#include <unistd.h>

#include <algorithm>
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
#include "examples/chat/saved.h"
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

constexpr uint32_t kContext = 2048;

volatile std::sig_atomic_t interrupted = 0;

// Without SA_RESTART, so that Ctrl-C interrupts the read of the next line.
void catch_interrupts() {
  struct sigaction action = {};
  if (sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
}

int failed(const char* what, const char* why) {
  std::fprintf(stderr, "chat: %s: %s\n", what, why);
  return kExitFailed;
}
int failed(const char* what, fovea_status status) { return failed(what, fovea_status_string(status)); }

// The first turn in the file's template for conversations, which is used if the user gives none.
std::string_view system_of(const Gguf& file) {
  constexpr std::string_view kBegin = "<|im_start|>system\n", kEnd = "<|im_end|>";
  std::string_view text;
  if (!file.text("tokenizer.chat_template", &text)) return {};
  const size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + kBegin.size());
  const size_t end = text.find(kEnd);
  // Texts that the template computes or writes with escapes are ignored.
  if (end == std::string_view::npos || text.find_first_of("'\"{}\\") < end) return {};
  return text.substr(0, end);
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
  int load();
  int ask_once();
  int ask_all();
  int save() const;

 private:
  static uint32_t threads(const Options& options) {
    return options.threads != 0 ? options.threads : fovea::platform::processor_threads();
  }
  int ask(std::string_view question);
  int introduce();
  int answer();
  void print(std::string_view characters) const;
  void print_counts() const;
  void print_stats() const;
  void dim(bool on) const {
    if (console_.colours && isatty(STDERR_FILENO) != 0) std::fputs(on ? "\033[2m" : "\033[0m", stderr);
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
  std::optional<Sampler> sampler_;  // seeded once for the whole conversation
  fovea_target target_ = FOVEA_TARGET_BEST;
  uint32_t context_ = 0;
  size_t arena_used_ = 0;
  Counts prompt_, answer_;
};

int Program::init(fovea_target target) {
  std::string problem = file_.open(options_.model, options_.pages);
  if (problem.empty()) problem = gguf_.read(file_.data(), file_.bytes());
  if (problem.empty()) problem = read_model(gguf_, &model_);
  context_ = options_.context != 0 ? options_.context : std::min(model_.context, kContext);
  if (problem.empty() && context_ > model_.context) {
    problem = "was trained for " + std::to_string(model_.context) + " tokens, fewer than --context says";
  }
  if (!problem.empty()) return failed(options_.model, problem.c_str());

  Settings settings;
  settings.target = target_ = target;
  settings.compute = options_.compute;
  settings.cache = options_.cache;
  settings.context = context_;
  settings.executor = pool_.executor().workers > 1 ? &pool_.executor() : nullptr;
  const auto aligned = [](size_t bytes) {
    return (bytes + FOVEA_WORKSPACE_ALIGNMENT - 1) / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
  };
  const size_t words_bytes = aligned(Tokenizer::memory_bytes(model_.words));
  const size_t tokens_bytes = aligned(2 * sizeof(uint32_t) * context_);
  const size_t decoder_bytes = Decoder::memory_bytes(model_, settings);
  if (decoder_bytes == 0) return failed(options_.model, "the library refuses its shape or weights");
  const bool fits = decoder_bytes <= sizeof arena && words_bytes <= sizeof arena && tokens_bytes <= sizeof arena;
  arena_used_ = fits ? words_bytes + tokens_bytes + decoder_bytes : decoder_bytes;
  if (!fits || arena_used_ > sizeof arena) {
    problem = "needs " + std::to_string(arena_used_) + " bytes, and the arena has " + std::to_string(sizeof arena) +
              ": choose a smaller --context, or build with a larger FOVEA_CHAT_ARENA_BYTES";
    return failed(options_.model, problem.c_str());
  }
  problem = tokenizer_.init(model_.words, arena, words_bytes);
  if (!problem.empty()) return failed(options_.model, problem.c_str());
  auto* const tokens = reinterpret_cast<uint32_t*>(arena + words_bytes);
  const fovea_status status = decoder_.init(model_, settings, arena + words_bytes + tokens_bytes, decoder_bytes);
  if (status != FOVEA_OK) return failed(options_.model, status);
  conversation_.emplace(model_, tokenizer_, decoder_, tokens, context_, interrupted);
  if (!conversation_->init())
    return failed(options_.model, "its vocabulary lacks the marks of turns of ChatML, and those of Llama 3");
  sampler_.emplace(options_.sampling, target_);
  system_ = options_.system != nullptr ? std::string_view(options_.system) : system_of(gguf_);
  return 0;
}

int Program::load() {
  if (options_.load == nullptr) return 0;
  size_t bytes = 0;
  const std::string problem =
      chat::load(options_.load, fingerprint_of(file_.data(), file_.bytes()), *conversation_, decoder_, &bytes);
  if (!problem.empty()) return failed(options_.load, problem.c_str());
  std::fprintf(stderr, "loaded: %u tokens, %zu bytes, from %s\n", decoder_.length(), bytes, options_.load);
  return 0;
}

int Program::save() const {
  if (options_.save == nullptr) return 0;
  const std::string problem =
      chat::save(options_.save, fingerprint_of(file_.data(), file_.bytes()), *conversation_, decoder_);
  if (!problem.empty()) return failed(options_.save, problem.c_str());
  std::fprintf(stderr, "saved: %u tokens to %s\n", decoder_.length(), options_.save);
  return 0;
}

// The text before a conversation: its keys and values are loaded, if a file of the folder has them, else computed and saved there.
int Program::introduce() {
  if (options_.prompts == nullptr || decoder_.length() != 0) return 0;
  fovea_status status = conversation_->introduce(system_);
  const uint32_t tokens = conversation_->question_tokens();
  if (status != FOVEA_OK || tokens == 0) return 0;  // the question says what is wrong
  const uint64_t model = fingerprint_of(file_.data(), file_.bytes());
  const std::string path = prompt_path(options_.prompts, model, conversation_->new_tokens(), tokens);
  size_t bytes = 0;
  const uint32_t* const history = conversation_->history();
  if (chat::load(path.c_str(), model, *conversation_, decoder_, &bytes).empty()) {
    if (decoder_.length() == tokens && std::equal(history, history + tokens, conversation_->new_tokens())) {
      std::fprintf(stderr, "loaded: %u tokens, %zu bytes, from %s\n", tokens, bytes, path.c_str());
      return 0;
    }
    if ((status = conversation_->reset()) != FOVEA_OK) return failed(path.c_str(), status);
  }
  if ((status = conversation_->run_all()) == FOVEA_ERR_FULL) return 0;
  if (status != FOVEA_OK) return failed("the text that tells the model who it is", status);
  if (decoder_.length() != tokens) return decoder_.truncate(0) == FOVEA_OK ? kExitInterrupted : kExitFailed;
  const std::string problem = chat::save(path.c_str(), model, *conversation_, decoder_);
  if (!problem.empty()) return failed(path.c_str(), problem.c_str());
  std::fprintf(stderr, "saved: %u tokens to %s\n", tokens, path.c_str());
  return 0;
}

int Program::ask(std::string_view question) {
  if (const int code = introduce(); code != 0) return code;
  const uint64_t begin = clock_ns();
  bool stopped = false;
  const fovea_status status = conversation_->ask(system_, question, &stopped);
  if (status == FOVEA_ERR_FULL) {
    std::fprintf(stderr,
                 "chat: the question has %u tokens, and the context has room for %u: /reset forgets what was before, "
                 "--context makes more room\n",
                 conversation_->question_tokens(), decoder_.room());
    return kExitFailed;
  }
  if (status != FOVEA_OK) return failed("the question, or the text that tells the model who it is", status);
  if (stopped) return kExitInterrupted;
  prompt_ = {conversation_->question_tokens(), clock_ns() - begin};
  return answer();
}

// Prints whole characters of an answer. Control characters are not sent to a terminal.
void Program::print(std::string_view characters) const {
  for (const char c : characters) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = (byte < ' ' && c != '\n' && c != '\t') || byte == 0x7f;
    std::putchar(control && console_.terminal ? '?' : c);
  }
  std::fflush(stdout);
}

int Program::answer() {
  TextStream text(tokenizer_);
  const uint64_t begin = clock_ns();
  answer_ = {};
  fovea_status status = FOVEA_OK;
  for (bool ends = false; answer_.tokens < options_.tokens && interrupted == 0; ++answer_.tokens) {
    uint32_t token;
    status = conversation_->answer(*sampler_, &token, &ends);
    if (status != FOVEA_OK || ends) break;
    print(text.add(token));
  }
  print(text.finish());
  answer_.ns = clock_ns() - begin;
  print("\n");
  if (std::ferror(stdout) != 0) return failed("the answer", "it cannot be written");
  if (status == FOVEA_ERR_FULL) {
    std::fprintf(stderr, "chat: the context is full, so the answer ends here\n");
  } else if (status != FOVEA_OK) {
    return failed("the answer", status);
  }
  return interrupted != 0 ? kExitInterrupted : 0;
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
  std::fprintf(stderr,
               "context: %u of %u tokens; arena: %zu bytes, of which tokenizer %zu; model: %zu bytes, %s; %s, %u "
               "threads, %s\n",
               decoder_.length(), context_, arena_used_, Tokenizer::memory_bytes(model_.words), file_.bytes(),
               file_.pages() == MappedFile::Pages::kLarge ? "in large pages" : "mapped",
               fovea_target_name(decoder_.target()), pool_.executor().workers, fovea::platform::processor_name());
  dim(false);
}

int Program::ask_once() {
  const int code = ask(options_.question);
  if (code == kExitFailed) return code;
  print_counts();
  print_stats();
  return code;
}

// A line of the standard input without its line feed. False at the end of input or after Ctrl-C. A line that does not
// fit in the buffer is returned as more than kMostText bytes, which `ask` refuses.
bool read_line(std::string_view* line) {
  static char bytes[Conversation::kMostText + 1];
  size_t count = 0;
  for (int c = 0; interrupted == 0;) {
    c = std::getchar();
    if (c == EOF && (count == 0 || interrupted != 0)) return false;
    if (c == '\n' || c == EOF) {
      *line = {bytes, count};
      return true;
    }
    if (count < sizeof bytes) bytes[count++] = static_cast<char>(c);
  }
  return false;
}

// Ctrl-C ends an answer or, outside of an answer, the program.
int Program::ask_all() {
  const bool prompts = console_.terminal && isatty(STDIN_FILENO) != 0;
  int worst = 0;
  for (;;) {
    interrupted = 0;
    if (prompts) std::printf("> "), std::fflush(stdout);
    std::string_view line;
    if (!read_line(&line)) break;
    int code = 0;
    if (line == "/reset") {
      const fovea_status status = conversation_->reset();
      if (status != FOVEA_OK) return failed("/reset", status);
      sampler_.emplace(options_.sampling, target_);
    } else if (line == "/stats") {
      print_counts();
      print_stats();
    } else if (!line.empty() && line[0] == '/') {
      std::fprintf(stderr, "chat: there are /reset and /stats, and no such command\n");
    } else if (!line.empty()) {
      code = ask(line);
      if (code == 0) print_counts();
    }
    if (code == kExitFailed) worst = code;
    if (code == kExitInterrupted && !prompts) return code;
    if (!conversation_->usable()) return kExitFailed;
  }
  if (prompts) std::printf("\n");
  if (std::ferror(stdin) != 0 && interrupted == 0) return failed("the standard input", "it cannot be read");
  return prompts ? 0 : worst;
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
  int code = program.init(target);
  if (code == 0) code = program.load();
  if (code != 0) return code;
  catch_interrupts();
  code = options.question != nullptr ? program.ask_once() : program.ask_all();
  return code == kExitFailed || program.save() == 0 ? code : kExitFailed;
}

}  // namespace
}  // namespace chat

int main(int count, char** arguments) { return chat::run(count, arguments); }
