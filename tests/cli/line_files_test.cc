// Lines in and out, without a model: what is skipped, what is continued, what is refused.
#include "cli/line_files.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/limits.h"
#include "io/document_testing.h"
#include "io/files.h"
#include "support/expect_error.h"
#include "support/random_model.h"
#include "tasks/tiny_model.h"

namespace longformer::cli {
namespace {

using test::put;

template <typename Call>
void expect_error(ErrorCode code, const std::string& says, Call call) {
  test::expect_error(code, {says}, call);
}

class LineFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }
  std::string content(const std::string& name) const { return io::read_file(path(name), 1 << 20); }

  // The numbers and records that a file gives, as one text.
  std::string read(const std::string& bytes, LineSummary* summary = nullptr,
                   const ResumePoint& from = {}) {
    put(path("in.jsonl"), bytes);
    LineReader reader(path("in.jsonl"), from);
    std::string all;
    while (const std::optional<InputLine> line = reader.next()) {
      all += std::to_string(line->number) + line->record.dump() + "\n";
    }
    if (summary != nullptr) *summary = reader.summary();
    return all;
  }

  // As classify writes them.
  static Json record(int64_t line, const std::string& label = "A") {
    return {{"line", line},
            {"file", nullptr},
            {"label", label},
            {"score", 0.5},
            {"scores", Json::array({{{"label", label}, {"score", 0.5}}})},
            {"tokens", 3},
            {"windows", 1},
            {"truncated_tokens", 0},
            {"global_tokens", 1}};
  }
  static std::string text(int64_t line, const std::string& label = "A") {
    return json_text(record(line, label)) + "\n";
  }

