// SPDX-License-Identifier: Apache-2.0
#include "examples/sentence_similarity/tokenizer.h"

#include <algorithm>

namespace sentence_similarity {
namespace {

// Pieces that are recognised as a whole anywhere in a text.
constexpr std::string_view kSpecialText[] = {"[CLS]", "[SEP]", "[UNK]", "[MASK]", "[PAD]"};
enum Special { kBegin, kEnd, kUnknown };

constexpr std::string_view kContinues = "##";  // before a piece that is not the first of its word
constexpr size_t kMostCharacters = 100;        // a longer word is unknown
constexpr uint32_t kNoCharacter = 0xfffd;

// The character that begins at text[*at]; moves *at past it. kNoCharacter for a byte that begins no character.
uint32_t next_character(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t begin = (*at)++;
  const uint32_t lead = byte(begin);
  if (lead < 0x80) return lead;
  const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};  // smallest character of each length
  if (lead < 0xc0 || lead >= 0xf8 || text.size() - begin <= more) return kNoCharacter;
  uint32_t character = lead & (0x3fu >> more);
  for (size_t i = 1; i <= more; ++i) {
    if ((byte(begin + i) & 0xc0) != 0x80) return kNoCharacter;
    character = character << 6 | (byte(begin + i) & 0x3f);
  }
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < kLeast[more] || character >= 0x110000 || surrogate) return kNoCharacter;
  *at = begin + 1 + more;
  return character;
}

// Writes a character of at most 21 bits as UTF-8, and returns its bytes: at most 4.
size_t write_character(uint32_t character, char* text) {
  if (character < 0x80) {
    text[0] = static_cast<char>(character);
    return 1;
  }
  const size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  text[0] = static_cast<char>(kLead[more] | character >> (6 * more));
  for (size_t i = 1; i <= more; ++i) text[i] = static_cast<char>(0x80 | (character >> (6 * (more - i)) & 0x3f));
  return 1 + more;
}

}  // namespace

// The word that is being read, and the tokens of the words before it.
class Tokenizer::Words {
 public:
  Words(const Tokenizer& tokenizer, uint32_t (&tokens)[kTokens]) : tokenizer_(tokenizer), tokens_(tokens) {}

  size_t count() const { return count_; }

  void push(uint32_t token) {
    if (count_ < kTokens) tokens_[count_] = token;
    ++count_;
  }

  // A character, by its entry in the table or in a sequence.
  void add(uint32_t character, uint32_t entry) {
    if (entry & kDropped) return;
    if (entry & (kSpace | kIsolated)) end();
    if (entry & kSpace) return;
    if (characters_++ < kMostCharacters) {
      end_ += write_character((entry & kCharacterBits) ^ character, bytes_ + end_);
    }
    if (entry & kIsolated) end();
  }

  void end() {
    const size_t before = count_;
    if (characters_ > kMostCharacters || !cut()) {
      count_ = before;
      push(tokenizer_.special_[kUnknown]);
    }
    characters_ = 0;
    end_ = kRoom;
  }

 private:
  static constexpr size_t kRoom = kContinues.size();

  // Splits the word into the longest pieces, from left to right; false if no piece fits. "##" before a piece that
  // continues the word overwrites bytes of the piece before it, which are not needed any more.
  bool cut() {
    for (size_t begin = kRoom, next; begin < end_; begin = next) {
      const size_t prefix = begin == kRoom ? 0 : kRoom;
      std::copy_n(kContinues.begin(), prefix, bytes_ + begin - prefix);
      uint32_t token = kPieces;
      for (next = std::min(end_, begin + tokenizer_.longest_); next > begin; --next) {
        token = tokenizer_.find({bytes_ + begin - prefix, prefix + next - begin});
        if (token != kPieces) break;
      }
      if (next == begin) return false;
      push(token);
    }
    return true;
  }

  const Tokenizer& tokenizer_;
  uint32_t (&tokens_)[kTokens];
  size_t count_ = 0;
  size_t characters_ = 0;  // number of characters of the word
  size_t end_ = kRoom;     // end of its bytes
  char bytes_[kRoom + 4 * kMostCharacters];
};

Tokenizer::Tokenizer(const Model& model) : characters_(model.characters), vocabulary_(model.vocabulary) {
  for (uint32_t i = 0; i < kPieces; ++i) {
    longest_ = std::max<size_t>(longest_, vocabulary_.begins[i + 1] - vocabulary_.begins[i]);
  }
  for (int i = 0; i < kSpecials; ++i) {
    special_[i] = find(kSpecialText[i]);
    if (special_[i] == kPieces) complete_ = false;
  }
}

uint32_t Tokenizer::find(std::string_view piece) const {
  const auto at = [this](uint32_t i) {
    return std::string_view(vocabulary_.text + vocabulary_.begins[i],
                            vocabulary_.begins[i + 1] - vocabulary_.begins[i]);
  };
  uint32_t first = 0, count = kPieces;
  while (count > 0) {
    const uint32_t half = count / 2;
    if (at(first + half) < piece) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first < kPieces && at(first) == piece ? vocabulary_.numbers[first] : kPieces;
}

uint32_t Tokenizer::entry(uint32_t character) const {
  return characters_.blocks[characters_.block_of[character / Characters::kBlock]][character % Characters::kBlock];
}

size_t Tokenizer::tokenize(std::string_view text, uint32_t (&tokens)[kTokens]) const {
  Words words(*this, tokens);
  words.push(special_[kBegin]);
  for (size_t at = 0; at < text.size();) {
    int special = 0;
    while (special < kSpecials && text.compare(at, kSpecialText[special].size(), kSpecialText[special]) != 0) ++special;
    if (special < kSpecials) {
      words.end();
      words.push(special_[special]);
      at += kSpecialText[special].size();
      continue;
    }
    const uint32_t character = next_character(text, &at), what = entry(character);
    if (what & kSequence) {
      const uint32_t* const sequence = characters_.sequences + (what & kCharacterBits);
      for (uint32_t i = 1; i <= sequence[0]; ++i) words.add(0, sequence[i]);
    } else {
      words.add(character, what);
    }
  }
  words.end();
  words.push(special_[kEnd]);
  return words.count();
}

}  // namespace sentence_similarity
