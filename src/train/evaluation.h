// What a model is worth on the evaluation set, batch by batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/task_loss.h"

namespace longformer::train {

class Evaluation {
 public:
  // Refers to info.
  explicit Evaluation(const TaskInfo& info) : info_(info) {}

  void begin(const TrainingBatch& batch) { batch_ = &batch; }
  // Logits of the batch's rows that the loss reads, [count, outputs].
  void add(const TaskLoss& loss, int64_t first, int64_t count, const float* logits);
  void add_loss(double sum, int64_t labels);
  // By name, as TrainingTask::evaluate() says. Empty where nothing had a label.
  std::map<std::string, double> scores() const;

 private:
  void count(bool right);
  void add_classes(const std::vector<int64_t>& classes, int64_t first, int64_t rows,
                   const float* logits);
  void add_tags(const TaskLoss& loss, int64_t first, int64_t rows, const float* logits);
  void add_choices(const float* logits);
  void add_spans(const float* logits);
  void add_values(int64_t first, int64_t rows, const float* logits);

  const TaskInfo& info_;
  const TrainingBatch* batch_ = nullptr;
  double loss_ = 0;
  int64_t labels_ = 0;
  int64_t right_ = 0;
  int64_t decided_ = 0;
  // Of token classification, a list a sequence.
  std::vector<std::vector<std::string>> gold_, predicted_;
};

}  // namespace longformer::train
