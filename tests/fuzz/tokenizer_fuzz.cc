// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of examples/chat. A made-up vocabulary is spoilt where the bytes say: it must be refused, or any text
// made into tokens of it. The vocabulary, the tables, texts and tokens lie in memory of just their bytes, so that the
// address sanitizer sees a look at others. Of a vocabulary as it was made, tokens must be right.
#include "examples/chat/tokenizer.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <vector>

#include "examples/chat/made_vocabulary.h"
#include "examples/chat/pre_tokenizer.h"
#include "examples/chat/text_stream.h"
#include "examples/chat/unicode_classes.h"
#include "fuzz/memory.h"

namespace fovea_test {
namespace {

using namespace chat;

constexpr size_t kShort = 300;  // bytes of a text for which the definition is quick enough
constexpr size_t kLong = 4000;  // several windows of the tokenizer
constexpr uint32_t kMerges = 24;

// The bytes, and merges that could have been trained on few of them.
MadeVocabulary draw_vocabulary(Bytes& bytes) {
  static const MadeVocabulary base;
  MadeVocabulary words = base;
  std::vector<uint32_t> known;
  for (const char c : bytes.flag() ? std::string("ab") : std::string("etao 1\n'\xc3\xa9")) {
    known.push_back(static_cast<unsigned char>(c));
  }
  words.splitter = static_cast<PreTokenizer>(bytes.below(3));
  const bool all_ways = bytes.flag();
  for (uint32_t count = bytes.below(kMerges); count > 0; --count) {
    const uint32_t left = known[bytes.below(uint32_t(known.size()))],
                   right = known[bytes.below(uint32_t(known.size()))];
    if (words.texts[left].size() + words.texts[right].size() > Tokenizer::kMostTokenBytes) continue;
    const bool added = all_ways ? words.merge_all_ways(left, right) : words.merge(left, right);
    if (added) known.push_back(uint32_t(words.texts.size()) - 1);
  }
  for (uint32_t count = bytes.below(4); count > 0; --count) {
    const std::string name = std::string("<|e|>a").substr(0, 3 + count);
    words.add(name, bytes.flag() ? MadeVocabulary::kControl : MadeVocabulary::kUserDefined);
  }
  return words;
}

void spoil(Bytes& bytes, MadeVocabulary* words) {
  for (uint32_t changes = bytes.below(6); changes > 0; --changes) {
    // The last tokens are those of merges, and special ones.
    const uint32_t count = uint32_t(words->texts.size());
    const size_t at = bytes.flag() ? bytes.below(count) : count - 1 - bytes.below(std::min(count, 32u));
    std::vector<std::string>& merges = words->merges;
    const size_t merge = merges.empty() ? 0 : bytes.below(uint32_t(merges.size()));
    switch (bytes.below(8)) {
      case 0: words->types[at] = int32_t(bytes.flag() ? word(bytes) : 1 + bytes.below(6)); break;
      case 1: words->texts[at].assign(bytes.below(300), char(bytes.take<uint8_t>())); break;
      case 2: words->texts[at].push_back(char(bytes.take<uint8_t>())); break;
      case 3: words->texts[at] = words->texts[bytes.below(count)]; break;
      case 4: merges.push_back(words->texts[at] + " " + words->texts[bytes.below(count)]); break;
      case 5: merges.emplace_back(bytes.below(300), char(bytes.take<uint8_t>())); break;
      case 6:
        if (!merges.empty()) std::swap(merges[merge], merges.back());
        break;
      default:
        if (!merges.empty()) merges[merge].insert(0, 1, bytes.flag() ? ' ' : 'a');
    }
  }
}

// A vocabulary in memory of its own, whose counts and bytes the bytes may change too.
struct File {
  File(Vocabulary vocabulary, Bytes& bytes, bool spoilt)
      : tokens(vocabulary.tokens.data, vocabulary.tokens.data + vocabulary.tokens.bytes),
        merges(vocabulary.merges.data, vocabulary.merges.data + vocabulary.merges.bytes),
        types(vocabulary.types, vocabulary.types + 4 * vocabulary.tokens.count),
        tokens_count(vocabulary.tokens.count),
        merges_count(vocabulary.merges.count),
        splitter(vocabulary.splitter) {
    for (uint32_t changes = spoilt ? bytes.below(4) : 0; changes > 0; --changes) {
      std::vector<unsigned char>& strings = bytes.flag() ? tokens : merges;
      const uint32_t any = word(bytes);
      switch (bytes.below(4)) {
        case 0:
          if (!strings.empty()) strings[any % strings.size()] = bytes.take<uint8_t>();
          break;
        case 1: strings.resize(strings.size() - std::min<size_t>(strings.size(), bytes.below(20))); break;
        case 2: merges_count = any; break;
        // There are types for as many tokens: of that a reader is sure.
        default: tokens_count = std::min<uint64_t>(tokens_count, any);
      }
    }
    tokens.shrink_to_fit(), merges.shrink_to_fit(), types.resize(4 * tokens_count), types.shrink_to_fit();
  }
  Vocabulary vocabulary() const {
    return {{tokens.data(), tokens.size(), tokens_count},
            {merges.data(), merges.size(), merges_count},
            types.data(),
            splitter};
  }

