// How the tests look at errors: the code, and the parts that a message must hold.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "longformer/error.h"

namespace longformer::test {

// The call must throw an Error of this code whose message holds each part.
template <typename Call>
void expect_error(ErrorCode code, const std::vector<std::string>& parts, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error; expected: " << (parts.empty() ? "" : parts[0]);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
    }
    EXPECT_LT(message.size(), 2000u) << "messages never dump a file";
  }
}

}  // namespace longformer::test
