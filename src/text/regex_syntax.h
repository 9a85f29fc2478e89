// Patterns from the reference's syntax (Oniguruma) to that of PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace longformer::text {

// Where both libraries read the same text differently, the result means what Oniguruma means: \h,
// \s, \w, \u, POSIX classes, (?m), {,n}, {n}+, sets within sets. Throws kUnsupported at `place` for
// what PCRE2 cannot say (intersections of sets, complements within sets).
std::string to_pcre2_syntax(std::string_view pattern, const std::string& place);

}  // namespace longformer::text
