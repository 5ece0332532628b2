// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer with made-up vocabularies. Exit code: 0, or 1 when something is wrong.
#include "examples/chat/tokenizer.h"

#include <algorithm>
#include <cstdio>

#include "examples/chat/checks.h"
#include "examples/chat/made_vocabulary.h"
#include "examples/chat/pre_tokenizer.h"
#include "examples/chat/text_stream.h"
#include "examples/chat/unicode_classes.h"

namespace chat {
namespace {

// Pseudorandom numbers, the same in each run.
uint32_t below(uint32_t bound) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(state >> 33) % bound;
}

// A tokenizer with memory of exactly memory_bytes.
struct Made {
  explicit Made(Vocabulary vocabulary)
      : memory((Tokenizer::memory_bytes(vocabulary) + 3) / 4),
        problem(tokenizer.init(vocabulary, memory.data(), Tokenizer::memory_bytes(vocabulary))) {}

  std::vector<uint32_t> encode(std::string_view text, bool specials = false) const {
    std::vector<uint32_t> tokens(text.size() + 1);
    const size_t count = tokenizer.encode(text, specials, tokens.data(), tokens.size());
    if (count > tokens.size()) return {kNoToken};
    tokens.resize(count);
    return tokens;
  }
  std::string decode(const std::vector<uint32_t>& tokens) const {
    std::string text;
    for (const uint32_t token : tokens) {
      char bytes[Tokenizer::kMostTokenBytes];
      text.append(bytes, tokenizer.decode(token, bytes, sizeof bytes));
    }
    return text;
  }

