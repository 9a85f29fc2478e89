// LONGFORMER_VERBOSE=1: where the time of a command went.
#pragma once

#include <string>
#include <vector>

#include "base/profile.h"

namespace longformer::cli {

// Turns profiling on if LONGFORMER_VERBOSE is 1, and says whether it did. Absent, empty and 0 are
// off; another value throws kInvalidArgument.
bool profile_from_environment();

// A line of text for each of the longest operations, one for the rest, under a heading.
std::string profile_table(const std::vector<ProfileLine>& lines);

}  // namespace longformer::cli
