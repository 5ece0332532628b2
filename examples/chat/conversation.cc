// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/conversation.h"

#include <algorithm>
#include <cstring>

namespace chat {

bool Conversation::init() {
  start_ = tokenizer_.find("<|im_start|>");
  end_ = tokenizer_.find("<|im_end|>");
  return start_ < model_.vocabulary && end_ < model_.vocabulary;
}

fovea_status Conversation::reset() {
  pending_ = open_ = false;
  return decoder_.truncate(0);
}

void Conversation::put(uint32_t token) {
  if (count_ < room_) tokens_[count_] = token;
  ++count_;
}

void Conversation::put(std::string_view text) {
  const uint32_t used = std::min(count_, room_);
  const size_t more = tokenizer_.encode(text, false, tokens_ + used, room_ - used);
  refused_ = refused_ || more == Tokenizer::kRefused;
  count_ += static_cast<uint32_t>(std::min<size_t>(more, kMostText));  // a token has a byte or more
}

// The line feed before the text is split together with the text.
void Conversation::put_turn(std::string_view who, std::string_view text) {
  static char turn[kMostText + 16];
  std::memcpy(turn, who.data(), who.size());
  std::memcpy(turn + who.size(), text.data(), text.size());
  put(start_);
  put(std::string_view(turn, who.size() + text.size()));
  put(end_);
  put("\n");
}

fovea_status Conversation::run(const uint32_t* tokens, uint32_t count) {
  for (uint32_t done = 0; done < count; done += last_run_) {
    last_run_ = std::min(count - done, kBlock);
    const fovea_status status = decoder_.run(tokens + done, last_run_);
    if (status != FOVEA_OK) {
      usable_ = status == FOVEA_ERR_FULL;
      return status;
    }
  }
  return FOVEA_OK;
}

fovea_status Conversation::ask(std::string_view system, std::string_view question) {
  if (system.size() > kMostText || question.size() > kMostText) return FOVEA_ERR_LENGTH;
  count_ = 0;
  refused_ = false;
  if (pending_) put(last_);
  if (open_) {
    put(end_);
    put("\n");
  }
  if (decoder_.length() == 0 && !system.empty()) put_turn("system\n", system);
  put_turn("user\n", question);
  put(start_);
  put("assistant\n");
  if (refused_) return FOVEA_ERR_LENGTH;
  if (count_ > room_ || count_ > decoder_.room()) return FOVEA_ERR_FULL;
  pending_ = false;
  open_ = true;
  return run(tokens_, count_);
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
  if (status != FOVEA_OK) return status;
  *ends = *token == end_ || *token == model_.end_token;
  pending_ = !*ends;
  last_ = *token;
  return FOVEA_OK;
}

}  // namespace chat
