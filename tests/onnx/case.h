// SPDX-License-Identifier: Apache-2.0
//
// A case: the folder of one conformance test, read into memory.
//
// Its case.txt says a fact a line:
//     op NAME                          the operator
//     opset N                          the version of its definition
//     rtol R                           optional: an output may differ by atol + rtol * |what it must be|
//     atol A                           optional
//     attr NAME VALUE                  an attribute that the case sets; of a graph its name: graph.h describes its file
//     input SLOT NAME DTYPE SHAPE      the file input_SLOT_NAME.bin, or .npy: a header, then the same elements
//     output SLOT NAME DTYPE SHAPE     the file output_SLOT_NAME.bin: what the operator must answer
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tensor.h"

namespace fovea_onnx {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct Case {
  std::filesystem::path folder;
  std::string name;  // of the folder
  std::string op;
  int opset = 0;
  double rtol = 1e-3, atol = 1e-7;  // what the ONNX suite takes unless a case says otherwise
  std::map<std::string, std::string> attributes;
  std::map<int, NamedTensor> inputs, outputs;  // by slot

  const Tensor* input(int slot) const;           // nullptr where the case has none
  const Tensor& required_input(int slot) const;  // throws Error
  const Tensor* output(int slot) const;
  const Tensor& required_output(int slot) const;
  int64_t integer(const std::string& attribute, int64_t otherwise) const;
  float number(const std::string& attribute, float otherwise) const;
  std::string text(const std::string& attribute, const std::string& otherwise) const;

  // Throws Error on an attribute, input or output that is not in these sets, so that no case passes by being
  // understood in part.
  void allow(const std::set<std::string>& attributes, int last_input, int last_output) const;
};

Case read_case(const std::filesystem::path& folder);  // throws Error

}  // namespace fovea_onnx
