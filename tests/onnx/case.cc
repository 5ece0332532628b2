// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <fstream>
#include <sstream>

namespace fovea_onnx {
namespace {

std::ifstream open_facts(const std::filesystem::path& folder) {
  std::ifstream file(folder / "case.txt");
  if (!file) throw Error("cannot open case.txt");
  return file;
}

const Tensor* find(const std::map<int, NamedTensor>& tensors, int slot) {
  const auto at = tensors.find(slot);
  return at == tensors.end() ? nullptr : &at->second.tensor;
}

// The rest of an input or output line, and its file.
void read_tensor(const std::filesystem::path& folder, const std::string& role, std::istream& facts,
                 std::map<int, NamedTensor>* to) {
  int slot = -1;
  std::string name, descr, shape;
  facts >> slot >> name >> descr;
  if (!facts) throw Error("unreadable line of an " + role);
  facts >> shape;  // absent for a scalar
  Tensor tensor = read_npy(folder / (role + "_" + std::to_string(slot) + "_" + name + ".npy"));
  if (tensor.dtype != dtype_from(descr) || to_string(tensor.shape) != (shape.empty() ? "scalar" : shape)) {
    throw Error(role + " " + name + ": case.txt and the .npy file differ in type or shape");
  }
  if (!to->emplace(slot, NamedTensor{name, std::move(tensor)}).second) throw Error(role + " slot given twice");
}

template <class T>
T parse(const std::string& name, const std::string& text) {
  std::istringstream stream(text);
  T value{};
  stream >> value;
  if (!stream || !stream.eof()) throw Error("attribute " + name + " " + text);
  return value;
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
  return at == attributes.end() ? otherwise : parse<int64_t>(attribute, at->second);
}

float Case::number(const std::string& attribute, float otherwise) const {
  const auto at = attributes.find(attribute);
  return at == attributes.end() ? otherwise : parse<float>(attribute, at->second);
}

void Case::allow(const std::set<std::string>& known, int last_input, int last_output) const {
  for (const auto& [attribute, value] : attributes) {
    if (known.count(attribute) == 0) throw Error("attribute " + attribute + " is not known");
  }
  for (const auto& [slot, input] : inputs) {
    if (slot < 0 || slot > last_input) throw Error("input " + input.name + " is not known");
  }
  for (const auto& [slot, output] : outputs) {
    if (slot < 0 || slot > last_output) throw Error("output " + output.name + " is not known");
  }
}

std::string op_in(const std::filesystem::path& folder) {
  std::ifstream facts = open_facts(folder);
  for (std::string key, value; facts >> key && std::getline(facts >> std::ws, value);) {
    if (key == "op") return value;
  }
  throw Error("case.txt names no operator");
}

Case read_case(const std::filesystem::path& folder) {
  Case result;
  result.folder = folder;
  result.name = folder.filename().string();
  std::ifstream facts = open_facts(folder);
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
      read_tensor(folder, key, words, &result.inputs);
    } else if (key == "output") {
      read_tensor(folder, key, words, &result.outputs);
    } else {
      throw Error("case.txt says " + key);
    }
  }
  return result;
}

}  // namespace fovea_onnx
