// SPDX-License-Identifier: Apache-2.0
//
// Members that a build has only with some feature.
#ifndef FOVEA_SRC_BASE_MEMBER_IF_H_
#define FOVEA_SRC_BASE_MEMBER_IF_H_

namespace fovea {

// A member of type T, in a build that has it. Else it takes no room, reads as T(), and forgets what is assigned to it;
// then nothing may point into it, which a constant prevents: that which says that the build does not have it. Declared
// [[no_unique_address]].
template <bool kHas, class T>
class MemberIf {
 public:
  MemberIf() = default;
  constexpr MemberIf(const T& value) : value_(value) {}
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
  constexpr T& operator*() const { __builtin_unreachable(); }
  constexpr T* operator->() const { __builtin_unreachable(); }
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_MEMBER_IF_H_
