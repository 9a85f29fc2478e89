#include "cli/train_cost.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "ops/product_rate.h"

namespace longformer::cli {

TrainingMemory training_memory(train::ModelTask& task, const train::TrainingOptions& options) {
  TrainingMemory memory;
  const auto trained = static_cast<uint64_t>(task.parameters().trained_elements());
  const uint64_t moments = options.optim == "adamw_torch" ? 8 : options.optim == "sgd" ? 4 : 0;
  memory.parameters =
      static_cast<uint64_t>(task.parameters().elements()) * 4 + trained * (4 + moments);
  // The longest examples, as many as a batch may hold.
  std::vector<std::pair<int64_t, int64_t>> longest;
  for (int64_t i = 0; i < task.examples(); ++i) longest.emplace_back(-task.tokens(i), i);
  const auto most =
      std::min<size_t>(longest.size(), static_cast<size_t>(options.per_device_train_batch_size));
  std::partial_sort(longest.begin(), longest.begin() + static_cast<ptrdiff_t>(most), longest.end());
  TrainingBatch batch;
  for (size_t i = 0; i < most; ++i) {
    const int64_t tokens = -longest[i].first;
    if (options.tokens_per_batch > 0 && i > 0 &&
        memory.batch_tokens + tokens > options.tokens_per_batch) {
      break;
    }
    append(task.train_data().example(longest[i].second, 0, 0), batch);
    memory.batch_tokens += tokens;
  }
  memory.batch = task.model().bytes_for(batch);
  return memory;
}

TrainingSpeed::TrainingSpeed(train::ModelTask& task, const train::TrainingOptions& options) {
  constexpr int64_t kSample = 32;  // examples, evenly over the data
  constexpr int kRounds = 5;
  const int64_t examples = task.examples();
  TrainingBatch batch;
  for (int64_t i = 0; i < std::min(examples, kSample); ++i) {
    append(task.train_data().example(i * examples / std::min(examples, kSample), 0, 0), batch);
  }
  const auto tokens = static_cast<double>(batch.input.input_ids.size());
  if (tokens > 0) flop_per_token_ = task.model().flop(batch) / tokens;
  ThreadPool& pool = *task.model().pool();
  const bool rounded = options.bf16 && kernels::supports(DType::kBF16);
  const double f32 = product_rate(DType::kF32, pool, kRounds);
  const double rate = rounded ? product_rate(DType::kBF16, pool, kRounds) : f32;
  peak_ = rate * 1e9 * pool.threads();
  gain_over_f32_ = f32 > 0 ? rate / f32 : 1;
}

double TrainingSpeed::share_of_peak(double tokens_per_second) const {
  return peak_ > 0 ? tokens_per_second * flop_per_token_ / peak_ : 0;
}

}  // namespace longformer::cli
