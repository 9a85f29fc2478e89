// Groups are never parted; sides do not depend on order or on what else is there.
#include "train/data/split.h"

#include <map>

#include "support/expect_error.h"

namespace longformer::train {
namespace {

io::Rows rows_of(const std::string& text) { return io::parse_json_lines(text, "a.jsonl"); }

TEST(Split, AGroupIsOnOneSide) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    // The same patient as a number and as a string.
    const std::string patient = std::to_string(i * i % 211);
    text += "{\"patient\": " + (i % 2 == 0 ? patient : "\"" + patient + "\"") + "}\n";
  }
  const io::Rows rows = rows_of(text);
  const std::vector<uint8_t> sides = split_by_group(rows.rows, "patient", 0.2, 9);
  std::map<std::string, uint8_t> groups;
  int64_t evaluation = 0;
  for (size_t i = 0; i < sides.size(); ++i) {
    const auto [group, fresh] = groups.emplace(rows.rows[i].find("patient")->text, sides[i]);
    EXPECT_EQ(group->second, sides[i]);
    evaluation += sides[i];
  }
  EXPECT_GT(evaluation, 100);
  EXPECT_LT(evaluation, 800);
  EXPECT_NE(sides, split_by_group(rows.rows, "patient", 0.2, 10));
  const std::span<const io::Row> half = std::span(rows.rows).subspan(1000);
  const std::vector<uint8_t> later = split_by_group(half, "patient", 0.2, 9);
  EXPECT_TRUE(std::equal(later.begin(), later.end(), sides.begin() + 1000));
}

TEST(Split, WithoutAFieldEachRowIsByItself) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "{\"a\": 1}\n";
  const std::vector<uint8_t> sides = split_by_group(rows_of(text).rows, "", 0.25, 1);
  const auto evaluation = std::count(sides.begin(), sides.end(), uint8_t{1});
  EXPECT_NEAR(static_cast<double>(evaluation), 1000, 140);
}

TEST(Split, SharesAndGroupsThatAreNone) {
  const io::Rows rows = rows_of("{\"a\": 1}\n{\"b\": 1}\n{\"a\": []}\n");
  test::expect_error(ErrorCode::kInvalidArgument, {"line 2", "no field \"a\""},
                     [&] { split_by_group(rows.rows, "a", 0.5, 0); });
  test::expect_error(ErrorCode::kInvalidArgument, {"line 3", "string or a number"},
                     [&] { split_by_group(std::span(rows.rows).subspan(2), "a", 0.5, 0); });
  test::expect_error(ErrorCode::kInvalidArgument, {"0 to 1"},
                     [&] { split_by_group(rows.rows, "", 1.5, 0); });
  Split split{.side = SplitSide::kEvaluation, .group_field = {}, .share = 0};
  EXPECT_FALSE(takes(split, "x"));
  split.side = SplitSide::kTraining;
  EXPECT_TRUE(takes(split, "x"));
}

}  // namespace
}  // namespace longformer::train
