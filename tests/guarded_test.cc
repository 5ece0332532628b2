// SPDX-License-Identifier: Apache-2.0
//
// What the buffers of the other tests can show.
#include "support/guarded.h"
#include "catch.h"

namespace fovea_test {

TEST_CASE("guards: a byte that is written beside a buffer is seen", "[short]") {
  if (!guards_fault()) skip("no memory protection here: only writes beside a buffer are seen, not reads");
  for (const Placement placement : kPlacements) {
    const Guarded buffer(40, 4, placement);
    INFO(name(placement));
    CHECK(buffer.untouched());
    CHECK(buffer.margin_intact());
    // Where pages fault, one side of the buffer may be such a page.
    const bool before = !guards_fault() || placement != Placement::kStart;
    const bool behind = !guards_fault() || placement != Placement::kEnd;
    for (const bool first : {true, false}) {
      if (first ? !before : !behind) continue;
      uint8_t* const beside = first ? buffer.as<uint8_t>() - 1 : buffer.as<uint8_t>() + buffer.bytes();
      const uint8_t kept = *beside;
      *beside = uint8_t(~kept);
      CHECK(!buffer.margin_intact());
      *beside = kept;
      CHECK(buffer.margin_intact());
    }
  }
}

}  // namespace fovea_test
