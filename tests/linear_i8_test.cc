// SPDX-License-Identifier: Apache-2.0
//
// Linear layers with integer products (FOVEA_COMPUTE_I8): the bits that fovea.h promises, computed here in the plainest
// way, on every target; and how far they are from sums in double.
#include "platform/platform.h"
#include "simd_tests.h"
#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr Layout kRowLayouts[] = {Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed};

struct I8Problem {
  uint32_t tokens = 5, in_dim = 19, out_dim = 11;
  fovea_dtype w_dtype = FOVEA_I8;
  fovea_dtype x_dtype = FOVEA_F32, y_dtype = FOVEA_F32;
  enum Bias { kNoBias, kF32, kI32 } bias = kF32;
  int32_t x_zero = 0, y_zero = 0;
  float y_scale = 0.03f;
  bool one_scale = false;  // of x
  Layout layout = Layout::kHeadsFirst;
  bool extreme = false;  // codes of x and weights are -128 and 127 alone
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

std::string name(const I8Problem& p, fovea_target target) {
  Text text;
  text << "linear i8 " << p.tokens << "x" << p.in_dim << "x" << p.out_dim << " " << type_name(p.w_dtype)
       << (p.x_dtype == FOVEA_I8 ? " codes" : " f32") << (p.y_dtype == FOVEA_I8 ? " to codes" : " to f32") << " bias "
       << int(p.bias) << " zeros " << p.x_zero << ", " << p.y_zero << (p.one_scale ? " one scale" : "") << " "
       << name(p.layout) << " " << name(p.placement) << " seed " << p.seed << " | " << fovea_target_name(target);
  return text.str();
}

// Rows of elements of some type, guarded.
template <class T>
struct Rows {
  Guarded memory;
  T* first = nullptr;
  ptrdiff_t stride = 0;

  Rows() = default;
  Rows(uint32_t count, size_t dim, const I8Problem& p) {
    const Strides s = strides_of({1, 1, count, dim}, p.layout);
    memory = Guarded(s.elements * sizeof(T), sizeof(T), p.placement);
    first = memory.template as<T>() + s.first, stride = s.token;
  }
  T& at(size_t row, size_t i) const { return first[ptrdiff_t(row) * stride + ptrdiff_t(i)]; }
};

class I8Case {
 public:
  explicit I8Case(const I8Problem& problem) : p(problem), args{} {
    x_ = Rows<float>(p.x_dtype == FOVEA_F32 ? p.tokens : 0, p.in_dim, p);
    codes_ = Rows<int8_t>(p.x_dtype == FOVEA_I8 ? p.tokens : 0, p.in_dim, p);
    y_ = Rows<float>(p.y_dtype == FOVEA_F32 ? p.tokens : 0, p.out_dim, p);
    out_codes_ = Rows<int8_t>(p.y_dtype == FOVEA_I8 ? p.tokens : 0, p.out_dim, p);
    w_ = Rows<int8_t>(p.out_dim, row_units(p.w_dtype, p.in_dim), p);
    const size_t scale = scale_size(p.w_dtype);
    scales_ = Guarded(p.out_dim * row_scales(p.w_dtype, p.in_dim) * scale, std::max<size_t>(scale, 1), p.placement);
    x_scales_ = Guarded((p.one_scale ? 1 : p.tokens) * sizeof(float), sizeof(float), p.placement);
    bias_ = Guarded(p.out_dim * sizeof(float), sizeof(float), p.placement);
    draw();
    args.struct_bytes = sizeof args;
    args.processor_features = fovea::platform::processor_features();
    args.compute = FOVEA_COMPUTE_I8, args.tokens = p.tokens, args.in_dim = p.in_dim, args.out_dim = p.out_dim;
    args.x_dtype = p.x_dtype, args.y_dtype = p.y_dtype;
    const bool codes = p.x_dtype == FOVEA_I8, to_codes = p.y_dtype == FOVEA_I8;
    args.x = codes ? static_cast<const void*>(codes_.first) : x_.first;
    args.x_stride = codes ? codes_.stride : x_.stride;
    args.y = to_codes ? static_cast<void*>(out_codes_.first) : y_.first;
    args.y_stride = to_codes ? out_codes_.stride : y_.stride;
    args.weights.dtype = p.w_dtype, args.weights.data = w_.first, args.weights.row_stride = w_.stride;
    if (scale != 0) args.weights.scales = scales_.as<void>();
    if (p.bias == I8Problem::kF32) args.weights.bias = bias_.as<float>();
    if (p.bias == I8Problem::kI32) args.weights.bias_i32 = bias_.as<int32_t>();
    if (codes) {
      args.x_scales = x_scales_.as<float>();
      args.x_scales_stride = p.one_scale ? 0 : 1;
      args.x_zero = p.x_zero;
    }
    if (to_codes) args.y_scale = p.y_scale, args.y_zero = p.y_zero;
  }

