#include "cli/line_files.h"

#include <charconv>
#include <utility>

#include "base/limits.h"
#include "cli/command.h"
#include "cli/records.h"
#include "io/appended_file.h"
#include "io/documents/text_lines.h"
#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

constexpr int64_t kNamedLines = 10;  // of those that are skipped
constexpr size_t kNamedFields = 8;   // of a record that lacks one
constexpr std::string_view kRecordStart = "{\"line\":";
constexpr std::string_view kSecondKey = ",\"file\":";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

struct LineReader::Impl {
  std::string shown;  // name of the file in notices
  io::TextLines lines;
  ResumePoint from;
  LineSummary summary;
  io::TextLine line;
  int64_t blank_before = 0;

  Impl(const std::string& path, const ResumePoint& point)
      : shown(path == "-" ? "standard input" : printable(path, Lines::kJoin)),
        lines(path, kMaxLineBytes),
        from(point) {
    summary.resumed = from.answered;
  }

  // Passes over what the output holds already.
  void pass_over() {
    int64_t filled = 0;
    while (line.number < from.after) {
      if (!lines.next(line)) {
        throw Error(ErrorCode::kInvalidFile,
                    "has " + std::to_string(line.number) + " lines, and the output answers line " +
                        std::to_string(from.after) +
                        ": that is the output of another input; name another --output",
                    shown);
      }
      if (line.too_long || !is_blank(line.text)) ++filled;
    }
    if (filled < from.answered) {
      throw Error(ErrorCode::kInvalidFile,
                  "has fewer records in its first " + std::to_string(from.after) +
                      " lines than the output answers: that is the output of another input; name "
                      "another --output",
                  shown);
    }
    summary.skipped_before = filled - from.answered;
    from.after = 0;
  }

  Json parse() const {
    if (line.too_long) {
      throw Error(ErrorCode::kInvalidFile,
                  "is longer than the " + std::to_string(kMaxLineBytes) + " bytes of a line");
    }
    Json record = io::parse_json(line.text, "", io::DuplicateKeys::kLastWins);
    if (!record.is_object()) {
      throw Error(ErrorCode::kInvalidFile,
                  "is no JSON object, such as {\"text\": \"...\"}, but " +
                      std::string(record.is_array() ? "a list" : record.type_name()));
    }
    return record;
  }
};

LineReader::LineReader(const std::string& path, const ResumePoint& from)
    : impl_(std::make_unique<Impl>(path, from)) {}

LineReader::~LineReader() = default;

std::optional<InputLine> LineReader::next() {
  Impl& impl = *impl_;
  if (impl.from.after > 0) impl.pass_over();
  while (impl.lines.next(impl.line)) {
    if (!impl.line.too_long && is_blank(impl.line.text)) continue;
    try {
      InputLine result{impl.line.number, impl.parse()};
      ++impl.summary.read;
      return result;
    } catch (const Error& error) {
      skip(impl.line.number, error.what());
    }
  }
  return std::nullopt;
}

void LineReader::skip(int64_t line, const std::string& reason) {
  LineSummary& summary = impl_->summary;
  ++summary.skipped;
  if (summary.skipped > kNamedLines) return;
  // A reason without a place of its own begins with ": ".
  const std::string_view shown = std::string_view(reason).starts_with(": ")
                                     ? std::string_view(reason).substr(2)
                                     : std::string_view(reason);
  notice(impl_->shown + " line " + std::to_string(line) + ": " + printable(shown, Lines::kJoin) +
         "; skipped");
  if (summary.skipped == kNamedLines) notice("more lines that are skipped are only counted");
}

const LineSummary& LineReader::summary() const noexcept { return impl_->summary; }

double LineReader::share() const noexcept { return impl_->lines.share(); }

std::string text_field(const Json& record, const std::string& field) {
  const auto found = record.find(field);
  if (found == record.end()) {
    std::string names;
    size_t count = 0;
    for (const auto& [name, value] : record.items()) {
      if (++count > kNamedFields) break;
      names += (names.empty() ? "" : ", ") + io::short_value(Json(name));
    }
    if (count > kNamedFields) names += ", ...";
    throw Error(ErrorCode::kInvalidArgument,
                "has no field " + io::short_value(Json(field)) +
                    (names.empty() ? "; it is empty" : "; its fields are " + names));
  }
  if (!found->is_string()) {
    throw Error(ErrorCode::kInvalidArgument,
                "the field " + io::short_value(Json(field)) + " must be a string, not " +
                    (found->is_array()    ? "a list"
                     : found->is_object() ? "an object"
                                          : std::string(found->type_name())));
  }
  return found->get<std::string>();
}

namespace {

class StandardSink : public RecordSink {
 public:
  void add(std::span<const Json> records) override {
    for (const Json& record : records) output_.line(json_text(record));
    output_.flush();
  }
  bool closed() const override { return output_.closed(); }
  void finish() override { output_.flush(); }

