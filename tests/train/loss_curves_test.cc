#include "train/loss_curves.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/expect_error.h"
#include "support/random_model.h"

namespace longformer::train {
namespace {

class Curves : public testing::Test {
 protected:
  std::filesystem::path put(const std::string& text) {
    std::filesystem::create_directories(directory_.path() / "my run");
    std::ofstream(directory_.path() / "my run" / "metrics.jsonl") << text;
    return directory_.path() / "my run";
  }
  test::TemporaryDirectory directory_;
};

TEST_F(Curves, AreReadFromTheLog) {
  const auto run =
      put("{\"step\":5,\"epoch\":0.5,\"loss\":2.5,\"learning_rate\":1e-05}\n"
          "{\"step\":5,\"eval_loss\":2.25,\"eval_f1\":0.5}\n"
          "{\"step\":10,\"loss\":null,\"learning_rate\":2e-05}\n"
          "{\"step\":15,\"lo");
  for (const auto& path : {run, run / "", run / "metrics.jsonl"}) {
    const LossCurves curves = read_loss_curves(path);
    EXPECT_EQ(curves.name, "my run");
    ASSERT_EQ(curves.train_loss.size(), 1u);
    EXPECT_EQ(curves.train_loss[0].step, 5);
    EXPECT_EQ(curves.train_loss[0].value, 2.5);
    ASSERT_EQ(curves.eval_loss.size(), 1u);
    EXPECT_EQ(curves.eval_loss[0].value, 2.25);
    ASSERT_EQ(curves.learning_rate.size(), 2u);
    EXPECT_EQ(curves.learning_rate[1].value, 2e-5);
  }
}

TEST_F(Curves, RefusalsNameTheLine) {
  test::expect_error(ErrorCode::kNotFound, {"nowhere"},
                     [&] { read_loss_curves(directory_.path() / "nowhere"); });
  for (const char* bad : {"{\"step\":1}\n{\"step\":\n", "{\"step\":1}\n[1]\n",
                          "{\"step\":1}\n{\"loss\":1}\n", "{\"step\":1}\n{\"step\":\"1\"}\n"}) {
    const auto run = put(bad);
    test::expect_error(ErrorCode::kInvalidFile, {"metrics.jsonl: line 2"},
                       [&] { read_loss_curves(run); });
  }
}

}  // namespace
}  // namespace longformer::train