  // Runs with exactly the workspace that is asked for, behind guards.
  fovea_status run(fovea_target target) {
    args.target = target;
    const Guarded workspace(fovea_linear_workspace_bytes(&args), FOVEA_WORKSPACE_ALIGNMENT,
                            p.placement == Placement::kOffset ? Placement::kEnd : p.placement);
    (p.y_dtype == FOVEA_I8 ? out_codes_.memory : y_.memory).fill();
    const Guarded* const inputs[] = {&x_.memory, &codes_.memory, &w_.memory, &scales_, &x_scales_, &bias_};
    for (const Guarded* input : inputs) input->read_only(true);
    const fovea_status status = fovea_linear(&args, workspace.as<void>(), workspace.bytes());
    for (const Guarded* input : inputs) input->read_only(false);
    REQUIRE(workspace.margin_intact());
    REQUIRE((p.y_dtype == FOVEA_I8 ? out_codes_.memory : y_.memory).margin_intact());
    return status;
  }

  // A token as codes: of f32, as rows of I8 keys are narrowed; with weights in groups, each group by itself.
  struct Token {
    std::vector<int> codes;
    float scale = 1;
    std::vector<float> group_scales;
  };
  Token token_of(size_t t) const {
    Token token;
    token.codes.resize(p.in_dim);
    token.group_scales.assign((p.in_dim + 31) / 32, 1.0f);
    if (p.x_dtype == FOVEA_I8) {
      for (size_t i = 0; i < p.in_dim; ++i) token.codes[i] = codes_.at(t, i) - p.x_zero;
      const float given = x_scales_.as<float>()[p.one_scale ? 0 : t];
      token.scale = std::isfinite(given) ? given : kNaN;
    } else if (is_grouped(p.w_dtype)) {
      for (size_t d = 0; d < p.in_dim; d += 32) {
        token.group_scales[d / 32] = narrow(t, d, std::min<size_t>(d + 32, p.in_dim), &token.codes);
      }
    } else {
      token.scale = narrow(t, 0, p.in_dim, &token.codes);
    }
    return token;
  }
  // Inputs [begin, end) become codes; returns their scale.
  float narrow(size_t t, size_t begin, size_t end, std::vector<int>* codes) const {
    float most = 127 * 0x1p-126f;
    bool finite = true;
    for (size_t i = begin; i < end; ++i) {
      finite &= std::isfinite(x_.at(t, i));
      most = std::max(most, std::fabs(x_.at(t, i)));
    }
    const float inverse = 127.0f / most;
    for (size_t i = begin; finite && i < end; ++i) (*codes)[i] = int(std::nearbyint(x_.at(t, i) * inverse));
    return finite ? std::min(most / 127.0f, 0x1.020406p121f) : kNaN;
  }

  // A weight's super-block.
  const uint8_t* super(size_t o, size_t i) const {
    return reinterpret_cast<const uint8_t*>(&w_.at(o, i / 256 * group_bytes(p.w_dtype)));
  }
  // The scale of weight i, and what a code of 0 stands for. Not of Q6_K.
  float weight_scale(size_t o, size_t i) const {
    if (p.w_dtype == FOVEA_Q4_K) return f16_at(super(o, i)) * float(six_bits(super(o, i) + 4, i % 256 / 32));
    return f16_at(group_scale(o, i / 32));
  }
  float weight_least(size_t o, size_t i) const {
    if (p.w_dtype == FOVEA_Q4_K) return -(f16_at(super(o, i) + 2) * float(six_bits(super(o, i) + 4, 8 + i % 256 / 32)));
    return f16_at(static_cast<const char*>(group_scale(o, i / 32)) + 2);
  }

  // Where the scale of a group, or of a super-block, is, as f16.
  void* group_scale(size_t o, size_t group) const {
    if (p.w_dtype == FOVEA_I4) return scales_.as<uint16_t>() + o * row_scales(FOVEA_I4, p.in_dim) + group;
    return &w_.at(o, group * group_bytes(p.w_dtype) + (p.w_dtype == FOVEA_Q6_K ? 208 : 0));
  }
  static float f16_at(const void* p) {
    uint16_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return float(value_of(kF16, bits));
  }
  // The code of a weight in a group.
  int group_code(size_t o, size_t i) const {
    if (is_super(p.w_dtype)) return super_code(p.w_dtype, super(o, i), i % 256);
    const int8_t* const group = &w_.at(o, i / 32 * group_bytes(p.w_dtype) + codes_at(p.w_dtype));
    if (p.w_dtype == FOVEA_Q8_0) return group[i % 32];
    const int byte = uint8_t(group[i % 16]);
    return (i % 32 < 16 ? byte & 15 : byte >> 4) - (p.w_dtype == FOVEA_Q4_1 ? 0 : 8);
  }