 private:
  Output output_;
};

std::string lines_of(std::span<const Json> records) {
  std::string text;
  for (const Json& record : records) text += json_text(record) + "\n";
  return text;
}

class WholeFileSink : public RecordSink {
 public:
  explicit WholeFileSink(const std::string& path) : file_(path) {}
  void add(std::span<const Json> records) override { file_.write(lines_of(records)); }
  void finish() override { file_.commit(); }

 private:
  io::AtomicFile file_;
};

class ResumableSink : public RecordSink {
 public:
  explicit ResumableSink(const std::string& path) : file_(path) {}
  void continue_at(int64_t size) { cut_at_ = size; }
  void add(std::span<const Json> records) override {
    cut();
    file_.append(lines_of(records));
  }
  void finish() override {
    cut();
    file_.sync();
  }

 private:
  // Only when there is something to go on with: until then the file stays as it was found.
  void cut() {
    if (cut_at_) file_.cut(*cut_at_);
    cut_at_.reset();
  }

  io::AppendedFile file_;
  std::optional<int64_t> cut_at_;
};

// Walks through the lines of an output file and finds where its last input line begins.
class OutputScan {
 public:
  OutputScan(const std::string& path, std::string_view command)
      : path_(path), command_(command), table_(*find_records(command)) {}

  void run() {
    // A record may be longer than the line that it answers.
    io::TextLines lines(path_, kMaxDocumentBytes);
    io::TextLine line;
    int64_t begin = 0;
    for (; lines.next(line); begin = line.end) {
      if (!line.ended) {
        // Cut off where it is the beginning of a record of ours, and nothing else.
        if (!begins_record(line.text)) refuse(line.number);
        break;
      }
      take(line, begin);
    }
  }

  int64_t size() const { return begin_of_last_; }  // without the records of the last line
  ResumePoint resume_point() const { return {before_last_, answered_ > 0 ? answered_ - 1 : 0}; }

 private:
  [[noreturn]] void refuse(int64_t number) const {
    throw Error(ErrorCode::kInvalidFile,
                "line " + std::to_string(number) + " is no record of `" + std::string(command_) +
                    "` that answers a line of --input; name a file that does not exist yet, or "
                    "the output of the same command to continue it",
                path_);
  }

  // {"line":17,"file": and what follows, or as much of it as there is.
  static bool begins_record(std::string_view text) {
    const auto begins = [](std::string_view part, std::string_view whole) {
      const size_t known = std::min(part.size(), whole.size());
      return part.substr(0, known) == whole.substr(0, known);
    };
    if (!begins(text, kRecordStart)) return false;
    text.remove_prefix(std::min(text.size(), kRecordStart.size()));
    text.remove_prefix(std::min(text.size(), text.find_first_not_of("0123456789")));
    return begins(text, kSecondKey);
  }

  void take(const io::TextLine& line, int64_t begin) {
    const std::string_view text = line.text;
    int64_t number = 0;
    const char* const digits = text.data() + kRecordStart.size();
    if (line.too_long || !text.starts_with(kRecordStart) || !text.ends_with('}')) {
      refuse(line.number);
    }
    const auto [end, error] = std::from_chars(digits, text.data() + text.size(), number);
    if (error != std::errc() || (*end != ',' && *end != '}') || number < 1 || number < line_) {
      refuse(line.number);
    }
    check_fields(line.text, line.number);
    if (number == line_) return;
    before_last_ = line_;
    begin_of_last_ = begin;
    line_ = number;
    ++answered_;
  }

  void check_fields(const std::string& text, int64_t number) const {
    Json record;
    try {
      record = io::parse_json(text, "", io::DuplicateKeys::kLastWins);
    } catch (const Error&) {
      refuse(number);
    }
    if (record.size() != table_.fields.size()) refuse(number);
    for (const Field& field : table_.fields) {
      if (!record.contains(std::string(field.key))) refuse(number);
    }
  }

  const std::string& path_;
  std::string_view command_;
  const RecordTable& table_;
  int64_t line_ = 0;           // of the input, that the last record answers
  int64_t before_last_ = 0;    // the one in front of it
  int64_t begin_of_last_ = 0;  // where its records begin
  int64_t answered_ = 0;
};

}  // namespace

std::unique_ptr<RecordSink> standard_sink() { return std::make_unique<StandardSink>(); }

std::unique_ptr<RecordSink> whole_file_sink(const std::string& path) {
  return std::make_unique<WholeFileSink>(path);
}

std::unique_ptr<RecordSink> resumable_sink(const std::string& path, std::string_view command,
                                           ResumePoint& from) {
  auto sink = std::make_unique<ResumableSink>(path);  // locked before it is looked at
  OutputScan scan(path, command);
  scan.run();
  sink->continue_at(scan.size());
  from = scan.resume_point();
  return sink;
}

}  // namespace longformer::cli
