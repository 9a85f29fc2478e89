#include "cli/profile_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "longformer/error.h"

namespace longformer::cli {
namespace {

constexpr const char* kVariable = "LONGFORMER_VERBOSE";
constexpr size_t kMostLines = 60;
constexpr size_t kColumns = 7;
constexpr size_t kLeftColumns = 3;  // texts; the others are numbers

using Row = std::array<std::string, kColumns>;

std::string fixed(double value, int decimals) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

Row row_of(const ProfileLine& line, double all_seconds) {
  const double share = all_seconds > 0 ? 100.0 * line.seconds / all_seconds : 0.0;
  const bool has_rate = line.flop > 0 && line.seconds > 0;
  return {line.operation,
          line.shape,
          line.implementation,
          std::to_string(line.calls),
          fixed(line.seconds * 1e3, 2),
          fixed(share, 1) + " %",
          has_rate ? fixed(line.flop / line.seconds * 1e-9, 1) : ""};
}

std::string aligned(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t c = 0; c < kColumns; ++c) {
      const std::string gap(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += c < kLeftColumns ? row[c] + gap : gap + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

bool profile_from_environment() {
  const char* value = std::getenv(kVariable);
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty() || text == "0") return false;
  if (text != "1") {
    throw Error(ErrorCode::kInvalidArgument,
                "unknown value; allowed are 0 and 1. Set one of them or unset the variable",
                kVariable);
  }
  set_profiling(true);
  return true;
}

std::string profile_table(const std::vector<ProfileLine>& lines) {
  ProfileLine rest{"the rest", "", "", 0, 0.0, 0.0};
  double all_seconds = 0.0;
  for (size_t i = 0; i < lines.size(); ++i) {
    all_seconds += lines[i].seconds;
    if (i < kMostLines) continue;
    rest.calls += lines[i].calls;
    rest.seconds += lines[i].seconds;
    rest.flop += lines[i].flop;
  }
  std::vector<Row> rows = {
      {"operation", "shape", "implementation", "calls", "total ms", "share", "GFLOP/s"}};
  for (size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    rows.push_back(row_of(lines[i], all_seconds));
  }
  if (lines.size() > kMostLines) {
    rest.shape = std::to_string(lines.size() - kMostLines) + " lines";
    rows.push_back(row_of(rest, all_seconds));
  }
  return "operations: " + fixed(all_seconds * 1e3, 2) +
         " ms; times are sums over all threads, GFLOP/s is the rate of one thread\n" +
         aligned(rows);
}

}  // namespace longformer::cli
