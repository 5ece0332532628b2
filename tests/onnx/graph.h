// SPDX-License-Identifier: Apache-2.0
//
// A graph that is an attribute of a case, score_mod for instance: what it makes of each element of its one input.
//
// Its file ATTRIBUTE.graph says a fact a line, each name before it is used:
//     input NAME
//     constant NAME float|int SHAPE VALUE...
//     node OP OUTPUT INPUT... ATTRIBUTE=VALUE...
//     output NAME
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tensor.h"

namespace fovea_onnx {

class Graph {
 public:
  // `shape` is that of the input. Throws Error on what it does not know, so that no graph is understood in part.
  Graph(const std::filesystem::path& file, const Shape& shape);

  // What becomes of an element of the input that stands at this place.
  float change(float element, const Shape& place) const;

 private:
  struct Constant {
    Shape shape;
    std::vector<double> elements;
  };
  // What is computed element by element, with broadcasting.
  struct Step {
    double (*compute)(double, double, double);
    std::vector<std::string> inputs;
    std::string output;
  };

  void take_constant(std::istream& fact);
  void take_node(std::istream& fact);
  const Constant& constant(const std::string& name) const;
  double at(const std::string& name, const Shape& place, const std::map<std::string, double>& computed) const;

  Shape shape_;
  std::string input_, output_;
  std::map<std::string, Constant> constants_;
  std::map<std::string, bool> is_float_;  // what has a name
  std::vector<Step> steps_;
};

}  // namespace fovea_onnx
