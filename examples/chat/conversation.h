// SPDX-License-Identifier: Apache-2.0
//
// Alternate questions and answers, in one of two forms. All earlier turns stay in the decoder's cache.
//   ChatML   <|im_start|>user, a line feed, the question, <|im_end|>, a line feed, and so on
//   Llama 3  <|start_header_id|>user<|end_header_id|>, two line feeds, the question, <|eot_id|>, and so on
#ifndef FOVEA_EXAMPLES_CHAT_CONVERSATION_H_
#define FOVEA_EXAMPLES_CHAT_CONVERSATION_H_

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "examples/chat/decoder.h"
#include "examples/chat/sampler.h"
#include "examples/chat/tokenizer.h"

namespace chat {

class Conversation {
 public:
  static constexpr size_t kMostText = 1u << 16;  // bytes of a question

  // tokens: memory for twice `room` tokens. `room` is the decoder's context, and the most that a question may have.
  // stop: if it becomes nonzero, `ask` gives up between two blocks.
  Conversation(const Model& model, const Tokenizer& tokenizer, Decoder& decoder, uint32_t* tokens, uint32_t room,
               const volatile std::sig_atomic_t& stop)
      : model_(model),
        tokenizer_(tokenizer),
        decoder_(decoder),
        tokens_(tokens),
        history_(tokens + room),
        room_(room),
        stop_(stop) {}

  // False if the vocabulary lacks the marks of both forms.
  bool init();

  // Forgets everything.
  fovea_status reset();

  // What comes before the first question, the system text, as tokens; none if it is empty or has run. FOVEA_ERR_LENGTH as below.
  fovea_status introduce(std::string_view system);
  const uint32_t* new_tokens() const { return tokens_; }  // [question_tokens()]
  // Runs them. FOVEA_ERR_FULL if the context has no room for them.
  fovea_status run_all();

  // Runs a question. Before the first one it runs `system`, a text that tells the model who it is, unless it is empty.
  // Both are plain text, even if they contain marks. FOVEA_ERR_FULL if the context has no room for it; then nothing
  // changed. *stopped: it was given up, and nothing changed. FOVEA_ERR_LENGTH: a text has more than kMostText bytes, or
  // the tokenizer refuses it.
  fovea_status ask(std::string_view system, std::string_view question, bool* stopped);
  // False if a call failed within a turn, so that the conversation cannot continue.
  bool usable() const { return usable_; }
  uint32_t question_tokens() const { return count_; }  // of the last question, including the marks around it

  // What a file keeps of a conversation in addition to its tokens, between two turns.
  struct State {
    bool pending, open;
    uint32_t last;
  };
  State state() const { return {pending_, open_, last_}; }
  const uint32_t* history() const { return history_; }  // the tokens that were run: [decoder.length()]
  // Goes on from such a state, with the bytes of tokens that the decoder has already.
  void restore(const State& state, const unsigned char* history, uint32_t tokens);

  // Chooses the next token of the answer. *ends: the answer is complete, and there is no token.
  fovea_status answer(Sampler& sampler, uint32_t* token, bool* ends);

 private:
  void put(uint32_t token);
  void put(std::string_view text);
  void begin_turn(std::string_view who, std::string_view text);
  void end_turn();
  void put_turn(std::string_view who, std::string_view text);
  bool is_mark(uint32_t token) const;
  fovea_status run(const uint32_t* tokens, uint32_t count);
  void put_introduction(std::string_view system);

  const Model& model_;
  const Tokenizer& tokenizer_;
  Decoder& decoder_;
  uint32_t *const tokens_, *const history_;
  const uint32_t room_;
  const volatile std::sig_atomic_t& stop_;
  uint32_t count_ = 0;
  bool usable_ = true;
  bool refused_ = false;          // the tokenizer refuses a text
  uint32_t start_ = 0, end_ = 0;  // the marks' tokens
  uint32_t middle_ = kNoToken;    // the mark after a name; kNoToken if a line feed is there
  uint32_t last_run_ = 0;         // tokens of the decoder's last run
  bool pending_ = false;          // last_ was chosen, but not run yet
  uint32_t last_ = 0;
  bool open_ = false;  // the last answer has no mark at its end yet
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_CONVERSATION_H_