  // The scale of a super-block of Q6_K, of all its groups.
  float common_scale(size_t o, size_t i) const {
    return p.w_dtype == FOVEA_Q6_K ? f16_at(super(o, i) + 208) : weight_scale(o, i);
  }
  // The sum of 32 products; in Q6_K those of 16 times a scale, which is an integer.
  int sum_of_group(const Token& x, size_t o, size_t d) const {
    int sum = 0;
    for (size_t i = d; i < std::min<size_t>(d + 32, p.in_dim); ++i) {
      const int scale = p.w_dtype == FOVEA_Q6_K ? int8_t(super(o, i)[192 + i % 256 / 16]) : 1;
      sum += x.codes[i] * group_code(o, i) * scale;
    }
    return sum;
  }
  float want_of_groups(const Token& x, size_t o) const {
    volatile float y = 0;
    for (size_t d = 0; d < p.in_dim; d += 32) {
      int x_sum = 0;
      for (size_t i = d; i < std::min<size_t>(d + 32, p.in_dim); ++i) x_sum += x.codes[i];
      volatile float product = float(sum_of_group(x, o, d)) * common_scale(o, d);
      if (p.w_dtype == FOVEA_Q4_1 || p.w_dtype == FOVEA_Q4_K) {
        const volatile float least = float(x_sum) * weight_least(o, d);
        product = product + least;
      }
      product = product * x.group_scales[d / 32];
      y = y + product;
    }
    y = y * x.scale;
    if (p.bias == I8Problem::kF32) y = y + bias_.as<float>()[o];
    return y;
  }

  float want(const Token& x, size_t o) const {
    if (is_grouped(p.w_dtype)) return want_of_groups(x, o);
    int64_t sum = p.bias == I8Problem::kI32 ? bias_.as<int32_t>()[o] : 0;
    for (size_t i = 0; i < p.in_dim; ++i) sum += int64_t{x.codes[i]} * w_.at(o, i);
    const float scale = scales_.as<float>()[o];
    // volatile: each operation rounds by itself.
    volatile float y = float(int32_t(uint32_t(sum)));
    y = y * x.scale;
    y = y * (std::isfinite(scale) ? scale : kNaN);
    if (p.bias == I8Problem::kF32) y = y + bias_.as<float>()[o];
    return y;
  }
  int want_code(float y) const {
    const float quotient = y / p.y_scale;
    if (quotient != quotient) return p.y_zero;
    const double rounded = std::nearbyint(double(quotient)) + p.y_zero;
    return int(std::max(-128.0, std::min(127.0, rounded)));
  }

  // "" or what is wrong.
  std::string check(fovea_target target) {
    const std::string full_name = name(p, target);
    set_current_case(full_name);
    const fovea_status status = run(target);
    if (status != FOVEA_OK) return full_name + ": " + fovea_status_string(status);
    for (size_t t = 0; t < p.tokens; ++t) {
      const Token x = token_of(t);
      for (size_t o = 0; o < p.out_dim; ++o) {
        const float y = want(x, o);
        const bool to_codes = p.y_dtype == FOVEA_I8;
        const bool right = to_codes ? out_codes_.at(t, o) == want_code(y)
                           : y != y ? y_.at(t, o) != y_.at(t, o)
                                    : bits_of(y_.at(t, o)) == bits_of(y);
        if (right) continue;
        Text text;
        text << full_name << ": [" << t << "][" << o << "] is " << (to_codes ? float(out_codes_.at(t, o)) : y_.at(t, o))
             << ", want " << (to_codes ? float(want_code(y)) : y);
        return text.str();
      }
    }
    return written_elsewhere() ? full_name + ": written between the rows" : "";
  }

  // All bytes of the outputs.
  std::vector<uint8_t> outputs() const {
    std::vector<uint8_t> all;
    const size_t bytes = p.out_dim * (p.y_dtype == FOVEA_I8 ? 1 : sizeof(float));
    for (size_t t = 0; t < p.tokens; ++t) {
      const void* row = p.y_dtype == FOVEA_I8 ? static_cast<const void*>(&out_codes_.at(t, 0)) : &y_.at(t, 0);
      all.insert(all.end(), static_cast<const uint8_t*>(row), static_cast<const uint8_t*>(row) + bytes);
    }
    return all;
  }

  static void put_f16(void* to, float x) {
    const auto bits = uint16_t(nearest_of(kF16, x));
    std::memcpy(to, &bits, sizeof bits);
  }

  I8Problem p;
  fovea_linear_args args;
  Rows<float> x_, y_;
  Rows<int8_t> codes_, out_codes_, w_;
  Guarded scales_, x_scales_, bias_;

