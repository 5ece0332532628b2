// SPDX-License-Identifier: Apache-2.0
//
// Members that only builds with some feature have.
#ifndef FOVEA_SRC_BASE_MEMBER_IF_H_
#define FOVEA_SRC_BASE_MEMBER_IF_H_

// Without optimisation a compiler keeps calls that a constant makes unreachable.
#if defined(__OPTIMIZE__) && __has_cpp_attribute(gnu::error)
#define FOVEA_ABSENT [[gnu::error("this build leaves out the member")]]
#define FOVEA_NEVER_CALLED ;
#else
#define FOVEA_ABSENT
#define FOVEA_NEVER_CALLED \
  { __builtin_unreachable(); }
#endif

namespace fovea {

// A member of type T, in a build that has it. In other builds it takes no room, reads as T(), and ignores assignment.
// There no code may dereference it, so a test of the constant kHas must guard code that does. Where the compiler knows
// gnu::error, code without this test does not compile. Declare the member [[no_unique_address]].
template <bool kHas, class T>
class MemberIf {
 public:
  MemberIf() = default;
  [[gnu::always_inline]] constexpr MemberIf(const T& value) : value_(value) {}  // else -Os calls it
  constexpr operator T() const { return value_; }
  constexpr const T& operator*() const { return value_; }
  constexpr T& operator*() { return value_; }
  constexpr const T* operator->() const { return &value_; }
  constexpr T* operator->() { return &value_; }

 private:
  T value_;
};

template <class T>
class MemberIf<false, T> {
 public:
  MemberIf() = default;
  constexpr MemberIf(const T&) {}
  constexpr operator T() const { return T(); }
  FOVEA_ABSENT T& operator*() const FOVEA_NEVER_CALLED
  FOVEA_ABSENT T* operator->() const FOVEA_NEVER_CALLED
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_MEMBER_IF_H_
