// SPDX-License-Identifier: Apache-2.0
//
// A count of failed checks, which the tests of this folder share.
#ifndef FOVEA_EXAMPLES_CHAT_CHECKS_H_
#define FOVEA_EXAMPLES_CHAT_CHECKS_H_

#include <cstdio>
#include <string>

namespace chat {

inline int failures = 0;

inline void check(bool right, const std::string& what) {
  if (right) return;
  ++failures;
  std::printf("wrong: %s\n", what.c_str());
}

// The exit code of a test.
inline int report() {
  std::printf("%s\n", failures == 0 ? "all right" : "failed");
  return failures == 0 ? 0 : 1;
}

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_CHECKS_H_
