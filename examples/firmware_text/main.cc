// SPDX-License-Identifier: Apache-2.0
//
// A language model on a microcontroller: it continues stories and answers questions about them. Weights stay in flash,
// all memory is static.
//
//     firmware_text                         continues three texts, and compares the results with the expected ones
//     firmware_text "Anna sails" [seed]     continues this text: with the most likely words, or random ones by a seed
//
// Exit code: 0; 1 when another text comes out or a call fails; 2 for arguments that are wrong.
#include <cstdio>

#include "model.h"
#include "platform/platform.h"
#include "words.h"

namespace {

using namespace firmware_text;
namespace platform = fovea::platform;

constexpr float kTemperature = 0.8f;
constexpr int kWrong = 1, kUsage = platform::kExitUsage;

struct Text {
  const char* begins;
  uint32_t seed;        // 0: the most likely word each time
  const char* goes_on;  // the expected continuation; nullptr: any
};

constexpr Text kTexts[] = {
    {kPrompt, 0,
     "Clara reads the thermometer: the temperature falls. Ice grows on the deck, so she breaks the ice with a "
     "hammer. At night the white boat is in Farnsea, and the six sacks of wool are dry. Question: what does the "
     "Petrel carry? Answer: six sacks of wool. Question: what colour is the Petrel? Answer: white. Question: who "
     "sails the Petrel? Answer: Clara. Question: why does Clara break the ice with a hammer? Answer: because ice "
     "grows on the deck."},
    {"Irina sails the slow blue boat Gannet. On Friday Irina leaves Eastholm for Aldport with nine crates of "
     "lamps. She reads the barometer: the pressure falls. A storm is coming, so she turns back. In the afternoon "
     "the Gannet is in Eastholm, and the lamps are dry. Question: why does Irina turn back? Answer:",
     0,
     "Because a storm is coming. Question: what does the Gannet carry? Answer: nine crates of lamps. Question: "
     "when does Irina leave Eastholm? Answer: on Friday. Question: where is the Gannet in the afternoon? Answer: "
     "in Eastholm."},
    {"", 2024,
     "Boris is the captain of the Heron, a slow black boat. On Tuesday the black boat leaves Eastholm for Colmouth"
     " with three boxes of flour. Boris reads the wind gauge: the wind grows. The waves are high, so he takes down"
     " the sail. Boris writes in the log: Tuesday, Colmouth, three boxes of flour. Question: where is the Heron in"
     " the evening? Answer: in Colmouth. Question: what does the Heron carry? Answer: three boxes of flour. "
     "Question: when does Boris leave Eastholm? Answer: on Tuesday. Question: which boat does Boris sail? Answer: "
     "the Heron."},
};
constexpr uint32_t kDigest = 0xe9e2caaf;  // of the numbers of all words that are written

// All memory of the program, except the stack.
struct Memory {
  Model model;
  float scores[kWords];
  uint32_t chances[kWords];
  char line[256];  // of the standard output
} memory;

// The state of a run over some texts.
struct Run {
  fovea::Target target;
  bool shows;  // prints the texts
  uint32_t random = 0, steps = 0;
  uint64_t ticks = 0, ns = 0;
  uint32_t digest = 2166136261u;
  uint64_t first_ticks = 0;  // to the first word that is written
};

fovea::Status step(Run& run, uint32_t token) {
  const uint64_t ticks = platform::clock_ticks(), ns = platform::clock_ns();
  const fovea::Status status = memory.model.step(token);
  run.ticks += platform::clock_ticks() - ticks;
  run.ns += platform::clock_ns() - ns;
  ++run.steps;
  return status;
}

uint32_t best_word() {
  uint32_t best = 0;
  for (uint32_t i = 1; i < kWords; ++i) {
    if (memory.model.logits()[i] > memory.model.logits()[best]) best = i;
  }
  return best;
}

uint32_t next_random(uint32_t& state) {  // xorshift, Marsaglia 2003
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

// Draws word i with a probability proportional to exp(x), where x = (logit i - the largest) / temperature. The last
// bits of a softmax depend on the number of lanes; so exp is computed from sigmoid(x) = exp(x) / (exp(x) + 1), and sums
// are of integers.
fovea::Status draw_word(Run& run, uint32_t& word) {
  const float largest = memory.model.logits()[best_word()];
  for (uint32_t i = 0; i < kWords; ++i) {
    memory.scores[i] = (memory.model.logits()[i] - largest) * (1 / kTemperature);
  }
  fovea::ActivationArgs args;
  args.target = run.target, args.activation = FOVEA_ACTIVATION_SIGMOID;
  args.batch = args.heads = args.tokens = 1, args.dim = kWords;
  args.x = fovea::tokens_of(memory.scores, 1, kWords);
  args.y = fovea::tokens_of(memory.scores, 1, kWords);
  const fovea::Status status = fovea::activation(args);
  if (status != FOVEA_OK) return status;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kWords; ++i) {
    const float sigmoid = memory.scores[i];  // at most 1/2
    sum += memory.chances[i] = static_cast<uint32_t>(sigmoid / (1 - sigmoid) * 0x1p20f);
  }
  auto left = static_cast<uint32_t>((uint64_t{next_random(run.random)} * sum) >> 32);
  for (word = 0; left >= memory.chances[word]; ++word) left -= memory.chances[word];
  return FOVEA_OK;
}

int failed(fovea::Status status) {
  std::printf("\nfirmware_text: %s\n", fovea::to_string(status));
  return kWrong;
}

// Reads the beginning of a text.
int read(Run& run, const char* begins) {
  Printer printer;
  const uint64_t before = run.ticks;
  fovea::Status status = memory.model.begin(run.target, platform::processor_features());
  if (status == FOVEA_OK) status = step(run, 0);
  for (Piece piece = first_piece(begins); piece.bytes != 0; piece = first_piece(piece.text + piece.bytes)) {
    if (status != FOVEA_OK) return failed(status);
    const uint32_t token = find_word(piece);
    if (token == kNoWord) {
      const int bytes = piece.bytes < 100 ? static_cast<int>(piece.bytes) : 100;
      std::printf("\nfirmware_text: the model does not know the word \"%.*s\"\n", bytes, piece.text);
      return kUsage;
    }
    if (run.shows) printer.print(token);
    status = step(run, token);
  }
  if (run.shows) printer.end_line();
  run.first_ticks = run.ticks - before;
  return status == FOVEA_OK ? 0 : failed(status);
}

// Writes until the story ends or the cache is full, and compares the words with the expected ones.
int write(Run& run, const Text& text) {
  Printer printer;
  run.random = text.seed * 2654435761u;  // the factor is odd, so only a seed of 0 gives 0
  const char* known = text.goes_on;
  bool right = true;
  for (fovea::Status status = FOVEA_OK; status == FOVEA_OK;) {
    uint32_t token = best_word();
    if (text.seed != 0) status = draw_word(run, token);
    if (status != FOVEA_OK) return failed(status);
    run.digest = (run.digest ^ token) * 16777619u;  // FNV-1a
    if (known) {
      const Piece piece = first_piece(known);
      right = right && token == (piece.bytes != 0 ? find_word(piece) : 0);
      known = piece.text + piece.bytes;
    }
    if (token == 0) break;
    if (run.shows) printer.print(token);
    status = step(run, token);
    if (status != FOVEA_OK && status != FOVEA_ERR_FULL) return failed(status);
  }
  if (run.shows) printer.end_line();
  if (!right) std::printf("firmware_text: WRONG on %s. Known is: %s\n", fovea::to_string(run.target), text.goes_on);
  return right ? 0 : kWrong;
}

int read_and_write(Run& run, const Text& text) {
  if (const int failure = read(run, text.begins)) return failure;
  if (run.shows) std::printf("  ->\n");
  const int failure = write(run, text);
  if (run.shows) std::printf("\n");
  return failure;
}

// Continues kPrompt after one step, of its last token: the keys and values of the others are in flash. `read`: the ticks to the
// first word where all tokens are read.
int check_prompt(fovea::Target target, uint64_t read) {
  Run run{target, false};
  fovea::Status status = memory.model.begin(target, platform::processor_features(), &kPromptImages);
  if (status == FOVEA_ERR_LEFT_OUT) {
    std::printf("firmware_text: this build leaves out FOVEA_ENABLE_PREFIX or _IMAGES\n");
    return 0;
  }
  Piece piece = first_piece(kPrompt), last = piece;
  for (; piece.bytes != 0; piece = first_piece(piece.text + piece.bytes)) last = piece;
  if (status == FOVEA_OK) status = step(run, find_word(last));
  if (status != FOVEA_OK) return failed(status);
  std::printf("prompt of %u tokens: %llu %s to the first word; if it is in flash, %u bytes, %llu\n",
              static_cast<unsigned>(kPromptTokens + 1), static_cast<unsigned long long>(read), platform::clock_unit(),
              static_cast<unsigned>(sizeof kPromptImages), static_cast<unsigned long long>(run.ticks));
  return write(run, kTexts[0]);
}

void print_figures(const Run& run) {
  std::printf("weights: %u bytes, constant; memory: %u bytes, static, of which caches %u; target: %s\n",
              static_cast<unsigned>(sizeof kWeights), static_cast<unsigned>(sizeof memory),
              static_cast<unsigned>(kLayers * Model::kCacheBytes), fovea::to_string(memory.model.target()));
  if (run.steps == 0) return;
  std::printf("%u tokens, %llu %s each", static_cast<unsigned>(run.steps),
              static_cast<unsigned long long>(run.ticks / run.steps), platform::clock_unit());
  if (run.ns) std::printf(": %llu a second", static_cast<unsigned long long>(1000000000ull * run.steps / run.ns));
  std::printf("; digest %08lx\n", static_cast<unsigned long>(run.digest));
}

// Checks that all targets of this machine write the same words. The first target prints them.
int check_all() {
  int failure = 0;
  for (uint32_t i = 0; i < fovea_target_count(); ++i) {
    Run run{fovea_target_at(i), i == 0};
    uint64_t first_ticks[sizeof kTexts / sizeof kTexts[0]], *ticks = first_ticks;
    for (const Text& text : kTexts) failure |= read_and_write(run, text), *ticks++ = run.first_ticks;
    print_figures(run);
    failure |= check_prompt(run.target, first_ticks[0]);
    if (run.digest != kDigest) {
      std::printf("firmware_text: WRONG, the digest is not %08lx\n", static_cast<unsigned long>(kDigest));
      failure = kWrong;
    }
  }
  return failure;
}

// Reads a number of 32 bits; false unless the text is only digits.
bool parse_seed(const char* text, uint32_t& seed) {
  uint64_t number = 0;
  const char* digit = text;
  for (; *digit >= '0' && *digit <= '9' && number <= 0xffffffff; ++digit) {
    number = 10 * number + static_cast<uint64_t>(*digit - '0');
  }
  seed = static_cast<uint32_t>(number);
  return digit != text && *digit == 0 && number <= 0xffffffff;
}

int run_program(int argc, char** argv) {
  if (argc <= 1) return check_all();
  uint32_t seed = 0;
  if (argc > 3 || (argc > 2 && !parse_seed(argv[2], seed))) {
    std::printf("usage: firmware_text [text [seed]]\n");
    return kUsage;
  }
  const fovea::Target target = platform::target_from_environment();
  if (target == platform::kNoTarget) return kUsage;
  Run run{target, true};
  const int failure = read_and_write(run, {argv[1], seed, nullptr});
  print_figures(run);
  return failure;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, memory.line, _IOLBF, sizeof memory.line);  // else the C library allocates it
  return run_program(argc, argv);
}
