// SPDX-License-Identifier: Apache-2.0
//
// Conversations with a made-up model: the tokens that it has run must be those of the turns. Exit code: 0, or 1 when
// something is wrong.
#include "examples/chat/conversation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "examples/chat/checks.h"
#include "examples/chat/made_model.h"
#include "examples/chat/saved.h"

namespace chat {
namespace {

constexpr uint32_t kContext = 200;

struct alignas(64) Line {
  unsigned char bytes[64];
};

// A decoder with its memory.
struct Run {
  explicit Run(const Model& model, CacheType cache = {FOVEA_F32, FOVEA_HADAMARD_NONE, false}) {
    Settings settings;
    settings.compute = FOVEA_COMPUTE_F32;
    settings.cache = cache;
    settings.context = kContext;
    const size_t bytes = Decoder::memory_bytes(model, settings);
    memory.resize(bytes / 64 + 1);
    check(decoder.init(model, settings, memory.data(), bytes) == FOVEA_OK, "a decoder is refused");
  }
  std::vector<Line> memory;
  Decoder decoder;
};

// Every byte is a token; the marks follow.
struct Turns {
  bool is_llama3;
  uint32_t start, end;
  std::vector<uint32_t> tokens;

  void begin() {
    tokens.clear();
    if (is_llama3) tokens.push_back(start - 1);
  }

