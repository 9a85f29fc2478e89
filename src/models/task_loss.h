// The loss of a task over a batch: which rows its head reads, and what their logits should be.
#pragma once

#include <cstdint>
#include <vector>

#include "models/heads.h"
#include "models/training_batch.h"
#include "nn/head_backward.h"

namespace longformer {

class ThreadPool;

class TaskLoss {
 public:
  // Refers to head and batch. Throws kInvalidArgument naming sequence or token and the allowed
  // range for targets that do not fit the batch or the head.
  TaskLoss(const HeadConfig& head, const TrainingBatch& batch, double label_smoothing);

  // Rows of the batch that the head reads, increasing; empty where all are or where kMean is read.
  const std::vector<int64_t>& rows() const { return rows_; }
  int64_t head_rows() const { return head_rows_; }
  // Of train_head(): losses of one row stand alone, or need all rows at once.
  int64_t chunk_rows() const;
  int64_t labels() const { return labels_; }
  // Of the head's rows, where they are exclusive and stand alone; else empty.
  const std::vector<int64_t>& classes() const { return classes_; }

  // Replaces logits [count, outputs] of the head's rows from `first` on by `scale` times the
  // derivative of the summed loss, which it returns.
  double apply(int64_t first, int64_t count, double scale, float* logits, ThreadPool& pool) const;

 private:
  void read_classes(int64_t outputs, const char* of_what, size_t wanted);
  void read_spans();
  void read_choices();
  double spans(double scale, float* logits) const;
  double choices(double scale, float* logits) const;

  const HeadConfig& head_;
  const TrainingBatch& batch_;
  const double smoothing_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> classes_;  // of the head's rows
  int64_t head_rows_ = 0;
  int64_t labels_ = 0;
};

}  // namespace longformer
