#include "tasks/vector_head.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/checkpoint/safetensors.h"
#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

using test::expect_error;
using test::put;
using Floats = std::vector<float>;

class VectorHeadTest : public testing::Test {
 protected:
  std::filesystem::path folder(const std::string& name) const { return directory_.path() / name; }
  HeadModule dense(const std::string& name, const std::string& config,
                   const std::vector<io::NamedTensor>& tensors) {
    put(folder(name) / "config.json", config);
    io::write_safetensors(folder(name) / "model.safetensors", tensors);
    return {HeadModule::Kind::kDense, folder(name)};
  }
  static io::NamedTensor tensor(const std::string& name, Shape shape, const Floats& values) {
    return {name, make_tensor(std::move(shape), std::span<const float>(values))};
  }
  static Floats apply(const VectorHead& head, const Floats& x) {
    Floats out(static_cast<size_t>(head.output_size()));
    head.apply(x, out);
    return out;
  }
  test::TemporaryDirectory directory_;
};

TEST_F(VectorHeadTest, WithoutModulesTheVectorStays) {
  const VectorHead head = VectorHead::load({}, 2);
  EXPECT_EQ(head.output_size(), 2);
  EXPECT_FALSE(head.normalizes());
  EXPECT_EQ(apply(head, {3, 4}), (Floats{3, 4}));
}

TEST_F(VectorHeadTest, ByHand) {
  const auto linear = [&](const std::string& name, const std::string& activation) {
    return dense(name,
                 R"({"in_features": 2, "out_features": 3, "bias": true, "activation_function": ")" +
                     activation + R"("})",
                 {tensor("linear.weight", {3, 2}, {1, 2, 3, 4, 0, -1}),
                  tensor("linear.bias", {3}, {0.5f, -20, 0})});
  };
  EXPECT_EQ(apply(VectorHead::load({linear("a", "torch.nn.modules.linear.Identity")}, 2), {1, 2}),
            (Floats{5.5f, -9, -2}));
  EXPECT_EQ(apply(VectorHead::load({linear("b", "torch.nn.modules.activation.ReLU")}, 2), {1, 2}),
            (Floats{5.5f, 0, 0}));
  const Floats sigmoid =
      apply(VectorHead::load({linear("c", "torch.nn.modules.activation.Sigmoid")}, 2), {1, 2});
  EXPECT_NEAR(sigmoid[2], 1 / (1 + std::exp(2.0)), 1e-6);
  const VectorHead both = VectorHead::load({linear("d", "torch.nn.modules.linear.Identity"),
                                            {HeadModule::Kind::kNormalize, folder("none")}},
                                           2);
  EXPECT_TRUE(both.normalizes());
  EXPECT_NEAR(apply(both, {1, 2})[1], -9 / std::sqrt(5.5 * 5.5 + 81 + 4), 1e-6);
}

TEST_F(VectorHeadTest, ResidualsAndLayerNorms) {
  const HeadModule same = dense(
      "same",
      R"({"in_features": 2, "out_features": 2, "bias": false, "use_residual": true, "activation_function": "torch.nn.modules.linear.Identity"})",
      {tensor("linear.weight", {2, 2}, {0, 1, 1, 0})});
  EXPECT_EQ(apply(VectorHead::load({same}, 2), {1, 2}), (Floats{3, 3}));
  put(folder("norm") / "config.json", R"({"dimension": 2})");
  io::write_safetensors(folder("norm") / "model.safetensors",
                        std::vector<io::NamedTensor>{tensor("norm.weight", {2}, {2, 2}),
                                                     tensor("norm.bias", {2}, {1, 1})});
  const Floats normed =
      apply(VectorHead::load({{HeadModule::Kind::kLayerNorm, folder("norm")}}, 2), {0, 4});
  EXPECT_NEAR(normed[0], -1, 1e-4);
  EXPECT_NEAR(normed[1], 3, 1e-4);
}

TEST_F(VectorHeadTest, BrokenModulesAreRefused) {
  const std::string config = R"({"in_features": 2, "out_features": 2})";
  const auto weight = tensor("linear.weight", {2, 2}, {0, 1, 1, 0});
  const HeadModule no_bias = dense("a", config, {weight});
  expect_error(ErrorCode::kInvalidFile, {"linear.bias"}, [&] { VectorHead::load({no_bias}, 2); });
  expect_error(ErrorCode::kInvalidFile, {"in_features", "3"},
               [&] { VectorHead::load({no_bias}, 3); });
  const HeadModule wrong_shape = dense(
      "b", config, {tensor("linear.weight", {1, 2}, {0, 1}), tensor("linear.bias", {2}, {0, 0})});
  expect_error(ErrorCode::kInvalidFile, {"[1, 2]"}, [&] { VectorHead::load({wrong_shape}, 2); });
  const HeadModule odd =
      dense("c", R"({"in_features": 2, "out_features": 2, "activation_function": "os.system"})",
            {weight});
  expect_error(ErrorCode::kUnsupported, {"Tanh"}, [&] { VectorHead::load({odd}, 2); });
  expect_error(ErrorCode::kNotFound, {}, [&] {
    VectorHead::load({{HeadModule::Kind::kLayerNorm, folder("nowhere")}}, 2);
  });
}

}  // namespace
}  // namespace longformer::tasks
