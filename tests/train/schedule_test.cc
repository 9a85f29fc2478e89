// Learning rates against transformers.get_scheduler.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include "io/files.h"
#include "io/json.h"
#include "support/expect_error.h"

namespace longformer::train {
namespace {

TEST(Schedule, IsTransformers) {
  const io::Json cases =
      io::parse_json(io::read_file(LONGFORMER_TEST_DATA "/train/schedules.json", 1 << 20),
                     "schedules.json", io::DuplicateKeys::kRefused);
  ASSERT_EQ(cases.size(), 12u);
  for (const io::Json& item : cases) {
    const Schedule schedule = {schedule_kind(item["kind"]), 5e-5, item["warmup"], item["total"]};
    int64_t step = 0;
    for (const double expected : item["rates"]) {
      EXPECT_NEAR(schedule.at(step), expected, 1e-12 * expected + 1e-22)
          << item["kind"] << " " << item["warmup"] << " " << step;
      ++step;
    }
    EXPECT_EQ(step, 18);
  }
}

TEST(Schedule, WarmupIsStepsOrAShare) {
  EXPECT_EQ(warmup_steps(0, 0.0, 100), 0);
  EXPECT_EQ(warmup_steps(0, 0.06, 101), 7);
  EXPECT_EQ(warmup_steps(9, 0.06, 101), 9);
}

TEST(Schedule, NothingIsDividedByZero) {
  for (const char* name :
       {"linear", "cosine", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"}) {
    for (const int64_t warmup : {0, 5, 9}) {
      const Schedule schedule = {schedule_kind(name), 1e-3, warmup, 5};
      for (int64_t step = 0; step < 12; ++step) {
        EXPECT_GE(schedule.at(step), 0) << name;
        EXPECT_LE(schedule.at(step), 1e-3 * (1 + 1e-12)) << name;
      }
    }
  }
}

TEST(Schedule, NamesAnUnknownOne) {
  test::expect_error(ErrorCode::kInvalidArgument, {"lr_scheduler_type", "\"step\"", "cosine"},
                     [] { schedule_kind("step"); });
}

}  // namespace
}  // namespace longformer::train
