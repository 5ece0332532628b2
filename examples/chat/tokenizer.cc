// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/tokenizer.h"

#include <algorithm>
#include <bitset>

#include "examples/chat/pre_tokenizer.h"

namespace chat {
namespace {

// The numbers in files of the types of special tokens.
enum TokenType : uint32_t { kControl = 3, kUserDefined = 4 };

uint64_t load(const unsigned char* data, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{data[i]} << (8 * i);
  return value;
}

// Reads the next string, and the offset of its length; false at the end.
class StringReader {
 public:
  explicit StringReader(const Strings& strings) : strings_(strings) {}

  size_t place() const { return place_; }

  bool next(std::string_view* text) {
    const size_t left = strings_.bytes - at_;
    if (left < 8) return false;
    const uint64_t bytes = load(strings_.data + at_, 8);
    if (bytes > left - 8) return false;
    *text = {reinterpret_cast<const char*>(strings_.data + at_ + 8), static_cast<size_t>(bytes)};
    place_ = at_;
    at_ += 8 + static_cast<size_t>(bytes);
    return true;
  }

 private:
  Strings strings_;
  size_t at_ = 0, place_ = 0;
};

// The character that stands for a byte in a vocabulary. Printable bytes of Latin-1 stand for themselves; the others, in
// order, are the characters from 0x100 on.
uint32_t character_of(uint32_t byte) {
  if (byte <= 0x20) return byte + 0x100;
  if (byte >= 0x7f && byte <= 0xa0) return byte - 0x7f + 0x121;
  return byte == 0xad ? 0x143 : byte;
}

// The same in UTF-8.
std::string_view spelling(uint32_t byte, char (&letters)[2]) {
  const uint32_t c = character_of(byte);
  letters[0] = static_cast<char>(c < 0x80 ? c : 0xc0 | c >> 6);
  letters[1] = static_cast<char>(0x80 | (c & 0x3f));
  return {letters, c < 0x80 ? size_t{1} : size_t{2}};
}

// The inverse of character_of; 0x100 for other characters.
uint32_t byte_of(uint32_t character) {
  if (character >= 0x100 && character <= 0x120) return character - 0x100;
  if (character >= 0x121 && character <= 0x142) return character - 0x121 + 0x7f;
  if (character == 0x143) return 0xad;
  return character < 0x100 && character_of(character) == character ? character : 0x100;
}

// Converts a text of the vocabulary to bytes; false if a character stands for no byte.
bool spell(std::string_view text, char* bytes, size_t* count) {
  *count = 0;
  for (size_t at = 0; at < text.size();) {
    uint32_t character = static_cast<unsigned char>(text[at++]);
    if (character >= 0xc2 && character <= 0xc5 && at < text.size() && (text[at] & 0xc0) == 0x80) {
      character = (character & 0x1f) << 6 | (text[at++] & 0x3f);
    } else if (character >= 0x80) {
      return false;
    }
    const uint32_t byte = byte_of(character);
    if (byte > 0xff) return false;
    bytes[(*count)++] = static_cast<char>(byte);
  }
  return true;
}

std::string number(uint64_t n) { return std::to_string(n); }

}  // namespace

// Counts all tokens, and stores those that there is room for.
class Tokenizer::Output {
 public:
  Output(uint32_t* tokens, size_t room) : tokens_(tokens), room_(room) {}

  void push(uint32_t token) {
    if (count_ < room_) tokens_[count_] = token;
    ++count_;
  }
  size_t count() const { return count_; }

 private:
  uint32_t* tokens_;
  size_t room_, count_ = 0;
};

// The bytes of a window, while their tokens are merged.
class Tokenizer::Window {
 public:
  // Stores the tokens of the first bytes, as far as there is room, and returns the number of bytes that were read.
  size_t fill(const Tokenizer& tokenizer, std::string_view bytes) {
    count_ = 0;
    size_t at = 0;
    for (; at < bytes.size() && count_ < kWindow; ++at) {
      const uint32_t token = tokenizer.byte_tokens_[static_cast<unsigned char>(bytes[at])];
      if (token != kNoToken) bytes_[count_] = 1, tokens_[count_++] = token;
    }
    for (size_t i = 0; i + 1 < count_; ++i) results_[i] = tokenizer.find_merge(tokens_[i], tokens_[i + 1]);
    return at;
  }

