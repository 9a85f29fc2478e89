// Ten steps of each optimizer against PyTorch and Transformers; bits over threads; state.
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/random.h"
#include "support/expect_error.h"

namespace longformer::train {
namespace {

constexpr const char* kNames[] = {"matrix", "stack", "vector"};
constexpr int64_t kSteps = 10;

const io::SafetensorsFile& golden() {
  static const io::SafetensorsFile file =
      io::read_safetensors(LONGFORMER_TEST_DATA "/train/optimizers.safetensors");
  return file;
}

std::vector<float> golden_values(const std::string& name) {
  for (const io::NamedTensor& item : golden().tensors) {
    if (item.name == name) return to_f32(item.tensor);
  }
  throw std::runtime_error("no golden " + name);
}

ParameterSet golden_start() {
  ParameterSet parameters({{"matrix", {5, 7}}, {"stack", {2, 3, 4}}, {"vector", {6}, false}});
  for (const char* name : kNames) {
    const std::vector<float> values = golden_values(std::string("start/") + name);
    std::copy(values.begin(), values.end(), parameters.at(name).value);
    parameters.train(name);
  }
  return parameters;
}

void set_gradients(ParameterSet& parameters, int64_t step, float factor = 1) {
  for (const char* name : kNames) {
    const std::vector<float> all = golden_values(std::string("gradients/") + name);
    Parameter& parameter = parameters.at(name);
    for (int64_t i = 0; i < parameter.elements; ++i) {
      parameter.gradient[i] = all[static_cast<size_t>(step * parameter.elements + i)] * factor;
    }
  }
}

StepRates rates_of(int64_t step) { return {0.02 / (1.0 + static_cast<double>(step)), 1}; }

OptimizerSettings golden_settings(OptimizerKind kind) {
  return {.kind = kind,
          .weight_decay = 0.1,
          .beta1 = 0.8,
          .beta2 = 0.95,
          .epsilon = 1e-6,
          .momentum = 0.9};
}

void expect_golden(OptimizerKind kind, const std::string& prefix) {
  ParameterSet parameters = golden_start();
  const auto optimizer = make_optimizer(golden_settings(kind), parameters);
  ThreadPool pool(2);
  for (int64_t step = 0; step < kSteps; ++step) {
    set_gradients(parameters, step);
    optimizer->step(parameters, rates_of(step), pool);
    for (const char* name : kNames) {
      const std::vector<float> all = golden_values(prefix + "/" + name);
      const Parameter& parameter = parameters.at(name);
      for (int64_t i = 0; i < parameter.elements; ++i) {
        const float expected = all[static_cast<size_t>(step * parameter.elements + i)];
        ASSERT_NEAR(parameter.value[i], expected, 1e-6 * std::max(std::abs(expected), 0.05f))
            << prefix << " " << name << " " << i << " step " << step;
      }
    }
  }
  EXPECT_EQ(optimizer->steps(), kSteps);
}

TEST(Optimizer, AdamWIsPyTorchs) { expect_golden(OptimizerKind::kAdamW, "adamw"); }
TEST(Optimizer, AdafactorIsTransformers) { expect_golden(OptimizerKind::kAdafactor, "adafactor"); }
TEST(Optimizer, SgdIsPyTorchs) { expect_golden(OptimizerKind::kSgd, "sgd"); }

// Several pieces and blocks.
ParameterSet large_set() {
  ParameterSet parameters({{"a", {700, 301}}, {"b", {100'003}, false}, {"frozen", {5}}});
  for (Parameter& parameter : parameters.all()) {
    for (int64_t i = 0; i < parameter.elements; ++i) {
      parameter.value[i] = static_cast<float>(random_normal(1, static_cast<uint64_t>(i)));
    }
  }
  parameters.train("a");
  parameters.train("b");
  return parameters;
}

void set_random_gradients(ParameterSet& parameters, uint64_t seed) {
  for (Parameter& parameter : parameters.all()) {
    for (int64_t i = 0; !parameter.frozen() && i < parameter.elements; ++i) {
      parameter.gradient[i] = static_cast<float>(random_normal(seed, static_cast<uint64_t>(i)));
    }
  }
}

bool same_bits(const ParameterSet& a, const ParameterSet& b) {
  for (size_t p = 0; p < a.all().size(); ++p) {
    const Parameter& parameter = a.all()[p];
    if (std::memcmp(parameter.value, b.all()[p].value,
                    sizeof(float) * static_cast<size_t>(parameter.elements)) != 0) {
      return false;
    }
  }
  return true;
}

class EachOptimizer : public testing::TestWithParam<OptimizerKind> {};

TEST_P(EachOptimizer, BitsDoNotDependOnThreads) {
  ParameterSet expected = large_set();
  for (const int threads : {1, 2, 3}) {
    ParameterSet parameters = large_set();
    const auto optimizer = make_optimizer(golden_settings(GetParam()), parameters);
    ThreadPool pool(threads);
    for (uint64_t step = 0; step < 3; ++step) {
      set_random_gradients(parameters, 10 + step);
      optimizer->step(parameters, {0.01, 0.5}, pool);
    }
    if (threads == 1) {
      EXPECT_FALSE(same_bits(parameters, expected));
      expected = std::move(parameters);
    } else {
      EXPECT_TRUE(same_bits(parameters, expected)) << threads;
    }
  }
}

// Half of the gradients with twice the scale is the same step; the frozen parameter stays.
TEST_P(EachOptimizer, TheScaleCountsAsGradientsDo) {
  ThreadPool pool(2);
  ParameterSet a = golden_start(), b = golden_start();
  a.freeze("stack");
  b.freeze("stack");
  const std::vector<float> stack = golden_values("start/stack");
  const auto first = make_optimizer(golden_settings(GetParam()), a);
  const auto second = make_optimizer(golden_settings(GetParam()), b);
  for (const char* name : {"matrix", "vector"}) {
    for (int64_t i = 0; i < a.at(name).elements; ++i) {
      a.at(name).gradient[i] = static_cast<float>(random_normal(3, static_cast<uint64_t>(i)));
      b.at(name).gradient[i] = a.at(name).gradient[i] * 0.5f;
    }
  }
  first->step(a, {0.01, 1}, pool);
  second->step(b, {0.01, 2}, pool);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_EQ(std::memcmp(stack.data(), a.at("stack").value, 4 * stack.size()), 0);
}

// A copy of the state continues to the same bits; without it, it does not.
TEST_P(EachOptimizer, StateRestores) {
  ThreadPool pool(1);
  ParameterSet a = golden_start(), b = golden_start();
  const auto first = make_optimizer(golden_settings(GetParam()), a);
  const auto second = make_optimizer(golden_settings(GetParam()), b);
  for (int64_t step = 0; step < 5; ++step) {
    set_gradients(a, step);
    first->step(a, rates_of(step), pool);
  }
  for (const char* name : kNames) {
    std::copy_n(a.at(name).value, a.at(name).elements, b.at(name).value);
  }
  second->restore(first->state(), first->steps(), "here");
  set_gradients(a, 5);
  set_gradients(b, 5);
  first->step(a, rates_of(5), pool);
  second->step(b, rates_of(5), pool);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_GT(first->state_elements(), 0);
}

TEST_P(EachOptimizer, RefusesTheStateOfAnother) {
  ParameterSet a = golden_start(), b = golden_start();
  b.freeze("vector");
  const auto first = make_optimizer(golden_settings(GetParam()), a);
  const auto second = make_optimizer(golden_settings(GetParam()), b);
  test::expect_error(ErrorCode::kInvalidFile, {"here", "tensors of an optimizer"},
                     [&] { second->restore(first->state(), 1, "here"); });
  std::vector<io::NamedTensor> state = first->state();
  state[0].name = "other";
  test::expect_error(ErrorCode::kInvalidFile, {"here", "\"other\""},
                     [&] { first->restore(state, 1, "here"); });
}

INSTANTIATE_TEST_SUITE_P(All, EachOptimizer,
                         testing::Values(OptimizerKind::kAdamW, OptimizerKind::kAdafactor,
                                         OptimizerKind::kSgd));

TEST(Optimizer, AParameterThatWasFrozenCannotJoin) {
  ParameterSet parameters({{"a", {4, 4}}});
  ThreadPool pool(1);
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kAdafactor}) {
    parameters.freeze("a");
    const auto optimizer = make_optimizer({.kind = kind}, parameters);
    optimizer->step(parameters, {0.1, 1}, pool);
    parameters.train("a");
    test::expect_error(ErrorCode::kInternal, {"\"a\""}, [&] {
      optimizer->step(parameters, {0.1, 1}, pool);
    });
  }
}

}  // namespace
}  // namespace longformer::train
