// What a training says on its way.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace longformer::train {

// The steps since the last one of these.
struct LogRecord {
  int64_t step = 0, total_steps = 0;
  double epoch = 0;
  double loss = 0;       // a label, mean of the steps
  double grad_norm = 0;  // of the last step, before clipping
  double learning_rate = 0;
  int64_t tokens = 0;            // read since the start of the training
  double seconds = 0;            // since the start, those before a resume included
  double tokens_per_second = 0;  // of the steps alone, without evaluations and checkpoints
  int64_t skipped = 0;           // steps since the start
};

enum class BestSoFar { kYes, kNo };

struct EvaluationRecord {
  int64_t step = 0;
  double epoch = 0;
  std::map<std::string, double> metrics;
  BestSoFar best = BestSoFar::kNo;
};

}  // namespace longformer::train