  ResumePoint resume(const std::string& bytes) {
    put(path("out.jsonl"), bytes);
    ResumePoint from;
    resumable_sink(path("out.jsonl"), "classify", from);
    return from;
  }
  void expect_refused(const std::string& bytes, const std::string& says) {
    put(path("out.jsonl"), bytes);
    ResumePoint from;
    expect_error(ErrorCode::kInvalidFile, says,
                 [&] { resumable_sink(path("out.jsonl"), "classify", from); });
    EXPECT_EQ(content("out.jsonl"), bytes);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(LineFiles, ReadsWhatIsThere) {
  EXPECT_EQ(read("{\"a\":1}\n{\"b\":2}\n"), "1{\"a\":1}\n2{\"b\":2}\n");
  EXPECT_EQ(read("{\"a\":1}\r\n\r\n  \t\n\n{\"b\":2}"), "1{\"a\":1}\n5{\"b\":2}\n");
  EXPECT_EQ(read("\xEF\xBB\xBF{\"a\":1}\n"), "1{\"a\":1}\n");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("\n\n"), "");
  EXPECT_EQ(read("{\"z\":1,\"a\":{\"k\":[1,2]}}"), "1{\"z\":1,\"a\":{\"k\":[1,2]}}\n");
  EXPECT_EQ(read("{\"a\":\"\xC3\xA9\\u00e9\xE2\x80\xA8\"}"),
            "1{\"a\":\"\xC3\xA9\xC3\xA9\xE2\x80\xA8\"}\n");
}

TEST_F(LineFiles, CountsWhatCannotBeUsed) {
  const std::string good = "{\"a\":1}\n";
  std::string deep;
  for (size_t i = 0; i <= kMaxJsonDepth; ++i) deep += "{\"a\":";
  for (const std::string& bad :
       {std::string("{\"a\":1"), std::string("[1]"), std::string("\"text\""), std::string("7"),
        std::string("null"), std::string("{\"a\":\"\xFF\"}"), std::string("{'a':1}"),
        std::string("{\"a\":NaN}"), std::string("{\"a\":1} {\"b\":2}"),
        std::string("{\"a\":\0}", 7), std::string("{\"a\":\"\\ud800\"}"), deep}) {
    LineSummary summary;
    testing::internal::CaptureStderr();
    EXPECT_EQ(read(good + bad + "\n" + good, &summary), "1{\"a\":1}\n3{\"a\":1}\n") << bad;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(summary.read, 2);
    EXPECT_EQ(summary.skipped, 1);
    EXPECT_NE(said.find("in.jsonl line 2: "), std::string::npos) << said;
    EXPECT_TRUE(said.ends_with("; skipped\n")) << said;
  }
}

TEST_F(LineFiles, NamesOnlyTheFirstBadLines) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += "{\n";
  LineSummary summary;
  testing::internal::CaptureStderr();
  EXPECT_EQ(read(bytes, &summary), "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(summary.skipped, 100);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 11) << said;
}

TEST_F(LineFiles, LinesOverTheLimitAreSkipped) {
  LineSummary summary;
  const std::string longest = "{\"a\":\"" + std::string(kMaxLineBytes, 'x') + "\"}";
  EXPECT_EQ(read("{\"a\":1}\n" + longest + "\n{\"b\":2}\n", &summary), "1{\"a\":1}\n3{\"b\":2}\n");
  EXPECT_EQ(summary.skipped, 1);
}

TEST_F(LineFiles, ExpandsGzip) {
  std::string lines;
  for (int i = 1; i <= 30000; ++i) lines += "{\"number\":" + std::to_string(i) + "}\n";
  put(path("in.gz"), io::gzip(lines));
  LineReader reader(path("in.gz"));
  int64_t count = 0;
  while (const std::optional<InputLine> line = reader.next()) {
    ++count;
    ASSERT_EQ(line->number, count);
    ASSERT_EQ(line->record["number"], count);
  }
  EXPECT_EQ(count, 30000);
  EXPECT_EQ(reader.share(), 1.0);
  const std::string whole = content("in.gz");
  put(path("cut.gz"), whole.substr(0, whole.size() / 2));
  expect_error(ErrorCode::kInvalidFile, "cut.gz: truncated gzip data", [&] {
    LineReader cut(path("cut.gz"));
    while (cut.next()) {
    }
  });
}

TEST_F(LineFiles, WhatCannotBeReadIsNamed) {
  expect_error(ErrorCode::kNotFound, "gone.jsonl", [&] { LineReader reader(path("gone.jsonl")); });
  expect_error(ErrorCode::kInvalidFile, "directory",
               [&] { LineReader reader(directory_.path().string()); });
}

TEST_F(LineFiles, Fields) {
  const Json record = Json::parse(R"({"id": 1, "text": "a", "list": [], "object": {}})");
  EXPECT_EQ(text_field(record, "text"), "a");
  const auto says = [&](const std::string& field, const std::string& message) {
    expect_error(ErrorCode::kInvalidArgument, message, [&] { text_field(record, field); });
  };
  says("body", R"(has no field "body"; its fields are "id", "text", "list", "object")");
  says("id", R"(the field "id" must be a string, not number)");
  says("list", "not a list");
  says("object", "not an object");
  expect_error(ErrorCode::kInvalidArgument, "it is empty",
               [&] { text_field(Json::object(), "text"); });
}

TEST_F(LineFiles, AnOutputIsContinued) {
  ResumePoint from;
  {
    const auto sink = resumable_sink(path("out.jsonl"), "classify", from);
    EXPECT_EQ(from.after, 0);
    EXPECT_EQ(from.answered, 0);
    const std::vector<Json> first = {record(1)};
    const std::vector<Json> third = {record(3, "B"), record(3, "C")};
    sink->add(first);
    sink->add(third);
  }  // the process ends here, without finish()
  EXPECT_EQ(content("out.jsonl"), text(1) + text(3, "B") + text(3, "C"));
  const auto sink = resumable_sink(path("out.jsonl"), "classify", from);
  // Line 3 might have had more records: it is answered again.
  EXPECT_EQ(from.after, 1);
  EXPECT_EQ(from.answered, 1);
  EXPECT_EQ(content("out.jsonl"), text(1) + text(3, "B") + text(3, "C"));
  const std::vector<Json> third = {record(3, "D")};
  sink->add(third);
  sink->finish();
  EXPECT_EQ(content("out.jsonl"), text(1) + text(3, "D"));
}

TEST_F(LineFiles, HalfWrittenLinesAreCutOff) {
  const std::string whole = text(1) + text(2) + text(7);
  for (size_t size = 0; size <= whole.size(); ++size) {
    const ResumePoint from = resume(whole.substr(0, size));
    const size_t lines = (size >= text(1).size()) + (size >= text(1).size() + text(2).size()) +
                         (size == whole.size());
    EXPECT_EQ(from.answered, lines > 0 ? static_cast<int64_t>(lines) - 1 : 0) << size;
    EXPECT_EQ(from.after, lines == 3 ? 2 : lines == 2 ? 1 : 0) << size;
    ResumePoint again;
    const auto sink = resumable_sink(path("out.jsonl"), "classify", again);
    sink->finish();
    EXPECT_EQ(content("out.jsonl"), lines == 3   ? text(1) + text(2)
                                    : lines == 2 ? text(1)
                                                 : "")
        << size;
  }
}

TEST_F(LineFiles, ForeignFilesAreLeftAlone) {
  expect_refused("dear diary\n", "line 1 is no record of `classify`");
  expect_refused("dear diary", "line 1 is no record");
  expect_refused("{\"line\":1}\n", "line 1 is no record");
  expect_refused("{\"id\":1}\n", "line 1 is no record");
  expect_refused(text(1) + "\n", "line 2 is no record");
  expect_refused(text(1) + "notes", "line 2 is no record");
  expect_refused(text(2) + text(1), "line 2 is no record");  // out of order
  expect_refused(text(1) + "{\"line\":2,\"label\":\"A\"}\n", "line 2 is no record");
  expect_refused(text(1) + std::string("{\"line\":0}\n"), "line 2 is no record");
  expect_refused(text(1) + std::string("{\"line\":99999999999999999999}\n"), "line 2 is no record");
  expect_refused(text(1) + std::string("{\"line\":-3}\n"), "line 2 is no record");
  expect_refused(text(1) + std::string(8, '\0'), "line 2 is no record");
}

TEST_F(LineFiles, OneWriterAtATime) {
  ResumePoint from;
  const auto sink = resumable_sink(path("out.jsonl"), "classify", from);
  expect_error(ErrorCode::kIo, "another process",
               [&] { resumable_sink(path("out.jsonl"), "classify", from); });
  expect_error(ErrorCode::kIo, "not a regular file",
               [&] { resumable_sink("/dev/null", "classify", from); });
  expect_error(ErrorCode::kIo, "cannot be written",
               [&] { resumable_sink(path("no/such/out.jsonl"), "classify", from); });
}

TEST_F(LineFiles, LinesThatAreAnsweredArePassedOver) {
  const std::string input = "{\"a\":1}\n\nbroken\n{\"a\":4}\n{\"a\":5}\n";
  LineSummary summary;
  EXPECT_EQ(read(input, &summary, {4, 2}), "5{\"a\":5}\n");
  EXPECT_EQ(summary.resumed, 2);
  EXPECT_EQ(summary.skipped_before, 1);
  EXPECT_EQ(summary.skipped, 0);
  expect_error(ErrorCode::kInvalidFile, "another input", [&] { read(input, nullptr, {6, 2}); });
  expect_error(ErrorCode::kInvalidFile, "another input", [&] { read(input, nullptr, {4, 4}); });
}

}  // namespace
}  // namespace longformer::cli