  std::vector<unsigned char> tokens, merges, types;
  uint64_t tokens_count, merges_count;
  PreTokenizer splitter;
};

std::vector<uint32_t> tokens_of(const Tokenizer& tokenizer, const std::string& text, bool specials, size_t room) {
  const std::vector<char> exact(text.begin(), text.end());
  std::vector<uint32_t> tokens(room, kNoToken);
  const size_t count = tokenizer.encode({exact.data(), exact.size()}, specials, tokens.data(), room);
  if (count == Tokenizer::kRefused) return {kNoToken};
  expect(count <= text.size(), "more tokens than bytes");
  tokens.resize(std::min(count, room));
  for (const uint32_t token : tokens) expect(token < tokenizer.count(), "a token that there is not");
  return tokens;
}

std::string text_of(const Tokenizer& tokenizer, const std::vector<uint32_t>& tokens) {
  std::string text;
  TextStream stream(tokenizer);
  for (const uint32_t token : tokens) {
    std::vector<char> bytes(tokenizer.decode(token, nullptr, 0));
    expect(bytes.size() <= Tokenizer::kMostTokenBytes, "a token of more bytes than promised");
    expect(tokenizer.decode(token, bytes.data(), bytes.size()) == bytes.size(), "another count of bytes");
    text.append(bytes.data(), bytes.size());
    std::string_view given = stream.add(token);
    while (!given.empty()) {
      const Character character = first_character(given);
      expect(character.state == Character::kWhole, "a part of a character");
      given.remove_prefix(character.bytes);
    }
  }
  stream.finish();
  return text;
}

// Words of the vocabulary and any bytes; a short text, or a long one that repeats itself.
std::string draw_text(Bytes& bytes, const MadeVocabulary& words, bool* is_long) {
  *is_long = bytes.below(8) == 1;
  const uint32_t times = 1 + bytes.below(64);
  std::string text;
  while (!bytes.empty() && text.size() < kShort) {
    const uint32_t which = bytes.take<uint8_t>();
    if (which < 0x80) {
      text += char(which);
    } else if (const size_t at = words.texts.size() - 1 - which % 32; words.types[at] == MadeVocabulary::kNormal) {
      for (const char c : words.texts[at]) {
        if (std::isprint(static_cast<unsigned char>(c))) text += c;
      }
    } else {
      text += bytes.flag() ? words.texts[at] : std::string(1, char(bytes.take<uint8_t>()));
    }
  }
  const std::string once = text;
  for (uint32_t i = 0; *is_long && text.size() < kLong && i < times * 4; ++i) text += once;
  return text;
}

void check_tokens(const Tokenizer& tokenizer, const MadeVocabulary& words, const std::string& text, bool is_long) {
  std::vector<uint32_t> want;
  const std::vector<uint32_t> tokens = tokens_of(tokenizer, text, false, text.size());
  if (is_long) {
    if (tokens == std::vector<uint32_t>{kNoToken}) return;
    // Tokens are right where each two within a piece are.
    size_t at = 0;
    for (size_t i = 0, end = 0; i < tokens.size(); ++i) {
      if (at == end) end += piece_bytes(std::string_view(text).substr(at), words.splitter);
      const size_t first = tokenizer.decode(tokens[i], nullptr, 0);
      if (at + first < end) {
        expect(i + 1 < tokens.size(), "tokens are missing");
        const size_t second = tokenizer.decode(tokens[i + 1], nullptr, 0);
        expect(words.merge_piece(std::string_view(text).substr(at, first + second)) ==
                   std::vector<uint32_t>{tokens[i], tokens[i + 1]},
               "two tokens that are not the encoding of their bytes");
      }
      expect(at + first <= end, "a token of two pieces");
      at += first;
    }
    expect(at == text.size(), "tokens of another text");
    return;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t piece = piece_bytes(std::string_view(text).substr(at), words.splitter);
    expect(piece > 0 && piece <= text.size() - at, "no piece");
    const std::vector<uint32_t> more = words.encode_piece(std::string_view(text).substr(at, piece));
    want.insert(want.end(), more.begin(), more.end());
    at += piece;
  }
  expect(tokens == want, "other tokens than the definition's");
}

}  // namespace

void run(Bytes bytes) {
  const bool spoilt = bytes.flag();
  MadeVocabulary words = draw_vocabulary(bytes);
  if (spoilt) spoil(bytes, &words);
  const File file(words.vocabulary(), bytes, spoilt);
  const Vocabulary vocabulary = file.vocabulary();
  const size_t memory_bytes = Tokenizer::memory_bytes(vocabulary);
  const std::unique_ptr<uint32_t[]> memory(new uint32_t[memory_bytes / 4 + (memory_bytes % 4 != 0 ? 1 : 0)]);
  Tokenizer tokenizer;
  const std::string problem = tokenizer.init(vocabulary, memory.get(), memory_bytes);
  expect(spoilt || problem.empty(), problem.c_str());

  bool is_long;
  const std::string text = draw_text(bytes, words, &is_long);
  const std::vector<uint32_t> all = tokens_of(tokenizer, text, true, text.size());
  const std::vector<uint32_t> some = tokens_of(tokenizer, text, true, text.size() / 2);
  if (all == std::vector<uint32_t>{kNoToken}) return;
  expect(std::equal(some.begin(), some.end(), all.begin()), "other tokens with less room");
  const std::string back = text_of(tokenizer, all);
  if (spoilt) return;
  expect(back == text, "another text");
  check_tokens(tokenizer, words, text, is_long);
}

}  // namespace fovea_test
