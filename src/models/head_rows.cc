#include "models/head_rows.h"

#include <algorithm>

namespace longformer {

std::vector<int64_t> sequence_rows(HeadRows rows, const EncoderInput& input) {
  std::vector<int64_t> result;
  int64_t first = 0;
  for (const int64_t length : input.lengths) {
    int64_t row = first;
    if (rows == HeadRows::kFirstReal && !input.attention_mask.empty()) {
      while (row < first + length && input.attention_mask[static_cast<size_t>(row)] == 0) ++row;
      if (row == first + length) row = first;
    }
    result.push_back(row);
    first += length;
  }
  return result;
}

std::vector<float> mean_rows(const EncoderInput& input, int64_t hidden, const float* x) {
  std::vector<float> means;
  std::vector<double> sum(static_cast<size_t>(hidden));
  size_t row = 0;
  for (const int64_t length : input.lengths) {
    std::fill(sum.begin(), sum.end(), 0.0);
    int64_t count = 0;
    for (int64_t t = 0; t < length; ++t, ++row) {
      if (!input.attention_mask.empty() && input.attention_mask[row] == 0) continue;
      ++count;
      const float* const state = x + row * static_cast<size_t>(hidden);
      for (int64_t c = 0; c < hidden; ++c) sum[static_cast<size_t>(c)] += state[c];
    }
    for (const double value : sum) {
      means.push_back(count == 0 ? 0.0f : static_cast<float>(value / static_cast<double>(count)));
    }
  }
  return means;
}

void set_default_global(const TaskInfo& info, EncoderInput& input) {
  std::vector<uint8_t>& global = input.global_attention_mask;
  if (!global.empty() || !info.global_attention) return;
  const size_t rows = input.input_ids.size();
  size_t first = 0;
  for (const int64_t length : input.lengths) {
    if (length < 0 || static_cast<size_t>(length) > rows - first) break;  // refused by whoever runs
    const auto mask = default_global(
        info, std::span(input.input_ids).subspan(first, static_cast<size_t>(length)));
    global.insert(global.end(), mask.begin(), mask.end());
    first += static_cast<size_t>(length);
  }
  if (std::none_of(global.begin(), global.end(), [](uint8_t value) { return value != 0; })) {
    global.clear();
  }
}

void mean_rows_backward(const EncoderInput& input, int64_t hidden, const float* d_means,
                        float* d_x) {
  const auto real = [&](size_t row) {
    return input.attention_mask.empty() || input.attention_mask[row] != 0;
  };
  size_t first = 0;
  for (const int64_t length : input.lengths) {
    const size_t end = first + static_cast<size_t>(length);
    int64_t count = 0;
    for (size_t row = first; row < end; ++row) count += real(row) ? 1 : 0;
    for (size_t row = first; row < end; ++row) {
      float* const to = d_x + row * static_cast<size_t>(hidden);
      for (int64_t c = 0; c < hidden; ++c) {
        to[c] = real(row) ? d_means[c] / static_cast<float>(count) : 0.0f;
      }
    }
    d_means += hidden;
    first = end;
  }
}

}  // namespace longformer