 private:
  int8_t draw_code(uint64_t seed, size_t index) const {
    const uint64_t bits = random_bits(seed, index);
    return int8_t(p.extreme ? (bits & 7 ? -128 : 127) : int(bits % 256) - 128);
  }
  void draw() {
    for (const auto& [t, i] : indices<size_t>(p.tokens, p.in_dim)) {
      if (p.x_dtype == FOVEA_F32) x_.at(t, i) = random_normal(p.seed, t * 8192 + i);
      if (p.x_dtype == FOVEA_I8) codes_.at(t, i) = draw_code(p.seed, t * 8192 + i);
    }
    for (size_t t = 0; t < (p.one_scale ? 1 : p.tokens); ++t) {
      x_scales_.as<float>()[t] = random_uniform(p.seed + 4, t, 0.001f, 0.02f);
    }
    for (size_t o = 0; o < p.out_dim; ++o) {
      for (size_t i = 0; i < row_units(p.w_dtype, p.in_dim); ++i) w_.at(o, i) = draw_code(p.seed + 1, o * 8192 + i);
      if (p.w_dtype == FOVEA_I8) scales_.as<float>()[o] = random_uniform(p.seed + 3, o, 0.001f, 0.02f);
      for (size_t g = 0; is_grouped(p.w_dtype) && g * group_elements(p.w_dtype) < p.in_dim; ++g) draw_group(o, g);
      if (p.bias == I8Problem::kI32) {
        bias_.as<int32_t>()[o] = int32_t(random_bits(p.seed + 2, o) % 20001) - 10000;
      } else {
        bias_.as<float>()[o] = random_normal(p.seed + 2, o);
      }
    }
  }
  void draw_group(size_t o, size_t g) {
    char* const scale = static_cast<char*>(group_scale(o, g));
    put_f16(scale, random_uniform(p.seed + 3, o * 256 + g, 0.001f, 0.02f) * (g % 3 == 1 ? -1.0f : 1.0f));
    if (p.w_dtype == FOVEA_Q4_1 || p.w_dtype == FOVEA_Q4_K) {
      put_f16(scale + 2, random_normal(p.seed + 5, o * 256 + g) / 16);
    }
  }
  bool written_elsewhere() const {
    const size_t unit = p.y_dtype == FOVEA_I8 ? 1 : sizeof(float);
    const Guarded& memory = p.y_dtype == FOVEA_I8 ? out_codes_.memory : y_.memory;
    if (p.y_dtype == FOVEA_I8 || p.layout != Layout::kPadded || p.tokens == 0) return false;
    const size_t step = (p.out_dim + 3) * unit, row = p.out_dim * unit;
    for (size_t i = 0; i < memory.bytes(); ++i) {
      if (i % step >= row && !memory.untouched(i)) return true;
    }
    return false;
  }
};

constexpr fovea_dtype kGroupTypes[] = {FOVEA_I4, FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_Q4_1, FOVEA_Q4_K, FOVEA_Q6_K};

std::string run_on_all_targets(const I8Problem& problem) {
  return check_on_all_targets(I8Case(problem), targets_and_those_that_extend_them());
}

void check_near_double(fovea_dtype dtype, uint32_t tokens) {
  I8Problem p;
  p.tokens = tokens, p.in_dim = 130, p.out_dim = 9, p.bias = I8Problem::kNoBias, p.w_dtype = dtype;
  I8Case test(p);
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    REQUIRE(test.run(target) == FOVEA_OK);
    double error = 0, size = 0;
    for (const auto& [t, o] : indices<size_t>(p.tokens, p.out_dim)) {
      const char* const scales = test.scales_.as<char>() + o * row_scales(dtype, p.in_dim) * scale_size(dtype);
      double want = 0;
      for (size_t i = 0; i < p.in_dim; ++i) {
        want += double(test.x_.at(t, i)) * double(element_of(dtype, &test.w_.at(o, 0), scales, i));
      }
      const double off = double(test.y_.at(t, o)) - want;
      error += off * off, size += want * want;
    }
    CHECK(error < 2e-4 * size);
  }
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ numbers

TEST_CASE("linear i8: every count around those of vectors and tiles has the promised bits", "[short]") {
  uint64_t seed = 0;
  for (const auto& [tokens, in_dim, out_dim] :
       every({1u, 2u, 3u, 4u, 5u, 8u, 9u, 12u, 16u, 17u, 47u, 49u},
             {1u, 3u, 4u, 5u, 15u, 16u, 17u, 33u, 63u, 64u, 65u, 130u}, {1u, 2u, 4u, 7u, 8u, 9u, 16u, 17u, 33u})) {
    if (++seed % 7 != 0) continue;
    I8Problem p;
    p.tokens = tokens, p.in_dim = in_dim, p.out_dim = out_dim;
    p.x_dtype = seed % 2 ? FOVEA_I8 : FOVEA_F32, p.y_dtype = seed % 3 ? FOVEA_F32 : FOVEA_I8;
    p.x_zero = p.x_dtype == FOVEA_I8 ? int32_t(seed % 256) - 128 : 0;
    p.placement = Placement(seed % 3);
    p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: any choice of types, bias, zeros, scales, strides and memory has the promised bits", "[short]") {
  uint64_t seed = 0;
  for (const auto& [tokens, x_dtype, y_dtype, bias, layout] :
       every({2u, 18u}, {FOVEA_F32, FOVEA_I8}, {FOVEA_F32, FOVEA_I8},
             {I8Problem::kNoBias, I8Problem::kF32, I8Problem::kI32}, kRowLayouts)) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = 35, p.out_dim = 21;
    p.x_dtype = x_dtype, p.y_dtype = y_dtype, p.layout = layout;
    p.placement = Placement(++seed % 3);
    p.one_scale = bias == I8Problem::kI32 || seed % 2;
    p.bias = bias == I8Problem::kI32 && x_dtype == FOVEA_F32 ? I8Problem::kNoBias : bias;
    if (x_dtype == FOVEA_I8) p.x_zero = int32_t(seed * 37 % 256) - 128;
    if (y_dtype == FOVEA_I8) p.y_zero = int32_t(seed * 53 % 256) - 128;
    p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: weights in groups have the promised bits at every count", "[short]") {
  uint64_t seed = 0;
  for (const auto& [tokens, in_dim, out_dim, dtype] :
       every({1u, 2u, 3u, 4u, 5u, 8u, 9u, 17u, 49u}, {1u, 15u, 31u, 32u, 33u, 63u, 64u, 65u, 96u, 130u, 257u, 577u},
             {1u, 4u, 7u, 8u, 9u, 16u, 17u, 33u, 49u, 97u}, kGroupTypes)) {
    if (++seed % 19 != 0) continue;
    I8Problem p;
    p.tokens = tokens, p.in_dim = in_dim, p.out_dim = out_dim, p.w_dtype = dtype;
    p.x_dtype = seed % 2 ? FOVEA_I8 : FOVEA_F32, p.y_dtype = seed % 3 ? FOVEA_F32 : FOVEA_I8;
    p.x_zero = p.x_dtype == FOVEA_I8 && seed % 4 != 1 ? int32_t(seed % 256) - 128 : 0;
    p.layout = kRowLayouts[seed / 4 % 3], p.extreme = seed % 5 == 1;
    p.bias = seed % 7 < 2 ? I8Problem::kNoBias : I8Problem::kF32;
    p.placement = Placement(seed % 3);
    p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: weights in groups have outputs near those of sums in double", "[short]") {
  for (const auto& [dtype, tokens] : every(kGroupTypes, {2u, 20u})) check_near_double(dtype, tokens);
}

TEST_CASE("linear i8: with weights in groups a very large input costs inputs of other groups nothing", "[short]") {
  for (const auto& [dtype, tokens] : every(kGroupTypes, {2u, 20u})) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = 3 * uint32_t(group_elements(dtype)), p.out_dim = 9, p.w_dtype = dtype;
    I8Case test(p), large(p);
    for (I8Case* c : {&test, &large}) {
      for (size_t o = 0; o < p.out_dim; ++o) {  // the group of that input counts for nothing
        I8Case::put_f16(c->group_scale(o, 1), 0.0f);
        if (dtype == FOVEA_Q4_1 || dtype == FOVEA_Q4_K) {
          I8Case::put_f16(static_cast<char*>(c->group_scale(o, 1)) + 2, 0.0f);
        }
      }
    }
    for (size_t t = 0; t < p.tokens; ++t) large.x_.at(t, group_elements(dtype) + 8) = 3000.0f;
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      REQUIRE(test.run(target) == FOVEA_OK);
      REQUIRE(large.run(target) == FOVEA_OK);
      CHECK(large.outputs() == test.outputs());
    }
  }
}

TEST_CASE("linear i8: a group's scale that is not finite reaches its own output alone", "[short]") {
  for (const auto& [dtype, tokens, bad] : every(kGroupTypes, {2u, 19u}, {kNaN, kInfinity, -kInfinity})) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = is_super(dtype) ? 530 : 70, p.w_dtype = dtype;
    I8Case test(p);
    I8Case::put_f16(test.group_scale(3, 1), bad);
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      REQUIRE(test.check(target) == "");
      for (size_t t = 0; t < p.tokens; ++t) {
        CHECK(!std::isfinite(test.y_.at(t, 3)));
        CHECK(std::isfinite(test.y_.at(t, 2)));
      }
    }
  }
}