  Tokenizer tokenizer;
  std::vector<uint32_t> memory;
  std::string problem;
};

void check_classes() {
  const auto is = [](uint32_t code, CharacterClass kind) {
    check(class_of(code) == kind, "class of " + std::to_string(code));
  };
  for (const uint32_t code : {0x41u, 0xaau, 0x3b1u, 0x4e00u, 0x1d400u, 0x2a6d6u}) is(code, CharacterClass::kLetter);
  for (const uint32_t code : {0x30u, 0xb2u, 0xbcu, 0x663u, 0x2160u, 0x3007u, 0x1d7ceu})
    is(code, CharacterClass::kNumber);
  for (const uint32_t code : {0x09u, 0x20u, 0x85u, 0xa0u, 0x1680u, 0x2003u, 0x2028u, 0x3000u}) {
    is(code, CharacterClass::kSpace);
  }
  for (const uint32_t code :
       {0u, 0x1cu, 0x27u, 0x300u, 0x180eu, 0x200bu, 0xfeffu, 0x1f600u, 0x10ffffu, 0x110000u, ~0u}) {
    is(code, CharacterClass::kOther);
  }
}

// Counts the sequences of two and of three bytes that are characters, and checks the limits of those of four.
void check_characters() {
  const auto whole = [](const std::string& text) {
    const Character character = first_character(text);
    return character.state == Character::kWhole && character.bytes == text.size();
  };
  size_t two = 0, three = 0;
  for (uint32_t i = 0; i < 1u << 20; ++i) {
    const char bytes[] = {static_cast<char>(0xe0 | i >> 16), static_cast<char>(i >> 8), static_cast<char>(i)};
    if (i < 1u << 16) two += whole({bytes + 1, 2}) ? 1 : 0;
    three += whole({bytes, 3}) ? 1 : 0;
  }
  check(two == 0x800 - 0x80, "how many characters have two bytes");
  check(three == 0x10000 - 0x800 - 0x800, "how many characters have three bytes");
  check(whole("\xf0\x90\x80\x80") && whole("\xf4\x8f\xbf\xbf"), "characters of four bytes");
  check(!whole("\xf0\x8f\xbf\xbf") && !whole("\xf4\x90\x80\x80") && !whole("\xf5\x80\x80\x80"), "no characters");
  check(first_character("\xe2\x82\xac").code == 0x20ac && first_character("\xf0\x9f\x98\x80").code == 0x1f600, "code");
  const Character cut = first_character("\xf0\x9f\x98"), wrong = first_character("\xf0\x9f\x41");
  check(cut.state == Character::kCut && cut.bytes == 3, "a cut character");
  check(wrong.state == Character::kWrong && wrong.bytes == 2, "bytes that began a character");
}

using Texts = std::vector<std::vector<std::string>>;

void check_pieces_of(PreTokenizer splitter, const Texts& texts) {
  for (const std::vector<std::string>& pieces : texts) {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    size_t at = 0;
    for (const std::string& piece : pieces) {
      const size_t bytes = piece_bytes(std::string_view(text).substr(at), splitter);
      check(bytes == piece.size(), "piece \"" + piece + "\" of " + text);
      at += piece.size();
    }
  }
  check(piece_bytes("", splitter) == 0, "a piece of nothing");
}

void check_pieces() {
  check_pieces_of(PreTokenizer::kSmollm,
                  {
                      {"Hello", ",", " world", "!"},
                      {"it", "'s", " we", "'ll", "'", "LL", " '", "s", "'d", "x"},
                      {"a", " ", " b", "\n\n ", " c", " \n\t"},
                      {"in", " ", "1", "2", "3", "km", "  ", "4", " !?", " ", " \u00e9t\u00e9"},
                      {"x", "\u00b2", "\u0663", "\u2167", " ", "5"},
                      {"a", "\u3000", "b", "\u00a0", " c"},
                      {"\xff\xfe", "a", "\x80!"},
                      {"\u0928\u092e\u0938", "\u094d", "\u0924", "\u0947"},  // a mark that combines is no letter
                      {"\U0001f468\u200d\U0001f469", " \u2764\ufe0f"},
                  });
  const Texts both = {
      {"Hello", ",", " world", "!"},
      {"it", "'s", " we", "'LL", "'Re", "a", " '", "s", "'l", "'\u017f", "x"},  // U+017F is a long s
      {"a", " ", " b", "\n\n", " ", " c", " \n", "\t"},
      {"a", " \r\n \n", "\tb", "!\n\n", "c", "\n", "d", "!!", " ?\r\n", " "},
      {"(x", "+y", ");\n", "\u3000z", "\u00a0", "\u00a0c"},
      {"in", " ", " ", "4", " !?", " ", " \u00e9t\u00e9"},
      {"\xff\xfe", "a", "\x80!", " \xfe", "a",
       "\xfe"
       "a"},
      {"\u0928\u092e\u0938", "\u094d\u0924", "\u0947"},
  };
  for (const PreTokenizer splitter : {PreTokenizer::kQwen2, PreTokenizer::kLlama3}) check_pieces_of(splitter, both);
  check_pieces_of(PreTokenizer::kQwen2, {{"a", "1", "2", "\u0663", "4", " ", "5"}});
  check_pieces_of(PreTokenizer::kLlama3, {{"a", "12\u0663", "45", "k", " ", "678", "9", ".", "1"}});
}

// Random merges in orders that training could produce; texts longer than a window.
void check_encoding() {
  for (int round = 0; round < 24; ++round) {
    MadeVocabulary words;
    if (round >= 16) words.splitter = PreTokenizer::kLlama3;
    const std::string letters = round % 2 == 0 ? "abc" : "etaoin";
    std::vector<uint32_t> known(letters.begin(), letters.end());
    for (uint32_t tries = 4 + below(60); tries > 0; --tries) {
      const uint32_t left = known[below(static_cast<uint32_t>(known.size()))],
                     right = known[below(static_cast<uint32_t>(known.size()))];
      if (words.texts[left].size() + words.texts[right].size() > 24) continue;
      const bool added = round < 16 ? words.merge(left, right) : words.merge_all_ways(left, right);
      if (added) known.push_back(static_cast<uint32_t>(words.texts.size()) - 1);
    }
    const Made made(words.vocabulary());
    check(made.problem.empty(), made.problem);
    for (const uint32_t length : {0u, 1u, 2u, 3u, 10u, 40u, 1023u, 1024u, 1025u, 1537u, 2600u}) {
      std::string text;
      if (below(2) == 0) {
        while (text.size() < length) text += letters[below(static_cast<uint32_t>(letters.size()))];
      } else {
        while (text.size() < length) text += words.texts[known[below(static_cast<uint32_t>(known.size()))]];
        text.resize(length);
      }
      const std::vector<uint32_t> tokens = made.encode(text);
      check(tokens == words.encode_piece(text), "tokens of " + text);
      check(made.decode(tokens) == text, "text of " + text);
    }
  }
}

// Llama 3 takes a piece that is a token as it is, even if merges would not make it.
void check_whole_pieces() {
  MadeVocabulary words;
  words.merge('a', 'b');
  words.merge('b', 'c');
  words.add("abc", MadeVocabulary::kNormal);
  words.add("<a>", MadeVocabulary::kControl);
  const uint32_t ab = 256, bc = 257, abc = 258;
  check(Made(words.vocabulary()).encode("abc") == std::vector<uint32_t>{ab, 'c'}, "a piece that is a token, merged");
  words.splitter = PreTokenizer::kLlama3;
  const Made made(words.vocabulary());
  check(made.encode("abc") == std::vector<uint32_t>{abc}, "a piece that is a token");
  check(made.encode("abcbc") == std::vector<uint32_t>{ab, 'c', bc}, "a piece that is none");
  check(made.encode("<a>") == std::vector<uint32_t>{'<', 'a', '>'}, "a special token's text");
}

// decode returns any bytes, valid or not; no token is written past the room.
void check_bytes() {
  MadeVocabulary words;
  words.merge(' ', 'a');
  words.merge(0xc3, 0xa9);
  const Made made(words.vocabulary());
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint32_t length = below(60); length > 0; --length) {
      text += below(2) == 0 ? static_cast<char>(below(256)) : " a\xc3\xa9\n1"[below(6)];
    }
    const std::vector<uint32_t> all = made.encode(text);
    check(made.decode(all) == text, "bytes that do not come back");
    std::vector<uint32_t> some(all.size(), 12345);
    const size_t room = below(static_cast<uint32_t>(all.size()) + 1);
    check(made.tokenizer.encode(text, false, some.data(), room) == all.size(), "how many there are, with less room");
    check(std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(room), some.begin()), "the first tokens");
    for (size_t i = room; i < some.size(); ++i) check(some[i] == 12345, "a token beyond the room");
  }
  check(made.tokenizer.encode("abc", false, nullptr, 0) == 3, "tokens without room");
  char bytes[2] = {'x', 'y'};
  check(made.tokenizer.decode(256, bytes, 1) == 2 && bytes[0] == ' ' && bytes[1] == 'y', "a token's first byte");
  check(made.tokenizer.decode(made.tokenizer.count(), bytes, 2) == 0, "a token that there is not");
}

