// Runs a check on every SIMD target that this processor has.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/isa.h"
#include "kernels/rowwise.h"

namespace longformer::kernels {

template <typename Check>
void for_each_target(Check&& check) {
  apply_isa_limit_from_environment();
  const std::vector<std::string> targets = supported_targets();
  for (const std::string& target : targets) {
    SCOPED_TRACE(target);
    ASSERT_TRUE(limit_target(target));
    ASSERT_EQ(supported_targets().front(), target);
    ASSERT_EQ(current_target(), target);
    check(target);
  }
  limit_target(targets.front());
}

}  // namespace longformer::kernels
