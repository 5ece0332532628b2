// SPDX-License-Identifier: Apache-2.0
//
// All numbers are double, which holds every float and the counts of a shape exactly.
#include "graph.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace fovea_onnx {
namespace {

// An operator whose output has an element for each place of its inputs.
struct Elementwise {
  const char* name;
  size_t inputs;
  double (*compute)(double, double, double);
};

constexpr Elementwise kElementwise[] = {
    {"Add", 2, [](double a, double b, double) { return a + b; }},
    {"Cast", 1, [](double a, double, double) { return a; }},
    {"Div", 2, [](double a, double b, double) { return a / b; }},
    {"Mul", 2, [](double a, double b, double) { return a * b; }},
    {"Sub", 2, [](double a, double b, double) { return a - b; }},
    {"Tanh", 1, [](double a, double, double) { return std::tanh(a); }},
    {"Where", 3, [](double a, double b, double c) { return a != 0 ? b : c; }},
};

// What an attribute of a node may be. Numbers of types: 1 is float, 11 double.
bool is_known(const std::string& op, const std::string& attribute) {
  return op == "Cast" && (attribute == "to=1" || attribute == "to=11");
}

}  // namespace

Graph::Graph(const std::filesystem::path& file, const Shape& shape) : shape_(shape) {
  std::ifstream facts(file);
  if (!facts) throw Error("cannot open " + file.filename().string());
  for (std::string line; std::getline(facts, line);) {
    std::istringstream fact(line);
    std::string key;
    fact >> key;
    if (key == "input" && input_.empty()) {
      fact >> input_;
      is_float_[input_] = true;
    } else if (key == "constant") {
      take_constant(fact);
    } else if (key == "node") {
      take_node(fact);
    } else if (key == "output" && output_.empty()) {
      fact >> output_;
    } else {
      throw Error("a graph says " + line);
    }
  }
  if (is_float_.count(output_) == 0 || !is_float_[output_]) throw Error("a graph without an output of floats");
}

void Graph::take_constant(std::istream& fact) {
  std::string name, type, shape;
  fact >> name >> type >> shape;
  Constant& constant = constants_[name];
  constant.shape = shape_from(shape);
  for (std::string word; fact >> word;) constant.elements.push_back(number<double>(word));
  if (constant.elements.size() != element_count(constant.shape)) throw Error("elements of " + name);
  is_float_[name] = type == "float";
}

void Graph::take_node(std::istream& fact) {
  std::string op, output;
  fact >> op >> output;
  std::vector<std::string> inputs;
  for (std::string word; fact >> word;) {
    if (word.find('=') == std::string::npos) {
      if (is_float_.count(word) == 0) throw Error(word + " is used before it is computed");
      inputs.push_back(word);
    } else if (!is_known(op, word)) {
      throw Error(op + " with " + word);
    }
  }
  const auto* const found = std::find_if(std::begin(kElementwise), std::end(kElementwise),
                                         [&](const Elementwise& candidate) { return op == candidate.name; });
  if (found == std::end(kElementwise) || inputs.size() != found->inputs) throw Error("operator " + op);
  const auto is_float = [this](const std::string& name) { return is_float_[name]; };
  is_float_[output] = op == "Cast" || std::any_of(inputs.begin(), inputs.end(), is_float);
  if (op == "Div" && !is_float_[output]) throw Error("a Div of integers");
  steps_.push_back({found->compute, std::move(inputs), output});
}

const Graph::Constant& Graph::constant(const std::string& name) const {
  const auto found = constants_.find(name);
  if (found == constants_.end()) throw Error(name + " depends on elements");
  return found->second;
}

double Graph::at(const std::string& name, const Shape& place, const std::map<std::string, double>& computed) const {
  const auto found = computed.find(name);
  if (found != computed.end()) return found->second;
  const Constant& c = constant(name);
  if (c.shape.size() > place.size()) throw Error(name + " is of too high a rank");
  size_t element = 0;
  for (size_t d = 0; d < c.shape.size(); ++d) {
    const size_t along = place.size() - c.shape.size() + d;
    if (c.shape[d] != 1 && c.shape[d] != shape_[along]) throw Error(name + " does not broadcast");
    element = element * c.shape[d] + (c.shape[d] == 1 ? 0 : place[along]);
  }
  return c.elements[element];
}

float Graph::change(float element, const Shape& place) const {
  std::map<std::string, double> computed = {{input_, double{element}}};
  for (const Step& step : steps_) {
    double x[3] = {};
    for (size_t i = 0; i < step.inputs.size(); ++i) x[i] = at(step.inputs[i], place, computed);
    computed[step.output] = step.compute(x[0], x[1], x[2]);
  }
  return static_cast<float>(at(output_, place, computed));
}

}  // namespace fovea_onnx
