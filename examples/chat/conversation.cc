// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/conversation.h"

#include <algorithm>
#include <cstring>

namespace chat {

bool Conversation::init() {
  start_ = tokenizer_.find("<|im_start|>");
  end_ = tokenizer_.find("<|im_end|>");
  middle_ = kNoToken;
  if (start_ < model_.vocabulary && end_ < model_.vocabulary) return true;
  start_ = tokenizer_.find("<|start_header_id|>");
  middle_ = tokenizer_.find("<|end_header_id|>");
  end_ = tokenizer_.find("<|eot_id|>");
  return start_ < model_.vocabulary && middle_ < model_.vocabulary && end_ < model_.vocabulary;
}

fovea_status Conversation::reset() {
  pending_ = open_ = false;
  return decoder_.truncate(0);
}

void Conversation::restore(const State& state, const unsigned char* history, uint32_t tokens) {
  pending_ = state.pending, open_ = state.open, last_ = state.last;
  std::memcpy(history_, history, sizeof *history_ * tokens);
}

// Marks are not part of an answer: each of them ends it.
bool Conversation::is_mark(uint32_t token) const {
  constexpr int32_t kControl = 3;
  int32_t type;
  std::memcpy(&type, model_.words.types + sizeof type * token, sizeof type);
  return type == kControl || token == end_ || token == model_.end_token;
}

void Conversation::put(uint32_t token) {
  if (count_ < room_) tokens_[count_] = token;
  ++count_;
}

void Conversation::put(std::string_view text) {
  const uint32_t used = std::min(count_, room_);
  const size_t more = tokenizer_.encode(text, false, tokens_ + used, room_ - used);
  if (more == Tokenizer::kRefused) {
    refused_ = true;
  } else {
    count_ += static_cast<uint32_t>(more);  // a token has a byte or more
  }
}

// Line feeds before the text are tokenized together with the text.
void Conversation::begin_turn(std::string_view who, std::string_view text) {
  static char turn[kMostText + 16];
  char* end = turn;
  put(start_);
  if (middle_ != kNoToken) {
    put(who);
    put(middle_);
    end = std::copy_n("\n\n", 2, end);
  } else {
    end = std::copy(who.begin(), who.end(), end);
    *end++ = '\n';
  }
  end = std::copy(text.begin(), text.end(), end);
  put(std::string_view(turn, static_cast<size_t>(end - turn)));
}

void Conversation::end_turn() {
  put(end_);
  if (middle_ == kNoToken) put("\n");
}

void Conversation::put_turn(std::string_view who, std::string_view text) {
  begin_turn(who, text);
  end_turn();
}

// Up to kBlock tokens.
fovea_status Conversation::run(const uint32_t* tokens, uint32_t count) {
  last_run_ = count;
  if (count <= decoder_.room()) std::copy_n(tokens, count, history_ + decoder_.length());
  const fovea_status status = decoder_.run(tokens, count);
  if (status != FOVEA_OK) usable_ = status == FOVEA_ERR_FULL;
  return status;
}

// Gives up between two blocks.
fovea_status Conversation::run_all() {
  if (count_ > room_ || count_ > decoder_.room()) return FOVEA_ERR_FULL;
  for (uint32_t done = 0; done < count_ && stop_ == 0; done += last_run_) {
    const fovea_status status = run(tokens_ + done, std::min(count_ - done, kBlock));
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

void Conversation::put_introduction(std::string_view system) {
  if (decoder_.length() != 0) return;
  if (model_.begin_token != kNoToken) put(model_.begin_token);
  if (!system.empty()) put_turn("system", system);
}

fovea_status Conversation::introduce(std::string_view system) {
  if (system.size() > kMostText) return FOVEA_ERR_LENGTH;
  count_ = 0;
  refused_ = false;
  if (!system.empty()) put_introduction(system);
  return refused_ ? FOVEA_ERR_LENGTH : FOVEA_OK;
}

fovea_status Conversation::ask(std::string_view system, std::string_view question, bool* stopped) {
  *stopped = false;
  if (system.size() > kMostText || question.size() > kMostText) return FOVEA_ERR_LENGTH;
  count_ = 0;
  refused_ = false;
  if (pending_) put(last_);
  if (open_) end_turn();
  put_introduction(system);
  put_turn("user", question);
  begin_turn("assistant", {});
  if (refused_) return FOVEA_ERR_LENGTH;
  const uint32_t before = decoder_.length();
  const fovea_status status = run_all();
  if (status != FOVEA_OK) return status;
  *stopped = decoder_.length() != before + count_;
  if (*stopped) return decoder_.truncate(before);
  pending_ = false;
  open_ = true;
  return FOVEA_OK;
}

fovea_status Conversation::answer(Sampler& sampler, uint32_t* token, bool* ends) {
  *ends = false;
  if (pending_) {
    const fovea_status status = run(&last_, 1);
    if (status != FOVEA_OK) return status;
    pending_ = false;
  }
  float* scores;
  fovea_status status = decoder_.logits(last_run_ - 1, &scores);
  if (status == FOVEA_OK) status = sampler.choose(scores, model_.vocabulary, token);
  usable_ = status == FOVEA_OK;
  if (!usable_) return status;
  *ends = is_mark(*token);
  pending_ = !*ends;
  last_ = *token;
  return FOVEA_OK;
}

}  // namespace chat