TEST_CASE("linear i8: sums over more inputs than are multiplied at a time are exact", "[short]") {
  for (const auto& [tokens, in_dim] : every({1u, 17u}, {127u, 129u, 257u, 512u, 513u, 1025u, 2050u})) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = in_dim, p.out_dim = in_dim < 600 ? 66 : 9;
    p.x_dtype = in_dim % 2 ? FOVEA_I8 : FOVEA_F32;
    p.extreme = in_dim % 4 != 1;
    p.x_zero = p.x_dtype == FOVEA_I8 ? 127 : 0;
    p.seed = in_dim;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: sums over the most inputs are exact") {
  for (const auto& [tokens, zero] : every({1u, 9u}, {-128, 127})) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = 65536, p.out_dim = 3;
    p.x_dtype = FOVEA_I8, p.bias = I8Problem::kNoBias, p.x_zero = zero, p.extreme = true;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: outputs are near those of sums in double", "[short]") {
  for (const uint32_t tokens : {2u, 20u}) check_near_double(FOVEA_I8, tokens);
}

TEST_CASE("linear i8: NaN and infinity in a token or a scale reach the outputs that they belong to", "[short]") {
  for (const auto& [tokens, bad, y_dtype] : every({2u, 19u}, {kNaN, kInfinity, -kInfinity}, {FOVEA_F32, FOVEA_I8})) {
    I8Problem p;
    p.tokens = tokens, p.y_dtype = y_dtype, p.y_zero = y_dtype == FOVEA_I8 ? 5 : 0;
    I8Case f32(p);
    f32.x_.at(1, 18) = bad;
    f32.scales_.as<float>()[3] = bad;
    p.x_dtype = FOVEA_I8;
    I8Case codes(p);
    codes.x_scales_.as<float>()[1] = bad;
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      REQUIRE(f32.check(target) == "");
      REQUIRE(codes.check(target) == "");
    }
  }
}