  // Merges the pair of lowest rank, the first of several, until none is left. A merge moves the tokens after it: for
  // common words that is faster than a heap, and a window bounds its time.
  void merge(const Tokenizer& tokenizer) {
    while (count_ > 1) {
      const uint64_t* const least = std::min_element(results_, results_ + count_ - 1);
      if (*least == kNoMerge) return;
      const size_t at = static_cast<size_t>(least - results_);
      tokens_[at] = static_cast<uint32_t>(*least);
      bytes_[at] = static_cast<uint16_t>(bytes_[at] + bytes_[at + 1]);
      --count_;
      std::copy(tokens_ + at + 2, tokens_ + count_ + 1, tokens_ + at + 1);
      std::copy(bytes_ + at + 2, bytes_ + count_ + 1, bytes_ + at + 1);
      std::copy(results_ + at + 1, results_ + count_, results_ + at);
      if (at > 0) results_[at - 1] = tokenizer.find_merge(tokens_[at - 1], tokens_[at]);
      if (at + 1 < count_) results_[at] = tokenizer.find_merge(tokens_[at], tokens_[at + 1]);
    }
  }

  size_t count() const { return count_; }
  uint32_t token(size_t i) const { return tokens_[i]; }
  size_t bytes(size_t i) const { return bytes_[i]; }  // bytes of token i

