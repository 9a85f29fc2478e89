// JSON lines in, JSON lines out: --input FILE.jsonl, --output FILE, continued where it stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"

namespace longformer::cli {

// One line of the input.
struct InputLine {
  int64_t number = 0;  // from 1
  Json record;         // an object
};

// What an output file holds already, of the lines of an input.
struct ResumePoint {
  int64_t after = 0;     // go on behind this line
  int64_t answered = 0;  // lines up to there that have records
};

struct LineSummary {
  int64_t read = 0;            // lines that were handed out, in this run
  int64_t skipped = 0;         // counted and, the first few, named in notices
  int64_t resumed = 0;         // lines that the output held already
  int64_t skipped_before = 0;  // lines up to there that hold something and have no record
};

// The lines of a file that hold a JSON object, one after the other. Blank lines are passed over. A
// line that is not valid UTF-8, not JSON, no object, deeper than kMaxJsonDepth or longer than
// kMaxLineBytes is counted and named in a notice: "FILE line 17: …; skipped".
class LineReader {
 public:
  // "-": standard input; .gz too. Throws where it cannot be read.
  explicit LineReader(const std::string& path, const ResumePoint& from = {});
  ~LineReader();

  // None at the end. Throws kInvalidFile where the input ends in front of the resume point: the
  // output answers another file.
  std::optional<InputLine> next();
  // A line that next() gave turned out to be unusable: counted and named in the same way.
  void skip(int64_t line, const std::string& reason);
  const LineSummary& summary() const noexcept;
  double share() const noexcept;  // of the file that has been read; 0 where that is unknown

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The string under `field`; throws kInvalidArgument naming the field and those that there are.
std::string text_field(const Json& record, const std::string& field);

// Where records go. The records that answer one input are handed over together, in the order of
// the inputs.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void add(std::span<const Json> records) = 0;
  virtual bool closed() const { return false; }  // the reader is gone
  virtual void finish() {}
};
// Standard output, flushed after each input.
std::unique_ptr<RecordSink> standard_sink();
// A file that appears whole at finish(), or not at all.
std::unique_ptr<RecordSink> whole_file_sink(const std::string& path);
// Appends to `path`, whole lines. Records are those of `command` (records.h) and begin with "line",
// the number of the input line that they answer; every line that is not skipped has one at least.
// `from` becomes where to go on: a half-written last line is cut off, and so are the records of the
// last line, of which there might have been more. Throws kInvalidFile, leaving the file as it is,
// where it holds something else than such records (naming the line).
std::unique_ptr<RecordSink> resumable_sink(const std::string& path, std::string_view command,
                                           ResumePoint& from);

}  // namespace longformer::cli