TEST_CASE("linear i8: output codes are rounded to even and saturate", "[short]") {
  for (const auto& [tokens, zero] : every({2u, 17u}, {-128, -3, 0, 127})) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = 1, p.out_dim = 40;
    p.x_dtype = FOVEA_I8, p.y_dtype = FOVEA_I8, p.bias = I8Problem::kNoBias, p.one_scale = true;
    p.y_scale = 2.0f, p.y_zero = zero;
    I8Case test(p);
    test.x_scales_.as<float>()[0] = 1.0f;
    for (size_t t = 0; t < p.tokens; ++t) test.codes_.at(t, 0) = 1;
    for (size_t o = 0; o < p.out_dim; ++o) {
      test.w_.at(o, 0) = int8_t(int(o) - 20);  // quotients of o / 2 - 10: ties
      test.scales_.as<float>()[o] = o % 8 == 7 ? 1e30f : o % 8 == 6 ? 100.0f : 1.0f;
    }
    for (const fovea_target target : targets_and_those_that_extend_them()) REQUIRE(test.check(target) == "");
  }
}

TEST_CASE("linear i8: output codes are those of a division, however near a half the quotient is", "[short]") {
  for (const auto& [scale, tokens, odd] : every({0.03f, 0x1.fffffep-1f, 0x1.000002p0f, 3.7e-5f, 7.1e9f, 1e-20f, 1e30f},
                                                {1u, 3u, 22u}, {0.0f, kInfinity, -kInfinity, 1e25f, kNaN})) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = 1, p.out_dim = 520;
    p.x_dtype = FOVEA_I8, p.y_dtype = FOVEA_I8, p.one_scale = true, p.y_scale = scale, p.y_zero = 1;
    I8Case test(p);
    for (size_t t = 0; t < p.tokens; ++t) test.codes_.at(t, 0) = 0;  // so that outputs are biases
    float* const bias = test.bias_.as<float>();
    for (size_t o = 0; o < p.out_dim; ++o) {
      const double half = double(o / 2) - 130 + 0.5;
      bias[o] = float(half * double(scale));
      if (o % 2 != 0) bias[o] = std::nextafter(bias[o], o % 4 == 1 ? kInfinity : -kInfinity);
    }
    bias[70] = odd;
    for (const fovea_target target : targets_and_those_that_extend_them()) REQUIRE(test.check(target) == "");
  }
}

TEST_CASE("linear i8: an activation comes before the code, with the same bits on every target", "[short]") {
  for (uint32_t kind = 0; kind <= FOVEA_ACTIVATION_TANH; ++kind) {
    for (const auto& [dtype, tokens] : every({FOVEA_I8, FOVEA_I4, FOVEA_Q4_1}, {1u, 3u, 20u})) {
      std::vector<uint8_t> first;
      for (const fovea_target target : targets()) {
        I8Problem p;
        p.tokens = tokens, p.in_dim = 37, p.out_dim = 19, p.w_dtype = dtype;
        I8Case plain(p), activated(p);
        activated.args.activation = fovea_activation_kind(kind);
        p.y_dtype = FOVEA_I8, p.y_zero = -3;
        I8Case codes(p);
        codes.args.activation = activated.args.activation;
        INFO(name(p, target) << " activation " << kind);
        REQUIRE(plain.run(target) == FOVEA_OK);
        REQUIRE(activated.run(target) == FOVEA_OK);
        REQUIRE(codes.run(target) == FOVEA_OK);
        auto a = sized<fovea_activation_args>();
        a.activation = activated.args.activation, a.batch = a.heads = 1, a.tokens = tokens, a.dim = p.out_dim;
        std::vector<float> want(size_t{tokens} * p.out_dim);
        a.x = {plain.y_.first, 0, 0, plain.y_.stride}, a.y = {want.data(), 0, 0, ptrdiff_t(p.out_dim)};
        REQUIRE(fovea_activation(&a) == FOVEA_OK);
        bool right = true;
        for (const auto& [t, o] : indices<size_t>(tokens, p.out_dim)) {
          const float got = activated.y_.at(t, o), near = want[t * p.out_dim + o];
          right = right && std::fabs(got - near) <= 1e-5f * std::fabs(near) + 1e-36f;
          right = right && codes.out_codes_.at(t, o) == codes.want_code(got);
        }
        CHECK(right);
        if (first.empty()) first = activated.outputs();
        CHECK(first == activated.outputs());
      }
    }
  }
}