void check_specials() {
  MadeVocabulary words;
  words.add("<|end|>", MadeVocabulary::kControl);
  words.add("<|end|>!", MadeVocabulary::kUserDefined);
  words.add("\u4f60", MadeVocabulary::kNormal);  // not spelled in bytes: it stands for itself
  words.add("<\u00e9>", MadeVocabulary::kControl);
  const Made made(words.vocabulary());
  const uint32_t end = made.tokenizer.find("<|end|>");
  check(end == 256 && made.tokenizer.find("<|end") == kNoToken && made.tokenizer.count() == 260, "find and count");
  check(made.encode("a<|end|>b<|end|>!<|end", true) ==
            std::vector<uint32_t>{'a', end, 'b', end + 1, '<', '|', 'e', 'n', 'd'},
        "special tokens");
  check(made.encode("<|end|>") == std::vector<uint32_t>{'<', '|', 'e', 'n', 'd', '|', '>'}, "special tokens as text");
  check(made.encode("  <|end|>  ", true).size() == 5, "spaces beside a special token");
  check(made.decode({end, 'a', end + 1, end + 2, end + 3}) == "<|end|>a<|end|>!\u4f60<\u00e9>",
        "texts of special tokens");
}

void check_missing_bytes() {
  MadeVocabulary words;
  words.texts[4] = "[unused]";
  words.merge('!', '?');
  const Made made(words.vocabulary());
  check(made.problem.empty() && !made.tokenizer.spells(4) && made.tokenizer.spells(5), "which bytes are spelled");
  check(made.encode("\x04") == std::vector<uint32_t>{} && made.encode("a\x04!\x04?") == std::vector<uint32_t>{'a', 256},
        "bytes without a token");
  check(made.encode(std::string(5000, '\x04') + "!" + std::string(5000, '\x04') + "?") == std::vector<uint32_t>{256},
        "many bytes without a token");
}

