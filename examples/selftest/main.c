// SPDX-License-Identifier: Apache-2.0
//
// Whether this build, on this machine, gives the bits that all others give: each call of fovea/selftest.h on each target, with
// the digest of its outputs next to the published one. Ends with 1 and the name of the first call that differs.
#include <fovea/fovea.h>
#if defined(_WIN32)
#include <io.h>
#define write _write
#else
#include <unistd.h>
#endif

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char memory[FOVEA_SELFTEST_BYTES];

// Without <stdio.h>, which on a board would be larger than the calls.
static void print(const char* text) {
  unsigned length = 0;
  while (text[length]) ++length;
  while (length > 0) {
    const int written = (int)write(1, text, length);
    if (written <= 0) return;
    text += written, length -= (unsigned)written;
  }
}

static void print_number(uint32_t number) {
  char text[11] = "";
  char* digit = text + 10;
  do {
    *--digit = (char)('0' + number % 10);
  } while ((number /= 10) != 0);
  print(digit);
}

static void print_digest(uint64_t digest) {
  char text[17] = "";
  for (int i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
  print(text);
}

// Features that choose among targets. Kernels for processors that run in order are right on all others, too.
static uint64_t processor_features(void) {
  uint64_t features = FOVEA_FEATURE_NEON_IN_ORDER;
#if defined(__aarch64__) && defined(__linux__)
  if (getauxval(AT_HWCAP) & 1ul << 10) features |= FOVEA_FEATURE_NEON_FP16;     // HWCAP_ASIMDHP
  if (getauxval(AT_HWCAP) & 1ul << 20) features |= FOVEA_FEATURE_NEON_DOTPROD;  // HWCAP_ASIMDDP
  if (getauxval(AT_HWCAP2) & 1ul << 13) features |= FOVEA_FEATURE_NEON_I8MM;    // HWCAP2_I8MM
#endif
  return features;
}

struct Totals {
  uint32_t same, left_out;
};

// Runs the calls of a part on a target. Returns 0 where one differs, or is refused; else 1.
static int run(fovea_selftest_part part, fovea_target target, struct Totals* totals) {
  fovea_selftest_args args = {
      .struct_bytes = sizeof args, .target = target, .processor_features = processor_features()};
  args.memory = memory, args.memory_bytes = sizeof memory;
  for (;; ++args.call) {
    fovea_selftest_result result = {.name = "a call"};
    const fovea_status status = part(&args, &result);
    if (status == FOVEA_ERR_CAPACITY) return 1;
    const int is_same = status == FOVEA_OK && result.digest == result.published;
    if (status == FOVEA_ERR_LEFT_OUT) {
      ++totals->left_out;
      print("left out          "), print(result.name), print("\n");
      continue;
    }
    print_digest(result.digest), print("  "), print(result.name);
    if (is_same) {
      ++totals->same;
      print("  (same for: "), print(result.shared_by), print(")\n");
      continue;
    }
    print("\n"), print_digest(result.published), print("  is published\nDIFFERS: "), print(result.name), print(" on ");
    print(fovea_target_name(target)), print(status == FOVEA_OK ? "\n" : ": ");
    if (status != FOVEA_OK) print(fovea_status_string(status)), print("\n");
    return 0;
  }
}

// Whether this processor runs a target, with the features that it has. Where xsimd is the only backend, its name is another one
// of a target.
static int can_run(fovea_target target) {
  if (!fovea_target_backend(target)) return 0;
  int is_listed = target != FOVEA_TARGET_XSIMD;
  for (uint32_t i = 0; i < fovea_target_count(); ++i) is_listed |= fovea_target_at(i) == target;
  if (!is_listed) return 0;
  fovea_selftest_args args = {
      .struct_bytes = sizeof args, .target = target, .processor_features = processor_features(), .memory = memory};
  const fovea_selftest_part parts[] = {FOVEA_SELFTEST_PARTS};
  fovea_selftest_result result;
  return parts[0](&args, &result) == FOVEA_ERR_WORKSPACE;  // of no bytes, for which it asks after the target
}

int main(void) {
  const fovea_selftest_part parts[] = {FOVEA_SELFTEST_PARTS};
  struct Totals totals = {0, 0};
  uint32_t targets = 0;
  for (uint32_t target = 1; target <= FOVEA_TARGET_XSIMD; ++target) {
    if (!can_run((fovea_target)target)) continue;
    ++targets;
    print("target "), print(fovea_target_name((fovea_target)target)), print(" by ");
    print(fovea_target_backend((fovea_target)target)), print("\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
      if (!run(parts[i], (fovea_target)target, &totals)) return 1;
    }
  }
  print_number(totals.same), print(" calls on "), print_number(targets), print(" targets give the published bits");
  if (totals.left_out) print("; this build leaves out "), print_number(totals.left_out);
  print("\n");
  return totals.same == 0;
}
