// Standard output and standard error of the subcommands: whole lines, a quiet end when the reader
// goes, nothing odd where there is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/documents/documents.h"

namespace longformer::cli {

using Json = nlohmann::ordered_json;

// One line of JSON; names and texts that are not UTF-8 get U+FFFD.
std::string json_text(const Json& value);
// Numbers with as many digits as a float needs to be read back exactly; NaN and infinities are
// null.
std::string json_numbers(std::span<const float> values);
// The same for one number inside a value.
Json json_number(double value);

class Output {
 public:
  // Writes to standard output, with a line feed. After the reader has closed its end, nothing
  // happens any more. Throws kIo with the system's reason for any other failure (a full disk).
  void line(std::string_view text);
  void flush();
  // The reader is gone (`| head`): stop working, that is no failure.
  bool closed() const { return closed_; }

 private:
  void check(bool written);
  bool closed_ = false;
};

// A terminal that understands escape codes and whose user wants them (NO_COLOR, TERM=dumb).
bool takes_escapes(int descriptor);

// Text of a document or a file name, fit for a terminal: control characters, which could move the
// cursor or change colours, become U+FFFD. Line feeds and tabs stay when `lines` is kKeep and
// become spaces when it is kJoin.
enum class Lines { kKeep, kJoin };
std::string printable(std::string_view text, Lines lines);

// A bar with share and time left on standard error, where that is a terminal; otherwise nothing.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  bool visible() const { return visible_; }
  // `note`: what else the line says.
  void update(double share, const std::string& note = {});
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

// "1 document", "2 documents"
std::string counted(int64_t count, const std::string& noun);

// One notice for each skipped file (the first few) and one for copies.
void report_skipped(const std::vector<io::SkippedFile>& skipped);
void report_duplicates(const std::vector<io::SkippedFile>& duplicates);

}  // namespace longformer::cli