 private:
  size_t count_;
  uint32_t tokens_[kWindow];
  uint16_t bytes_[kWindow];
  uint64_t results_[kWindow];  // for tokens i and i + 1
};

Tokenizer::Tokenizer() { std::fill_n(byte_tokens_, 256, kNoToken); }

size_t Tokenizer::memory_bytes(const Vocabulary& vocabulary) {
  if (vocabulary.tokens.count > kMostTokens || vocabulary.merges.count > kMostMerges) return 0;
  return static_cast<size_t>(vocabulary.tokens.count) * (sizeof *places_ + sizeof *order_) +
         static_cast<size_t>(vocabulary.merges.count) * sizeof *merges_;
}

std::string Tokenizer::init(const Vocabulary& vocabulary, void* memory, size_t bytes) {
  *this = Tokenizer();
  if (vocabulary.tokens.count > kMostTokens) return "has more than " + number(kMostTokens) + " tokens";
  if (vocabulary.merges.count > kMostMerges) return "has more than " + number(kMostMerges) + " merges";
  if (vocabulary.tokens.bytes > UINT32_MAX) return "has tokens of more than 4 GB";
  if (!vocabulary.types) return "does not have a type for each token";
  if (bytes < memory_bytes(vocabulary)) return "needs more memory for its tokens";
  if (reinterpret_cast<uintptr_t>(memory) % kAlignment != 0) return "got memory for its tokens at an odd address";
  splitter_ = vocabulary.splitter;
  merges_ = static_cast<Merge*>(memory);
  places_ = reinterpret_cast<uint32_t*>(merges_ + vocabulary.merges.count);
  order_ = places_ + vocabulary.tokens.count;
  std::string problem = init_tokens(vocabulary);
  if (problem.empty()) problem = init_specials();
  if (problem.empty()) problem = init_merges(vocabulary.merges);
  if (!problem.empty()) *this = Tokenizer();
  return problem;
}

std::string Tokenizer::init_tokens(const Vocabulary& vocabulary) {
  texts_ = vocabulary.tokens.data;
  types_ = vocabulary.types;
  const uint32_t count = static_cast<uint32_t>(vocabulary.tokens.count);
  StringReader reader(vocabulary.tokens);
  for (uint32_t i = 0; i < count; ++i) {
    std::string_view piece;
    if (!reader.next(&piece)) return "lacks the text of token " + number(i);
    if (piece.empty() || piece.size() > kMostTokenBytes) {
      return "has token " + number(i) + " of " + number(piece.size()) + " bytes, not 1 to " + number(kMostTokenBytes);
    }
    places_[i] = static_cast<uint32_t>(reader.place());
    order_[i] = i;
  }
  count_ = count;
  std::sort(order_, order_ + count, [this](uint32_t a, uint32_t b) { return text(a) < text(b); });
  for (uint32_t i = 1; i < count; ++i) {
    if (text(order_[i - 1]) != text(order_[i])) continue;
    return "has the same text for tokens " + number(order_[i - 1]) + " and " + number(order_[i]);
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    char letters[2];
    const uint32_t token = find(spelling(byte, letters));
    byte_tokens_[byte] = token;
    if (token == kNoToken && ((byte >= 0x20 && byte < 0x7f) || byte == '\n')) {
      return "has no token for the byte " + number(byte);
    }
    if (token != kNoToken && special(token)) return "has a special token for the byte " + number(byte);
  }
  return {};
}

std::string Tokenizer::init_specials() {
  for (uint32_t i = 0; i < count_; ++i) {
    if (!special(i)) continue;
    if (special_count_ == kMostSpecials) return "has more than " + number(kMostSpecials) + " special tokens";
    specials_[special_count_++] = i;
  }
  return {};
}

// All merges to a token must come before those that use it. Trained merges have this property, and those that were made
// of a list of tokens in the order of their ranks, as Llama 3's, where several merge to one token; encode_piece relies
// on it.
std::string Tokenizer::init_merges(const Strings& merges) {
  std::bitset<size_t{kMostTokens}> used;
  StringReader reader(merges);
  for (uint32_t rank = 0; rank < merges.count; ++rank) {
    std::string_view pair;
    if (!reader.next(&pair)) return "lacks merge " + number(rank);
    const size_t space = pair.find(' ');
    if (space == std::string_view::npos || pair.size() - 1 > kMostTokenBytes) {
      return "has merge " + number(rank) + ", which is not two tokens with a space between them";
    }
    char both[kMostTokenBytes];
    std::copy_n(pair.begin(), space, both);
    std::copy(pair.begin() + space + 1, pair.end(), both + space);
    const uint32_t left = find(pair.substr(0, space)), right = find(pair.substr(space + 1));
    const uint32_t merged = find({both, pair.size() - 1});
    if (left == kNoToken || right == kNoToken || merged == kNoToken) {
      return "has merge " + number(rank) + " of or to a token that it does not have";
    }
    if (special(merged)) return "has merge " + number(rank) + " to a special token";
    if (used[merged]) return "has merge " + number(rank) + " to a token that was used before";
    used[left] = used[right] = true;
    merges_[rank] = {uint64_t{left} << 32 | right, uint64_t{rank} << 32 | merged};
  }
  merge_count_ = static_cast<uint32_t>(merges.count);
  std::sort(merges_, merges_ + merge_count_, [](const Merge& a, const Merge& b) { return a.pair < b.pair; });
  for (uint32_t i = 1; i < merge_count_; ++i) {
    if (merges_[i].pair == merges_[i - 1].pair) return "has the same merge twice";
  }
  return {};
}

std::string_view Tokenizer::text(uint32_t token) const {
  const unsigned char* const data = texts_ + places_[token];
  return {reinterpret_cast<const char*>(data + 8), static_cast<size_t>(load(data, 8))};
}

bool Tokenizer::special(uint32_t token) const {
  const uint64_t type = load(types_ + size_t{4} * token, 4);
  return type == kControl || type == kUserDefined;
}

uint32_t Tokenizer::find(std::string_view piece) const {
  const uint32_t *const begin = order_, *const end = begin + count_;
  const uint32_t* const found =
      std::lower_bound(begin, end, piece, [this](uint32_t token, std::string_view p) { return text(token) < p; });
  return found != end && text(*found) == piece ? *found : kNoToken;
}

// The rank and the result of the merge of two tokens; kNoMerge if they do not merge.
uint64_t Tokenizer::find_merge(uint32_t left, uint32_t right) const {
  const uint64_t pair = uint64_t{left} << 32 | right;
  const Merge *const begin = merges_, *const end = begin + merge_count_;
  const Merge* const found =
      std::lower_bound(begin, end, pair, [](const Merge& merge, uint64_t p) { return merge.pair < p; });
  return found != end && found->pair == pair ? found->result : kNoMerge;
}

// The token of a whole piece, which Llama 3 takes without merges; kNoToken if there is none.
uint32_t Tokenizer::find_whole(std::string_view piece) const {
  char spelled[kMostTokenBytes];
  size_t count = 0;
  for (const char c : piece) {
    char letters[2];
    const std::string_view letter = spelling(static_cast<unsigned char>(c), letters);
    if (count + letter.size() > kMostTokenBytes) return kNoToken;
    count = static_cast<size_t>(std::copy(letter.begin(), letter.end(), spelled + count) - spelled);
  }
  const uint32_t token = find({spelled, count});
  return token != kNoToken && !special(token) ? token : kNoToken;
}

// The offset of the first text of a special token, of several the longest; the end of the text if there is none.
size_t Tokenizer::find_special(std::string_view bytes, uint32_t* token) const {
  *token = kNoToken;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (uint32_t i = 0; i < special_count_; ++i) {
      const std::string_view piece = text(specials_[i]);
      if (bytes[at] != piece[0] || bytes.substr(at, piece.size()) != piece) continue;
      if (*token == kNoToken || piece.size() > text(*token).size()) *token = specials_[i];
    }
    if (*token != kNoToken) return at;
  }
  return bytes.size();
}