// Pairs of which the last merges first, so that the merges at the begin depend on the number of pairs. A word is
// refused if that dependence is longer than a window, and encoded if the word fits in a window.
void check_refused() {
  MadeVocabulary words;
  std::vector<uint32_t> links;
  std::string text;
  for (char a = 'A'; a <= 'Z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      links.push_back(static_cast<uint32_t>(words.texts.size()));
      words.merge(static_cast<unsigned char>(a), static_cast<unsigned char>(b));
      text += {a, b};
    }
  }
  for (size_t i = links.size() - 1; i > 0; --i) words.merge(links[i - 1], links[i]);
  const Made made(words.vocabulary());
  check(made.encode(text) == words.encode_piece(text), "a chain of pairs, of an even number");
  text.resize(text.size() - 2);
  check(made.tokenizer.encode(text, false, nullptr, 0) == Tokenizer::kRefused, "a chain of pairs");
  check(made.tokenizer.encode("a\n" + text + " a", true, nullptr, 0) == Tokenizer::kRefused, "a chain of pairs within");
  text = text.substr(text.size() - 1024);
  check(made.encode(text) == words.encode_piece(text), "a chain of pairs in one window");
}

void check_problems() {
  const auto refuses = [](const MadeVocabulary& words, const std::string& problem) {
    MadeVocabulary copy = words;
    const Made made(copy.vocabulary());
    check(made.problem == problem, "\"" + made.problem + "\", not \"" + problem + "\"");
    check(made.tokenizer.count() == 0 && made.encode("abc").empty(), "a tokenizer without a vocabulary");
  };
  const auto with = [](const char* merge) {
    MadeVocabulary words;
    words.add("ab", MadeVocabulary::kNormal);
    words.add("abc", MadeVocabulary::kNormal);
    words.add("cd", MadeVocabulary::kControl);
    words.merges.emplace_back("a b");
    words.merges.emplace_back(merge);
    return words;
  };
  refuses(with("abc"), "has merge 1, which is not two tokens with a space between them");
  refuses(with("ab x"), "has merge 1 of or to a token that it does not have");
  refuses(with(" abc"), "has merge 1 of or to a token that it does not have");
  refuses(with("a b"), "has the same merge twice");
  refuses(with("c d"), "has merge 1 to a special token");
  refuses(with(std::string(257, 'a').insert(9, " ").c_str()),
          "has merge 1, which is not two tokens with a space between them");
  MadeVocabulary late = with("ab c");
  std::swap(late.merges[0], late.merges[1]);
  refuses(late, "has merge 1 to a token that was used before");

  MadeVocabulary words;
  words.texts['a'] = "[unused]";
  refuses(words, "has no token for the byte 97");
  words.texts['a'] = "b";
  refuses(words, "has the same text for tokens 97 and 98");
  words.texts['a'] = "";
  refuses(words, "has token 97 of 0 bytes, not 1 to 256");
  words.texts['a'] = std::string(257, 'x');
  refuses(words, "has token 97 of 257 bytes, not 1 to 256");
  words.texts['a'] = "a";
  words.types['a'] = MadeVocabulary::kControl;
  refuses(words, "has a special token for the byte 97");
  words.types['a'] = MadeVocabulary::kNormal;
  for (int i = 0; i < 1025; ++i) words.add("<" + std::to_string(i) + ">", MadeVocabulary::kControl);
  refuses(words, "has more than 1024 special tokens");
}