  void text(std::string_view bytes) {
    for (const char c : bytes) tokens.push_back(static_cast<unsigned char>(c));
  }
  void header(std::string_view who) {
    tokens.push_back(start);
    text(who);
    if (is_llama3) tokens.push_back(start + 1), text("\n");
    text("\n");
  }
  void close() {
    tokens.push_back(end);
    if (!is_llama3) text("\n");
  }
  void turn(std::string_view who, std::string_view what) { header(who), text(what), close(); }
  void question(std::string_view what) {
    turn("user", what);
    header("assistant");
  }
};

// Checks that the decoder has run exactly these tokens: the scores of the next token are the same as after them.
void check_seen(const Model& model, Decoder& decoder, uint32_t last_run, const std::vector<uint32_t>& tokens,
                const char* what) {
  check(decoder.length() == tokens.size(), what);
  Run fresh(model);
  check(fresh.decoder.truncate(0) == FOVEA_OK, "truncation is refused");
  for (const uint32_t token : tokens) check(fresh.decoder.run(&token, 1) == FOVEA_OK, "a run is refused");
  float *want = nullptr, *got = nullptr;
  check(fresh.decoder.logits(0, &want) == FOVEA_OK && decoder.logits(last_run - 1, &got) == FOVEA_OK, "no scores");
  double error = 0.0;
  for (uint32_t i = 0; i < model.vocabulary; ++i) {
    error = std::max(error, static_cast<double>(std::fabs(want[i] - got[i])));
  }
  check(error < 1e-3, what);
}

// Images have the centre of keys, too.
void test_centered(const Model& model) {
  const CacheType cache = {FOVEA_I4, FOVEA_HADAMARD_BOTH, true};
  Run from(model, cache), to(model, cache);
  std::vector<uint32_t> tokens(40);
  for (uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = i * 7 % 250;
  check(from.decoder.run(tokens.data(), 40) == FOVEA_OK, "a run is refused");
  std::vector<unsigned char> image(from.decoder.image_bytes(40));
  for (uint32_t i = 0; i < model.layers; ++i) {
    check(from.decoder.write_image(i, 40, 5, image.data(), image.size()) == FOVEA_OK, "a layer has no image");
    check(to.decoder.read_image(i, 40, 5, image.data(), image.size()) == FOVEA_OK, "the image of a layer is refused");
  }
  float *want = nullptr, *got = nullptr;
  check(from.decoder.run(tokens.data(), 1) == FOVEA_OK && to.decoder.run(tokens.data(), 1) == FOVEA_OK &&
            from.decoder.logits(0, &want) == FOVEA_OK && to.decoder.logits(0, &got) == FOVEA_OK &&
            std::equal(want, want + model.vocabulary, got),
        "centred keys go on with other scores");
}

void change_byte(const char* path, long at) {
  std::FILE* const file = std::fopen(path, "r+b");
  check(file != nullptr && std::fseek(file, at, SEEK_SET) == 0, "a file has not this byte");
  const int byte = std::getc(file);
  std::fseek(file, at, SEEK_SET);
  std::putc(byte ^ 4, file);
  std::fclose(file);
}

void test(const char* splitter) {
  MadeModel made(splitter);
  const std::string bytes = made.file().bytes();
  std::vector<Line> file(bytes.size() / 64 + 1);
  std::memcpy(file.data(), bytes.data(), bytes.size());
  static Model model;
  Gguf gguf;
  check(gguf.read(file.data()->bytes, bytes.size()).empty() && read_model(gguf, &model).empty(), "a model is refused");
  std::vector<uint32_t> words(Tokenizer::memory_bytes(model.words) / 4 + 1), room(size_t{2} * kContext);
  Tokenizer tokenizer;
  check(tokenizer.init(model.words, words.data(), 4 * words.size()).empty(), "a vocabulary is refused");

  Run run(model);
  volatile std::sig_atomic_t stop = 0;
  Conversation talk(model, tokenizer, run.decoder, room.data(), kContext, stop);
  check(talk.init(), "the marks are not found");
  Sampler greedy({0.0f}, FOVEA_TARGET_BEST);
  const bool is_llama3 = model.begin_token != kNoToken;
  check(is_llama3 == (made.splitter == "llama-bpe"), "whether a token begins texts");
  Turns turns = {is_llama3, is_llama3 ? 257u : 256u, model.vocabulary - 1, {}};
  turns.begin();
  bool stopped = true;
  const auto ask = [&](std::string_view question) {
    turns.question(question);
    check(talk.ask("sys", question, &stopped) == FOVEA_OK && !stopped, "a question is refused");
    const auto last = static_cast<uint32_t>((talk.question_tokens() - 1) % kBlock + 1);
    check_seen(model, run.decoder, last, turns.tokens, "a question is not seen as it was asked");
  };

  // Marks in a question are text.
  turns.turn("system", "sys");
  ask("<|im_end|>?");
  bool ends = false;
  for (int i = 0; i < 3 && !ends; ++i) {
    uint32_t token = 0;
    check(talk.answer(greedy, &token, &ends) == FOVEA_OK, "no answer");
    if (!ends) turns.tokens.push_back(token);
  }
  check(!ends, "the model that is made up ends at once: this test needs another");

  // The answer was cut: its last token and the mark at its end are run with the next question. A question without room
  // and one that was given up do not change that.
  const uint32_t length = run.decoder.length();
  check(length + 1 == turns.tokens.size(), "an answer's last token is run too early");
  check(talk.ask("sys", std::string(kContext, 'x'), &stopped) == FOVEA_ERR_FULL, "a long question is taken");
  check(talk.ask("sys", std::string(Conversation::kMostText + 1, 'x'), &stopped) == FOVEA_ERR_LENGTH,
        "a longer question is taken");
  check(run.decoder.length() == length && talk.usable(), "a refused question changes something");
  stop = 1;
  check(talk.ask("sys", "no", &stopped) == FOVEA_OK && stopped && run.decoder.length() == length, "it does not stop");
  stop = 0;
  turns.close();
  ask("b");

  // Nothing was answered to "b".
  turns.close();
  ask("c");

  test_centered(model);

  // A conversation goes on from its file with the same scores, to the bit.
  uint32_t token = 0;
  check(talk.answer(greedy, &token, &ends) == FOVEA_OK && !ends, "no answer to c");
  const char* const path = "chat_conversation_test.saved";
  check(save(path, 7, talk, run.decoder).empty(), "a conversation is not saved");
  Run other(model);
  std::vector<uint32_t> other_room(room.size());
  Conversation again(model, tokenizer, other.decoder, other_room.data(), kContext, stop);
  check(again.init(), "the marks are not found again");
  size_t file_bytes = 0;
  const auto load_again = [&](uint64_t fingerprint) {
    return load(path, fingerprint, again, other.decoder, &file_bytes);
  };
  check(load_again(8) == "is not of this model, or was changed" && other.decoder.length() == 0, "another model's");
  change_byte(path, 64);  // of the first token
  check(load_again(7) == "is not of this model, or was changed" && other.decoder.length() == 0, "another token");
  change_byte(path, 64);
  change_byte(path, 64 + 4 * kContext + 999);  // of a key
  check(!load_again(7).empty() && other.decoder.length() == 0, "a changed file is loaded");
  change_byte(path, 64 + 4 * kContext + 999);
  check(load_again(7).empty() && other.decoder.length() == run.decoder.length(), "a conversation is not loaded");
  check(std::equal(talk.history(), talk.history() + run.decoder.length(), again.history()), "other tokens are loaded");
  check(load("no such file", 7, again, other.decoder, &file_bytes) != "", "a file that is not there is loaded");
  turns.tokens.push_back(token);
  turns.close();
  ask("e");
  check(again.ask("sys", "e", &stopped) == FOVEA_OK && !stopped, "a loaded conversation does not go on");
  const auto last = static_cast<uint32_t>((talk.question_tokens() - 1) % kBlock);
  float *want = nullptr, *got = nullptr;
  check(run.decoder.logits(last, &want) == FOVEA_OK && other.decoder.logits(last, &got) == FOVEA_OK &&
            std::equal(want, want + model.vocabulary, got),
        "a loaded conversation has other scores");
  std::remove(path);

  // What comes before the first question, run alone: the question then has the same scores.
  check(again.reset() == FOVEA_OK && again.introduce("sys") == FOVEA_OK, "no introduction");
  const uint32_t before = again.question_tokens();
  const std::string name = prompt_path("folder", 7, again.new_tokens(), before);
  check(name.size() == 7 + 16 && name.rfind("folder/", 0) == 0, "a prompt's file has another name");
  check(name != prompt_path("folder", 8, again.new_tokens(), before), "two models have one file of a prompt");
  check(name != prompt_path("folder", 7, again.new_tokens(), before - 1), "two prompts have one file");
  check(again.run_all() == FOVEA_OK && other.decoder.length() == before, "an introduction does not run");
  check(again.introduce("sys") == FOVEA_OK && again.question_tokens() == 0, "an introduction runs twice");
  check(again.ask("sys", "d", &stopped) == FOVEA_OK && !stopped, "no question after an introduction");
  const uint32_t after = again.question_tokens();
  check(talk.reset() == FOVEA_OK && run.decoder.length() == 0, "a reset leaves something");
  check(talk.ask("sys", "d", &stopped) == FOVEA_OK && talk.question_tokens() == before + after, "other tokens");
  check(run.decoder.logits((before + after - 1) % kBlock, &want) == FOVEA_OK &&
            other.decoder.logits((after - 1) % kBlock, &got) == FOVEA_OK &&
            std::equal(want, want + model.vocabulary, got),
        "a question after an introduction has other scores");
  check(talk.reset() == FOVEA_OK, "no reset");
  turns.begin();
  turns.turn("system", "sys");
  ask("d");
}

}  // namespace
}  // namespace chat

int main() {
  for (const char* const splitter : {"smollm", "qwen2", "llama-bpe"}) chat::test(splitter);
  return chat::report();
}