// A piece that is longer than a window is encoded in several. Of each window the first half of the tokens is kept, and
// the next window begins after them. Its first token must be the one that followed in the previous window. Then all
// tokens together are the encoding of the whole piece, because tokens encode their bytes if and only if each two
// neighbours encode theirs:
// - Merges of one rank are all made before those of higher ranks, from left to right, since init_merges has checked
//   that a merge's result is used only by higher ranks.
// - If no merge crosses the boundaries of some tokens, the merges within a token do not depend on the others. So
//   neighbours in an encoding encode their bytes.
// - Suppose that all neighbours are right and the whole is wrong. Consider the first merge that crosses a boundary. Up
//   to it, the two tokens at the boundary were merged as they would be alone; so the merge would cross alone, too.
bool Tokenizer::encode_piece(std::string_view piece, Output* output) const {
  Window window;
  for (uint32_t expected = kNoToken;;) {
    const size_t taken = window.fill(*this, piece);
    window.merge(*this);
    if (expected != kNoToken && window.token(0) != expected) return false;
    const bool last = taken == piece.size();
    size_t kept = 0, bytes = 0;
    for (; kept < window.count() && (last || bytes < kWindow / 2); ++kept) {
      output->push(window.token(kept));
      bytes += window.bytes(kept);
    }
    if (last) return true;
    expected = window.token(kept);
    for (; bytes > 0; piece.remove_prefix(1)) {
      if (spells(static_cast<unsigned char>(piece[0]))) --bytes;
    }
  }
}

bool Tokenizer::encode_plain(std::string_view bytes, Output* output) const {
  while (!bytes.empty()) {
    const size_t piece = piece_bytes(bytes, splitter_);
    const uint32_t whole = splitter_ == PreTokenizer::kLlama3 ? find_whole(bytes.substr(0, piece)) : kNoToken;
    if (whole != kNoToken) {
      output->push(whole);
    } else if (!encode_piece(bytes.substr(0, piece), output)) {
      return false;
    }
    bytes.remove_prefix(piece);
  }
  return true;
}

size_t Tokenizer::encode(std::string_view bytes, bool specials, uint32_t* tokens, size_t room) const {
  Output output(tokens, room);
  for (;;) {
    uint32_t token = kNoToken;
    const size_t plain = specials ? find_special(bytes, &token) : bytes.size();
    if (!encode_plain(bytes.substr(0, plain), &output)) return kRefused;
    if (token == kNoToken) return output.count();
    output.push(token);
    bytes.remove_prefix(plain + text(token).size());
  }
}

size_t Tokenizer::decode(uint32_t token, char* bytes, size_t room) const {
  if (token >= count_) return 0;
  const std::string_view piece = text(token);
  char spelled[kMostTokenBytes];
  size_t count = 0;
  if (special(token) || !spell(piece, spelled, &count)) {
    count = piece.size();
    std::copy(piece.begin(), piece.end(), spelled);
  }
  std::copy_n(spelled, std::min(count, room), bytes);
  return count;
}

}  // namespace chat
