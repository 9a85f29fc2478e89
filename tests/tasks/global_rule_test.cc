#include "tasks/global_rule.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace longformer::tasks {
namespace {

using test::expect_error;

TaskInfo longformer_info() {
  TaskInfo info;
  info.task = Task::kQuestionAnswering;
  info.global_attention = true;
  info.sep_token_id = 2;
  return info;
}

std::string marks(const std::vector<uint8_t>& mask) {
  std::string text;
  for (const uint8_t value : mask) text += value != 0 ? '1' : '0';
  return text;
}

std::string applied(const std::string& rule, const std::vector<int64_t>& ids) {
  const TaskInfo info = longformer_info();
  return marks(GlobalRule::parse(rule, info).apply(info, ids));
}

TEST(GlobalRule, MarksWhatItSays) {
  const std::vector<int64_t> ids = {0, 7, 9, 2, 2, 9, 4, 2};
  EXPECT_EQ(applied("none", ids), "00000000");
  EXPECT_EQ(applied("first", ids), "10000000");
  EXPECT_EQ(applied("question", ids), "11100000");
  EXPECT_EQ(applied("question", {5, 6}), "00");
  EXPECT_EQ(applied("3", ids), "00010000");
  EXPECT_EQ(applied("0,2-4,7", ids), "10111001");
  EXPECT_EQ(applied("6-100,5000", ids), "00000011");  // what lies behind the end is no token
  EXPECT_EQ(applied("token:9", ids), "00100100");
  EXPECT_EQ(applied("token:2+first+6", ids), "10011011");
  EXPECT_EQ(applied("first", {}), "");
}

TEST(GlobalRule, PatternsMarkTheTokensThatOverlapAMatch) {
  const TaskInfo info = longformer_info();
  text::Encoding tokens;  // "Section 1. Überblick" in pieces, and a second text
  tokens.ids = {0, 5, 6, 7, 8, 2, 9, 2};
  tokens.sequence = {-1, 0, 0, 0, 0, -1, 1, -1};
  tokens.offsets = {{0, 0}, {0, 4}, {4, 7}, {8, 9}, {9, 10}, {0, 0}, {0, 7}, {0, 0}};
  const auto mask = [&](const std::string& rule, const char* first, const char* second) {
    const GlobalRule parsed = GlobalRule::parse(rule, info);
    return marks(parsed.apply(info, tokens, parsed.find(first), parsed.find(second)));
  };
  EXPECT_EQ(mask("regex:Section", "Section 1.", "Section"), "01100010");
  EXPECT_EQ(mask("regex:[0-9]+", "Section 1.", "Section"), "00010000");
  EXPECT_EQ(mask("regex:ion 1", "Section 1.", ""), "00110000");
  EXPECT_EQ(mask("regex:x*", "Section 1.", "Section"), "00000000");    // empty matches hold nothing
  EXPECT_EQ(mask("first+regex:1|x+y", "Section 1.", ""), "10010000");  // + belongs to the pattern
  expect_error(ErrorCode::kInvalidArgument, {"regex", "text"},
               [&] { (void)GlobalRule::parse("regex:a", info).apply(info, tokens.ids); });
  EXPECT_EQ(mask("regex:a", "", ""), "00000000");
  // A window that begins in the middle of the text.
  tokens.ids = {0, 7, 8, 2};
  tokens.sequence = {-1, 0, 0, -1};
  tokens.offsets = {{0, 0}, {8, 9}, {9, 10}, {0, 0}};
  EXPECT_EQ(mask("regex:[a-z0-9]", "Section 1.", ""), "0100");
  expect_error(ErrorCode::kInvalidArgument, {"global: regex", "too many steps", "41 bytes"}, [&] {
    (void)GlobalRule::parse("regex:(a+)+$", info).find(std::string(40, 'a') + "!");
  });
}

TEST(GlobalRule, RefusesWhatIsNoRule) {
  const TaskInfo info = longformer_info();
  for (const char* rule :
       {"", "all", "First", "1,", ",1", "1-", "-1", "3-2", "1,,2", "token:", "token:x", "token:-1",
        "regex:", "first+", "+first", "first++2", "99999999999999999999", "1048576", "first,2"}) {
    expect_error(ErrorCode::kInvalidArgument, {"global", "allowed are none, first"},
                 [&] { (void)GlobalRule::parse(rule, info); });
  }
  expect_error(ErrorCode::kInvalidFile, {"global regex"},
               [&] { (void)GlobalRule::parse("regex:(", info); });
  TaskInfo bert = info;
  bert.global_attention = false;
  expect_error(ErrorCode::kUnsupported, {"no global attention"},
               [&] { (void)GlobalRule::parse("first", bert); });
  EXPECT_EQ(marks(GlobalRule::parse("none", bert).apply(bert, std::vector<int64_t>{1, 2})), "00");
}

}  // namespace
}  // namespace longformer::tasks
