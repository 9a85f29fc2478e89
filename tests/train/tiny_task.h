// A real training task that takes microseconds: a network of two layers on data of its own, with
// noise in place of dropout, and several labels an example.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "io/files.h"
#include "train/training_task.h"

namespace longformer::test {

class TinyTask final : public train::TrainingTask {
 public:
  static constexpr int64_t kInputs = 6, kHidden = 10, kClasses = 3, kExamples = 50;

  // Behaviour that tests change.
  std::string facts = "data tiny\nclasses 3";
  std::function<double(int64_t step)> poison;  // added to the loss and to a gradient of that step
  std::function<std::map<std::string, double>(int64_t call)> metrics;  // instead of evaluate()
  std::string anomaly;                                                 // what find_anomaly() says
  std::vector<int64_t> asked;      // the steps for which it was asked
  int64_t sleep_microseconds = 0;  // of accumulate()
  double noise = 0.05;
  std::vector<std::vector<int64_t>> seen;  // the examples of each accumulate()
  int64_t evaluations = 0;

  TinyTask()
      : parameters_({{"hidden.weight", {kHidden, kInputs}},
                     {"hidden.bias", {kHidden}, false},
                     {"out.weight", {kClasses, kHidden}},
                     {"out.bias", {kClasses}, false},
                     {"frozen.weight", {4}}}) {
    uint64_t index = 0;
    for (Parameter& parameter : parameters_.all()) {
      for (int64_t i = 0; i < parameter.elements; ++i) {
        parameter.value[i] = static_cast<float>(0.5 * random_normal(99, index++));
      }
      if (parameter.spec.name != "frozen.weight") parameters_.train(parameter.spec.name);
    }
  }

  ParameterSet& parameters() override { return parameters_; }
  int64_t examples() const override { return kExamples; }
  int64_t tokens(int64_t example) const override { return 3 + example * 7 % 20; }
  static int64_t labels_of(int64_t example) { return example % 4; }  // some have none

  int64_t labels(std::span<const int64_t> examples, const train::StepKey&) override {
    int64_t sum = 0;
    for (const int64_t example : examples) sum += labels_of(example);
    return sum;
  }

  train::BatchLoss accumulate(std::span<const int64_t> examples, const train::StepKey& key,
                              double scale) override {
    if (sleep_microseconds > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(sleep_microseconds));
    }
    seen.emplace_back(examples.begin(), examples.end());
    train::BatchLoss loss;
    for (const int64_t example : examples) {
      const uint64_t stream =
          random_bits(key.seed, static_cast<uint64_t>(key.step * 1000 + example));
      loss.sum += static_cast<double>(labels_of(example)) * learn(example, stream, scale);
      loss.labels += labels_of(example);
      loss.tokens += tokens(example);
    }
    if (poison) {
      loss.sum += poison(key.step);
      add("out.bias", 1, poison(key.step));
    }
    return loss;
  }

  std::string find_anomaly(std::span<const int64_t>, const train::StepKey& key) override {
    asked.push_back(key.step);
    return anomaly;
  }

  std::map<std::string, double> evaluate() override {
    ++evaluations;
    if (metrics) return metrics(evaluations);
    double loss = 0;
    for (int64_t example = kExamples; example < kExamples + 20; ++example) {
      loss += -std::log(probabilities(example, hidden(example, 0, 0))[truth(example)]);
    }
    return {{"loss", loss / 20}};
  }

  void save_model(const std::filesystem::path& directory) override {
    io::write_file_atomic(directory / "model.txt",
                          std::to_string(parameters_.at("out.bias").value[0]));
  }
  std::string identity() const override { return facts; }

 private:
  static double input(int64_t example, int64_t i) {
    return random_normal(7, static_cast<uint64_t>(example * kInputs + i));
  }
  static size_t truth(int64_t example) {
    const double a = input(example, 0) + input(example, 1),
                 b = input(example, 2) * input(example, 3);
    return a > 0.3 ? 0 : b > 0 ? 1 : 2;
  }

  std::array<double, kHidden> hidden(int64_t example, uint64_t stream, double deviation) const {
    std::array<double, kHidden> h{};
    for (int64_t j = 0; j < kHidden; ++j) {
      double sum = parameters_.at("hidden.bias").value[j];
      for (int64_t i = 0; i < kInputs; ++i) {
        sum += parameters_.at("hidden.weight").value[j * kInputs + i] * input(example, i);
      }
      h[static_cast<size_t>(j)] =
          std::tanh(sum) + deviation * random_normal(stream, static_cast<uint64_t>(j));
    }
    return h;
  }

  std::array<double, kClasses> probabilities(int64_t, const std::array<double, kHidden>& h) const {
    std::array<double, kClasses> p{};
    double total = 0;
    for (int64_t c = 0; c < kClasses; ++c) {
      double logit = parameters_.at("out.bias").value[c];
      for (int64_t j = 0; j < kHidden; ++j) {
        logit += parameters_.at("out.weight").value[c * kHidden + j] * h[static_cast<size_t>(j)];
      }
      total += p[static_cast<size_t>(c)] = std::exp(logit);
    }
    for (double& value : p) value /= total;
    return p;
  }

  void add(const char* name, int64_t i, double value) {
    Parameter& parameter = parameters_.at(name);
    if (!parameter.frozen()) parameter.gradient[i] += static_cast<float>(value);
  }

  // The loss of one label; adds the gradient of all labels of the example.
  double learn(int64_t example, uint64_t stream, double scale) {
    const auto h = hidden(example, stream, noise);
    const auto p = probabilities(example, h);
    const double weight = scale * static_cast<double>(labels_of(example));
    std::array<double, kHidden> back{};
    for (int64_t c = 0; c < kClasses; ++c) {
      const double error =
          weight * (p[static_cast<size_t>(c)] - (static_cast<size_t>(c) == truth(example) ? 1 : 0));
      add("out.bias", c, error);
      for (int64_t j = 0; j < kHidden; ++j) {
        add("out.weight", c * kHidden + j, error * h[static_cast<size_t>(j)]);
        back[static_cast<size_t>(j)] += error * parameters_.at("out.weight").value[c * kHidden + j];
      }
    }
    const auto clean = hidden(example, stream, 0);
    for (int64_t j = 0; j < kHidden; ++j) {
      const double t = clean[static_cast<size_t>(j)];
      const double error = back[static_cast<size_t>(j)] * (1 - t * t);
      add("hidden.bias", j, error);
      for (int64_t i = 0; i < kInputs; ++i) {
        add("hidden.weight", j * kInputs + i, error * input(example, i));
      }
    }
    return -std::log(p[truth(example)]);
  }

  ParameterSet parameters_;
};

// All weights as bytes.
inline std::string weight_bytes(const ParameterSet& parameters) {
  std::string bytes;
  for (const Parameter& parameter : parameters.all()) {
    bytes.append(reinterpret_cast<const char*>(parameter.value),
                 sizeof(float) * static_cast<size_t>(parameter.elements));
  }
  return bytes;
}

}  // namespace longformer::test