// Vocabularies that a reader of files refuses, and mistakes of a caller.
void check_misuse() {
  MadeVocabulary words;
  words.merge('a', 'b');
  const Vocabulary good = words.vocabulary();
  std::vector<uint32_t> memory(Tokenizer::memory_bytes(good) / 4 + 3);
  const auto refuses = [&memory](const Vocabulary& vocabulary, size_t less, size_t odd, const char* problem) {
    Tokenizer tokenizer;
    const size_t bytes = Tokenizer::memory_bytes(vocabulary);
    const std::string got = tokenizer.init(vocabulary, reinterpret_cast<char*>(memory.data()) + odd, bytes - less);
    check(got == problem, "\"" + got + "\", not \"" + problem + "\"");
  };
  refuses(good, 0, 0, "");
  Tokenizer again;
  again.init(good, memory.data(), 4 * memory.size());
  check(!again.init(good, nullptr, 0).empty() && again.count() == 0, "a tokenizer that got no memory again");
  refuses(good, 1, 0, "needs more memory for its tokens");
  refuses(good, 0, 4, "got memory for its tokens at an odd address");
  Vocabulary bad = good;
  --bad.tokens.bytes;
  refuses(bad, 0, 0, "lacks the text of token 256");
  bad = good;
  bad.merges.bytes = 7;
  refuses(bad, 0, 0, "lacks merge 0");
  bad = good;
  bad.types = nullptr;
  refuses(bad, 0, 0, "does not have a type for each token");
  bad = good;
  bad.tokens.count = 262145;
  refuses(bad, 0, 0, "has more than 262144 tokens");
  bad = good;
  bad.merges.count = uint64_t{1} << 63;
  refuses(bad, 0, 0, "has more than 524288 merges");
}

// A stream returns whole characters, even if tokens divide them, and only UTF-8.
void check_stream() {
  MadeVocabulary words;
  const Made made(words.vocabulary());
  TextStream stream(made.tokenizer);
  const std::string text = "a\u00e9\u4f60\U0001f600!";
  std::string all;
  for (const uint32_t token : made.encode(text)) {
    const std::string_view part = stream.add(token);
    for (size_t at = 0; at < part.size();) {
      const Character character = first_character(part.substr(at));
      check(character.state == Character::kWhole, "a part of a character");
      at += character.bytes;
    }
    all += part;
  }
  check(all == text && stream.finish().empty(), "the text of a stream");
  const auto stream_of = [&](std::string_view bytes) {
    std::string given;
    for (const char c : bytes) given += stream.add(static_cast<unsigned char>(c));
    return given += stream.finish();
  };
  check(stream_of("a\xff\xf0\x9f\x98z\xe4\xbd") == "a\ufffd\ufffdz\ufffd", "what is not UTF-8");
  check(stream_of("\xed\xa0\x80\xc0\xaf\xf4\x90") == "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd",
        "surrogates and others");
  check(stream_of("b") == "b", "a text after another");

  words.merge('a', 0xc3);
  const Made cutting(words.vocabulary());
  TextStream cut(cutting.tokenizer);
  check(cut.add(256) == "a" && cut.add(0xa9) == "\u00e9", "a token that ends within a character");
}

}  // namespace
}  // namespace chat

int main() {
  using namespace chat;
  check_classes();
  check_characters();
  check_pieces();
  check_encoding();
  check_whole_pieces();
  check_bytes();
  check_specials();
  check_missing_bytes();
  check_refused();
  check_problems();
  check_misuse();
  check_stream();
  return report();
}
