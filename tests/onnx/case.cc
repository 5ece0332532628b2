// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <fstream>
#include <sstream>

namespace fovea_onnx {
namespace {

const Tensor* find(const std::map<int, NamedTensor>& tensors, int slot) {
  const auto at = tensors.find(slot);
  return at == tensors.end() ? nullptr : &at->second.tensor;
}

// The rest of an input or output line, and its file.
void take_tensor(const std::filesystem::path& folder, const std::string& role, std::istream& facts,
                 std::map<int, NamedTensor>* to) {
  int slot = -1;
  std::string name, descr, shape;
  if (!(facts >> slot >> name >> descr >> shape)) throw Error("unreadable line of an " + role);
  std::filesystem::path file = folder / (role + "_" + std::to_string(slot) + "_" + name + ".bin");
  if (!exists(file)) file.replace_extension(".npy");
  const NamedTensor tensor = {name, read_tensor(file, dtype_from(descr), shape_from(shape))};
  if (!to->emplace(slot, tensor).second) throw Error(role + " slot given twice");
}

}  // namespace

const Tensor* Case::input(int slot) const { return find(inputs, slot); }
const Tensor* Case::output(int slot) const { return find(outputs, slot); }

const Tensor& Case::required_input(int slot) const {
  if (input(slot) == nullptr) throw Error("no input " + std::to_string(slot));
  return *input(slot);
}

const Tensor& Case::required_output(int slot) const {
  if (output(slot) == nullptr) throw Error("no output " + std::to_string(slot));
  return *output(slot);
}

int64_t Case::integer(const std::string& attribute, int64_t otherwise) const {
  const auto at = attributes.find(attribute);
  return at == attributes.end() ? otherwise : fovea_onnx::number<int64_t>(at->second);
}

float Case::number(const std::string& attribute, float otherwise) const {
  const auto at = attributes.find(attribute);
  return at == attributes.end() ? otherwise : fovea_onnx::number<float>(at->second);
}

std::string Case::text(const std::string& attribute, const std::string& otherwise) const {
  const auto at = attributes.find(attribute);
  return at == attributes.end() ? otherwise : at->second;
}

void Case::allow(const std::set<std::string>& known, int last_input, int last_output) const {
  for (const auto& [attribute, value] : attributes) {
    if (known.count(attribute) == 0) throw Error("attribute " + attribute + " is not known");
  }
  const auto check = [](const std::map<int, NamedTensor>& tensors, int last) {
    for (const auto& [slot, tensor] : tensors) {
      if (slot < 0 || slot > last) throw Error(tensor.name + " is not known");
    }
  };
  check(inputs, last_input), check(outputs, last_output);
}

Case read_case(const std::filesystem::path& folder) {
  Case result;
  result.folder = folder;
  result.name = folder.filename().string();
  std::ifstream facts(folder / "case.txt");
  if (!facts) throw Error("cannot open case.txt");
  for (std::string line; std::getline(facts, line);) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key)) continue;  // an empty line
    if (key == "op") {
      words >> result.op;
    } else if (key == "opset") {
      words >> result.opset;
    } else if (key == "rtol") {
      words >> result.rtol;
    } else if (key == "atol") {
      words >> result.atol;
    } else if (key == "attr") {
      std::string name, value;
      words >> name >> value;
      result.attributes[name] = value;
    } else if (key == "input") {
      take_tensor(folder, key, words, &result.inputs);
    } else if (key == "output") {
      take_tensor(folder, key, words, &result.outputs);
    } else {
      throw Error("case.txt says " + key);
    }
  }
  return result;
}

}  // namespace fovea_onnx
