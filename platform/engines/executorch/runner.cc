// SPDX-License-Identifier: Apache-2.0
//
// A C++ program that runs an exported model on fovea's kernels: runner MODEL.pte INPUT... writes MODEL.pte.0 and so on.
// Inputs and outputs are the bytes of tensors; an input has as many as the model says.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::EValue;

namespace {

std::vector<uint8_t> read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int fail(const char* what) {
  std::fprintf(stderr, "runner: %s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fail("usage: runner MODEL.pte INPUT...");
  const std::string path = argv[1];
  Module module(path);
  const auto meta = module.method_meta("forward");
  if (!meta.ok()) return fail("there is no such model, or it has no method forward");
  if (meta->num_inputs() != static_cast<size_t>(argc - 2)) return fail("the model has another number of inputs");

  std::vector<TensorPtr> tensors;
  std::vector<EValue> inputs;
  for (int i = 0; i < argc - 2; ++i) {
    const auto tensor = meta->input_tensor_meta(i);
    std::vector<uint8_t> bytes = read(argv[i + 2]);
    if (!tensor.ok() || bytes.size() != tensor->nbytes()) return fail("an input has the wrong number of bytes");
    const auto sizes = tensor->sizes();
    tensors.push_back(
        executorch::extension::make_tensor_ptr({sizes.begin(), sizes.end()}, std::move(bytes), tensor->scalar_type()));
    inputs.emplace_back(tensors.back());
  }
  const auto outputs = module.forward(inputs);
  if (!outputs.ok()) return fail("the model failed: its messages say where");
  for (size_t i = 0; i < outputs->size(); ++i) {
    const auto& tensor = outputs->at(i).toTensor();
    std::ofstream file(path + "." + std::to_string(i), std::ios::binary);
    file.write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
  }
  return 0;
}
