// SPDX-License-Identifier: Apache-2.0
//
// fovea_onnx DIR: runs the conformance vectors of the ONNX operators that lie in DIR, one folder a case (case.h says
// how), on every target of this machine. Without DIR the environment variable FOVEA_ONNX_DIR names the folder, and
// without that it is build/onnx, where ./run onnx puts them, if there is one.
//
// A line a case, then the totals of each operator. Operators that fovea has no function for are counted as not covered;
// of the others every case must pass: one that cannot be expressed has failed.
// Exit codes: 0 all pass, 1 a case failed or there was none, 77 there is no folder (the test counts as skipped).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "case.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

constexpr int kSkipped = 77;
constexpr const char* kMadeByRun = "build/onnx";

struct Operator {
  const char* name;
  void (*run)(const Case& test, fovea_target target, Verdict* verdict);
};

constexpr Operator kOperators[] = {
    {"Add", run_pair},
    {"ArgMax", run_argmax},
    {"Attention", run_attention},
    {"CausalConvWithState", run_causal_conv},
    {"DequantizeLinear", run_dequantize},
    {"DynamicQuantizeLinear", run_dynamic_quantize},
    {"FlexAttention", run_flex_attention},
    {"Gather", run_gather},
    {"Gelu", run_activation},
    {"GlobalAveragePool", run_mean},
    {"HardSwish", run_activation},
    {"LayerNormalization", run_layer_normalization},
    {"LinearAttention", run_linear_attention},
    {"LogSoftmax", run_softmax},
    {"Mul", run_pair},
    {"QuantizeLinear", run_quantize},
    {"RMSNormalization", run_rms_normalization},
    {"ReduceMean", run_mean},
    {"Relu", run_activation},
    {"RotaryEmbedding", run_rotary_embedding},
    {"Sigmoid", run_activation},
    {"Softmax", run_softmax},
    {"Swish", run_activation},
    {"Tanh", run_activation},
    {"TensorScatter", run_tensor_scatter},
    {"TopK", run_top_k},
};

const Operator* find_operator(const std::string& name) {
  const auto* at = std::find_if(std::begin(kOperators), std::end(kOperators),
                                [&](const Operator& candidate) { return name == candidate.name; });
  return at == std::end(kOperators) ? nullptr : at;
}

struct Total {
  int cases = 0, passed = 0;
  double largest_error = 0;
};

std::vector<std::filesystem::path> cases_in(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (std::filesystem::exists(entry.path() / "case.txt")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void run_case(const std::filesystem::path& folder, const Operator& op, Total* total) {
  const std::string name = folder.filename().string();
  std::string failure;  // empty: passed
  double largest_error = 0;
  try {
    const Case test = read_case(folder);
    Verdict verdict(test);
    for (uint32_t i = 0; i < fovea_target_count(); ++i) op.run(test, fovea_target_at(i), &verdict);
    failure = verdict.failure();
    largest_error = verdict.largest_error();
  } catch (const std::exception& error) {
    failure = std::string("cannot be expressed: ") + error.what();
  }
  total->largest_error = std::max(total->largest_error, largest_error);
  const bool passed = failure.empty();
  if (passed) ++total->passed;
  std::printf("%-12s %-66s largest error %.1e%s%s\n", passed ? "PASS" : "FAIL", name.c_str(), largest_error,
              passed ? "" : ": ", failure.c_str());
}

int run_all(const std::filesystem::path& dir) {
  std::map<std::string, Total> totals;  // by operator
  int run = 0, failed = 0;
  for (const auto& folder : cases_in(dir)) {
    std::string name;
    try {
      name = op_in(folder);
    } catch (const Error& error) {
      std::printf("%-12s %-66s %s\n", "FAIL", folder.filename().string().c_str(), error.what());
      ++failed;
      continue;
    }
    Total& total = totals[name];
    ++total.cases;
    if (const Operator* op = find_operator(name)) {
      run_case(folder, *op, &total);
    } else {
      std::printf("%-12s %-66s %s\n", "NOT COVERED", folder.filename().string().c_str(), name.c_str());
    }
  }

  std::printf("\ntargets:");
  for (uint32_t i = 0; i < fovea_target_count(); ++i) std::printf(" %s", fovea_target_name(fovea_target_at(i)));
  std::printf("\n");
  for (const auto& [name, total] : totals) {
    if (find_operator(name) == nullptr) {
      std::printf("%-21s %3d cases, not covered\n", name.c_str(), total.cases);
      continue;
    }
    run += total.cases;
    failed += total.cases - total.passed;
    std::printf("%-21s %3d of %d cases pass, largest error %.1e\n", name.c_str(), total.passed, total.cases,
                total.largest_error);
  }
  if (run == 0) std::printf("no case of an operator that fovea has\n");
  return run > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace fovea_onnx

int main(int argc, char** argv) {
  const char* variable = std::getenv("FOVEA_ONNX_DIR");
  const std::string dir = argc > 1 ? argv[1] : variable != nullptr ? variable : fovea_onnx::kMadeByRun;
  if (dir == fovea_onnx::kMadeByRun && !std::filesystem::is_directory(dir)) {
    std::printf("skipped: there are no ONNX conformance vectors yet: ./run onnx makes them\n");
    return fovea_onnx::kSkipped;
  }
  if (!std::filesystem::is_directory(dir)) {
    std::fprintf(stderr, "%s is not a folder\n", dir.c_str());
    return EXIT_FAILURE;
  }
  return fovea_onnx::run_all(dir);
}