TEST_CASE("linear i8: ReLU and ReLU6 limit outputs before the code, whatever its zero and scale", "[short]") {
  for (const auto& [kind, scale, zero, odd, tokens] :
       every({FOVEA_ACTIVATION_RELU, FOVEA_ACTIVATION_RELU6}, {0.03f, 6.0f / 255, 0.04f, 7.0f, 1e-20f, 1e30f},
             {-128, -3, 127}, {0.0f, kInfinity, -kInfinity, kNaN}, {1u, 3u, 22u})) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = 1, p.out_dim = 131;
    p.x_dtype = FOVEA_I8, p.y_dtype = FOVEA_I8, p.one_scale = true, p.y_scale = scale, p.y_zero = zero;
    I8Case test(p);
    test.args.activation = kind;
    for (size_t t = 0; t < p.tokens; ++t) test.codes_.at(t, 0) = 0;  // so that outputs are biases
    float* const bias = test.bias_.as<float>();
    for (size_t o = 0; o < p.out_dim; ++o) bias[o] = (float(o) - 40.5f) * 4 * scale;
    bias[3] = 6.0f, bias[4] = std::nextafter(6.0f, 0.0f), bias[5] = std::nextafter(6.0f, 7.0f);
    bias[6] = -0.0f, bias[7] = -6.0f, bias[8] = odd;
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      INFO(name(p, target) << " activation " << kind);
      REQUIRE(test.run(target) == FOVEA_OK);
      bool right = true;
      for (size_t o = 0; o < p.out_dim; ++o) {
        float want = bias[o] < 0.0f ? 0.0f : bias[o];
        if (kind == FOVEA_ACTIVATION_RELU6 && want > 6.0f) want = 6.0f;
        for (size_t t = 0; t < tokens; ++t) right = right && test.out_codes_.at(t, o) == test.want_code(want);
      }
      CHECK(right);
    }
  }
}

TEST_CASE("linear i8: portable_bits, a budget and an executor change no bit, and the last two the workspace",
          "[short]") {
  Shuffler shuffler(3);
  for (const uint32_t tokens : {2u, 3u, 60u}) {
    I8Problem p;
    p.tokens = tokens, p.in_dim = 37, p.out_dim = 300;
    if (tokens != 2) p.w_dtype = FOVEA_Q4_1;
    I8Case test(p);
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      INFO(name(p, target));
      test.args.workspace_budget_bytes = 0, test.args.portable_bits = 0, test.args.executor = nullptr;
      REQUIRE(test.run(target) == FOVEA_OK);
      const std::vector<uint8_t> want = test.outputs();
      size_t bytes = fovea_linear_workspace_bytes(&test.args);
      CHECK(bytes > 0);
      CHECK(bytes <= FOVEA_LINEAR_I8_WORKSPACE_BYTES(37));
      test.args.portable_bits = 1;
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.outputs() == want);
      test.args.executor = shuffler.executor();
      CHECK(fovea_linear_workspace_bytes(&test.args) == 3 * bytes);
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.outputs() == want);
      test.args.executor = nullptr;
      for (; bytes > 0; bytes = fovea_linear_workspace_bytes(&test.args)) {
        test.args.workspace_budget_bytes = bytes;
        CHECK(fovea_linear_workspace_bytes(&test.args) == bytes);
        REQUIRE(test.run(target) == FOVEA_OK);
        CHECK(test.outputs() == want);
        test.args.workspace_budget_bytes = bytes - 1;
      }
      CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_ERR_BUDGET);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- memory

TEST_CASE("linear i8: workspace grows with tokens up to a tile, and the macro is a bound", "[short]") {
  I8Case test(I8Problem{});
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    test.args.target = target;
    for (const uint32_t in_dim : {1u, 17u, 384u, 2048u}) {
      test.args.in_dim = in_dim;
      test.args.weights.dtype = in_dim % 2 ? FOVEA_I8 : FOVEA_Q4_0;
      size_t before = 0;
      for (const uint32_t tokens : {0u, 1u, 2u, 5u, 8u, 9u, 17u, 33u, 48u, 49u, 1u << 30}) {
        test.args.tokens = tokens;
        const size_t bytes = fovea_linear_workspace_bytes(&test.args);
        CHECK(bytes >= before);
        CHECK(bytes <= FOVEA_LINEAR_I8_WORKSPACE_BYTES(in_dim));
        before = bytes;
      }
    }
  }
  // Of a board, asked on a host.
  test.args.in_dim = 384, test.args.tokens = 100, test.args.target = FOVEA_TARGET_HELIUM;
  test.args.weights.dtype = FOVEA_I8;
  const size_t bytes = 12 * 384 + 64 + 12 * 4 * 64 + 4 * 64;
  CHECK(fovea_linear_workspace_bytes(&test.args) == bytes);
  test.args.weights.dtype = FOVEA_Q4_0;
  CHECK(fovea_linear_workspace_bytes(&test.args) == bytes + 12 * 4 * (384 / 32));
  test.args.x_dtype = FOVEA_I8;  // then one scale serves all groups
  CHECK(fovea_linear_workspace_bytes(&test.args) == bytes + 64);
}

