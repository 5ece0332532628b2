// SPDX-License-Identifier: Apache-2.0
//
// fovea_onnx DIR: runs the conformance vectors of the ONNX operators that lie in DIR, one folder a case (case.h says
// how), on every target of this machine. Without DIR the environment variable FOVEA_ONNX_DIR names the folder, and
// without that it is build/onnx, where ./run onnx puts them, if there is one.
//
// A line a case, then the totals of each operator. Every case must pass: one that cannot be expressed has failed.
// Exit codes: 0 all pass, 1 a case failed or there was none, 77 there is no folder (the test counts as skipped).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "case.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

constexpr int kSkipped = 77;
constexpr const char* kMadeByRun = "build/onnx";

// What the cases of an operator may have: no case passes by being understood in part.
struct Operator {
  const char* name;
  void (*run)(const Case& test, fovea_target target, Verdict* verdict);
  int first_opset, last_opset;
  std::set<std::string> attributes;
  int last_input, last_output;
};

constexpr int kAny = 1000;  // the last opset of operators that did not change

const std::set<std::string> kOfAttention = {"is_causal", "kv_num_heads", "q_num_heads",      "qk_matmul_output_mode",
                                            "scale",     "softcap",      "softmax_precision"};
const std::set<std::string> kOfAttention25 = {"is_causal",         "kv_num_heads", "left_window_size",
                                              "q_num_heads",       "scale",        "qk_matmul_output_mode",
                                              "right_window_size", "softcap",      "softmax_precision"};
const std::set<std::string> kOfLinearAttention = {"chunk_size", "kv_num_heads", "q_num_heads", "scale", "update_rule"};
// keepdims changes no element.
const Operator kOperators[] = {
    {"Add", run_pair, 1, kAny, {}, 1, 0},
    {"ArgMax", run_argmax, 1, kAny, {"axis", "keepdims", "select_last_index"}, 0, 0},
    {"Attention", run_attention, 23, 24, kOfAttention, 6, 3},
    {"Attention", run_attention, 25, 25, kOfAttention25, 6, 3},
    {"CausalConvWithState", run_causal_conv, 27, 27, {"activation"}, 3, 1},
    {"DequantizeLinear", run_dequantize, 1, kAny, {"axis", "block_size"}, 2, 0},
    {"DynamicQuantizeLinear", run_dynamic_quantize, 1, kAny, {}, 0, 2},
    {"FlexAttention", run_flex_attention, 1, 1, {"prob_mod", "scale", "score_mod"}, 2, 0},
    {"Gather", run_gather, 1, kAny, {"axis"}, 1, 0},
    {"Gelu", run_activation, 1, kAny, {"approximate"}, 0, 0},
    {"GlobalAveragePool", run_mean, 1, kAny, {}, 0, 0},
    {"HardSwish", run_activation, 1, kAny, {}, 0, 0},
    {"LayerNormalization", run_layer_normalization, 17, 17, {"axis", "epsilon", "stash_type"}, 2, 2},
    {"LinearAttention", run_linear_attention, 27, 27, kOfLinearAttention, 5, 1},
    {"LogSoftmax", run_softmax, 1, kAny, {"axis"}, 0, 0},
    {"Mul", run_pair, 1, kAny, {}, 1, 0},
    {"QuantizeLinear", run_quantize, 1, kAny, {"axis", "block_size"}, 2, 0},
    {"RMSNormalization", run_rms_normalization, 23, 23, {"axis", "epsilon", "stash_type"}, 1, 0},
    {"ReduceMean", run_mean, 1, kAny, {"keepdims"}, 1, 0},
    {"Relu", run_activation, 1, kAny, {}, 0, 0},
    {"RotaryEmbedding", run_rotary_embedding, 23, 23, {"interleaved", "num_heads", "rotary_embedding_dim"}, 3, 0},
    {"Sigmoid", run_activation, 1, kAny, {}, 0, 0},
    {"Softmax", run_softmax, 1, kAny, {"axis"}, 0, 0},
    {"Swish", run_activation, 1, kAny, {"alpha"}, 0, 0},
    {"Tanh", run_activation, 1, kAny, {}, 0, 0},
    {"TensorScatter", run_tensor_scatter, 24, 24, {"axis", "mode"}, 2, 0},
    {"TopK", run_top_k, 1, kAny, {"axis", "largest", "sorted"}, 1, 1},
};

// Throws Error for a case of another operator, or with what its operator may not have.
const Operator& operator_of(const Case& test) {
  for (const Operator& op : kOperators) {
    if (test.op != op.name || test.opset < op.first_opset || test.opset > op.last_opset) continue;
    test.allow(op.attributes, op.last_input, op.last_output);
    return op;
  }
  throw Error(test.op + " of opset " + std::to_string(test.opset));
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

void run_case(const std::filesystem::path& folder, std::map<std::string, Total>* totals) {
  const std::string name = folder.filename().string();
  std::string failure, operator_name;  // no failure: passed
  double largest_error = 0;
  try {
    const Case test = read_case(folder);
    operator_name = test.op;
    const Operator& op = operator_of(test);
    Verdict verdict(test);
    for (uint32_t i = 0; i < fovea_target_count(); ++i) op.run(test, fovea_target_at(i), &verdict);
    failure = verdict.failure();
    largest_error = verdict.largest_error();
  } catch (const Refused& refused) {
    failure = refused.what();
  } catch (const std::exception& error) {
    failure = std::string("cannot be expressed: ") + error.what();
  }
  Total& total = (*totals)[operator_name];
  total.largest_error = std::max(total.largest_error, largest_error);
  ++total.cases;
  if (failure.empty()) ++total.passed;
  std::printf("%-12s %-66s largest error %.1e%s%s\n", failure.empty() ? "PASS" : "FAIL", name.c_str(), largest_error,
              failure.empty() ? "" : ": ", failure.c_str());
}

int run_all(const std::filesystem::path& dir) {
  std::map<std::string, Total> totals;  // by operator
  int run = 0, failed = 0;
  for (const auto& folder : cases_in(dir)) run_case(folder, &totals);

  std::printf("\ntargets:");
  for (uint32_t i = 0; i < fovea_target_count(); ++i) std::printf(" %s", fovea_target_name(fovea_target_at(i)));
  std::printf("\n");
  for (const auto& [name, total] : totals) {
    run += total.cases;
    failed += total.cases - total.passed;
    std::printf("%-21s %3d of %d cases pass, largest error %.1e\n", name.c_str(), total.passed, total.cases,
                total.largest_error);
  }
  if (run == 0) std::printf("no case\n");
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
