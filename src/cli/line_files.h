// JSON lines in, JSON lines out: --input FILE.jsonl, --output FILE, continued where it stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/output.h"

namespace longformer::cli {

// One line of the input.
struct InputLine {
  int64_t number = 0;  // from 1
  Json record;         // an object
};

struct LineSummary {
  int64_t read = 0;     // lines visited, in this run
  int64_t skipped = 0;  // named in notices (the first few) and counted
  int64_t resumed = 0;  // lines that the output held already
};

// Reads lines from `path` ("-": standard input; .gz too) from behind line `after` on and visits
// those that hold a JSON object. Blank lines are passed over. A line that is not valid UTF-8, not
// JSON, no object, deeper than kMaxJsonDepth, longer than kMaxLineBytes, or for which `visit`
// throws Error(kInvalidArgument | kInvalidFile), is counted and named: "FILE line 17: …; skipped".
LineSummary read_lines(const std::string& path, int64_t after,
                       const std::function<void(InputLine)>& visit);

// The string under `field`; throws kInvalidArgument naming the field and those that there are.
std::string text_field(const Json& record, const std::string& field);

// Where records go. Each holds "line", the number of the input line that it answers, where they
// come from lines; several records may answer one line, and are handed over together.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void add(std::span<const Json> records) = 0;
  virtual bool closed() const { return false; }  // the reader is gone
  virtual void finish() {}
};
// Standard output, flushed a line.
std::unique_ptr<RecordSink> standard_sink();
// Appends to `path`, whole lines. `after` becomes the last line that the file answers in full: a
// half-written last line is cut off. Throws kInvalidFile where the file holds something else than
// such records (naming the line), rather than overwrite it.
std::unique_ptr<RecordSink> resumable_sink(const std::string& path, int64_t& after);

}  // namespace longformer::cli