TEST_CASE("linear i8: every misuse has its status, and nothing is written", "[short]") {
  const std::vector<Misuse<I8Case>> all = {
      {"unknown compute", FOVEA_ERR_ENUM, [](auto& c) { c.args.compute = fovea_compute(3); }},
      {"products of halves and integers", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.compute = FOVEA_COMPUTE_F16; }},
      {"an unknown feature", FOVEA_ERR_ENUM, [](auto& c) { c.args.processor_features = 1ull << 63; }},
      {"an unknown type of x", FOVEA_ERR_ENUM, [](auto& c) { c.args.x_dtype = fovea_dtype(99); }},
      {"an unknown type of y", FOVEA_ERR_ENUM, [](auto& c) { c.args.y_dtype = fovea_dtype(99); }},
      {"x of f16", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.x_dtype = FOVEA_F16; }},
      {"y of bf16", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_BF16; }},
      {"codes with f32 arithmetic", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.compute = FOVEA_COMPUTE_F32; }},
      {"f32 weights", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_F32; }},
      {"f16 weights", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_F16; }},
      {"an integer bias with groups", FOVEA_ERR_UNSUPPORTED,
       [](I8Case& c) {
         c.args.weights.dtype = FOVEA_I4, c.args.weights.bias = nullptr, c.args.x_scales_stride = 0;
         c.args.weights.bias_i32 = c.bias_.as<int32_t>();
       }},
      {"scales of blocks", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_Q8_0; }},
      {"scales of f32 x", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.x_dtype = FOVEA_F32, c.args.x_zero = 0; }},
      {"a stride of scales of f32 x", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F32, c.args.x_zero = 0, c.args.x_scales = nullptr; }},
      {"a zero of f32 x", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F32, c.args.x_scales = nullptr; }},
      {"a scale of f32 y", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_F32, c.args.y_zero = 0; }},
      {"a zero of f32 y", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_F32, c.args.y_scale = 0.0f; }},
      {"both biases", FOVEA_ERR_UNSUPPORTED,
       [](I8Case& c) { c.args.weights.bias_i32 = c.bias_.as<int32_t>(), c.args.x_scales_stride = 0; }},
      {"an integer bias with many scales", FOVEA_ERR_UNSUPPORTED,
       [](I8Case& c) { c.args.weights.bias_i32 = c.bias_.as<int32_t>(), c.args.weights.bias = nullptr; }},
      {"an input zero too low", FOVEA_ERR_NUMBER, [](auto& c) { c.args.x_zero = -129; }},
      {"an input zero too high", FOVEA_ERR_NUMBER, [](auto& c) { c.args.x_zero = 128; }},
      {"an output zero too low", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_zero = -129; }},
      {"an output zero too high", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_zero = 128; }},
      {"a subnormal scale of y", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_scale = 1e-39f; }},
      {"a scale of y above 2^126", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_scale = 0x1.8p126f; }},
      {"no scale of y", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_scale = 0.0f; }},
      {"a negative scale of y", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_scale = -1.0f; }},
      {"an infinite scale of y", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_scale = kInfinity; }},
      {"a scale of y that is no number", FOVEA_ERR_NUMBER, [](auto& c) { c.args.y_scale = kNaN; }},
      {"too many inputs", FOVEA_ERR_SIZE, [](auto& c) { c.args.in_dim = 65537; }},
      {"no scales of x", FOVEA_ERR_NULL, [](auto& c) { c.args.x_scales = nullptr; }},
      {"no scales of weights", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.scales = nullptr; }},
      {"scales of x misaligned", FOVEA_ERR_ALIGNMENT,
       [](I8Case& c) { c.args.x_scales = reinterpret_cast<const float*>(c.x_scales_.as<char>() + 1); }},
      {"scales of x too far", FOVEA_ERR_SIZE, [](auto& c) { c.args.x_scales_stride = PTRDIFF_MAX; }},
      {"an integer bias misaligned", FOVEA_ERR_ALIGNMENT,
       [](I8Case& c) {
         c.args.weights.bias = nullptr, c.args.x_scales_stride = 0;
         c.args.weights.bias_i32 = reinterpret_cast<const int32_t*>(c.bias_.as<char>() + 2);
       }},
      {"x is y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y; }},
      {"tokens of y overlap", FOVEA_ERR_STRIDE, [](auto& c) { --c.args.y_stride; }},
  };
  for (const auto& misuse : all) {
    I8Problem p;
    p.tokens = 20, p.out_dim = 12, p.x_dtype = FOVEA_I8, p.y_dtype = FOVEA_I8, p.x_zero = 3, p.y_zero = -3;
    p.placement = Placement::kStart;
    I8Case test(p);
    const size_t bytes = fovea_linear_workspace_bytes(&test.args);
    const Guarded workspace(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
    misuse.change(test);
    INFO(misuse.what);
    set_current_case(misuse.what);
    const fovea_status status = fovea_linear(&test.args, workspace.as<void>(), bytes);
    CHECK(std::string(fovea_status_string(status)) == fovea_status_string(misuse.want));
    CHECK(test.out_codes_.memory.untouched());
    CHECK(workspace.untouched());
  }
}

TEST_CASE("linear i8: no tokens write nothing, whatever the pointers", "[short]") {
  I8Case test(I8Problem{});
  test.args.tokens = 0, test.args.x = nullptr, test.args.y = nullptr, test.args.weights.data = nullptr;
  CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_OK);
}

}  // namespace fovea_test
