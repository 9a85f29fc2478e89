// A forward pass as training saves it, and the way back from it, for tests.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "attention/align.h"
#include "attention/backward.h"
#include "attention/forward.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "forward_case.h"
#include "patterns.h"

namespace longformer::testing {

// Draws of a batch whose sequences have keys of their own.
struct Draws {
  Draws(size_t sequences, double probability, uint64_t seed = 77) {
    for (size_t s = 0; s < sequences; ++s) keys.push_back(random_bits(seed, s));
    dropout = {kernels::dropout_rule(probability), keys};
  }
  Draws(const Draws&) = delete;
  std::vector<uint64_t> keys;
  AttentionDropout dropout;
};

// Token-major [rows][heads][head_dim], like the inputs.
struct Derivatives {
  std::vector<float> q, k, v;
  bool operator==(const Derivatives&) const = default;
};

template <typename T>
T to_plane(float value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16{f32_to_bf16(value)};
  } else {
    return value;
  }
}

// Planes of one pass, and what the pass leaves. What no token owns is NaN among the queries: nobody
// writes it.
template <typename T>
class BackwardCase {
 public:
  BackwardCase(const AttentionPattern& pattern, const ForwardInputs& inputs,
               const AttentionDropout* dropout)
      : plan_(compile(pattern)),
        heads_(pattern.heads),
        head_dim_(inputs.head_dim),
        dropout_(dropout) {
    for (const HeadGroup& group : plan_.groups) {
      query_rows_ = std::max(query_rows_, group.query_rows);
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    q_.assign(static_cast<size_t>(heads_ * query_rows_ * head_dim_), to_plane<T>(nan));
    k_.resize(static_cast<size_t>(heads_ * plan_.key_rows * head_dim_));
    v_.resize(k_.size());
    lse_.assign(static_cast<size_t>(heads_ * query_rows_), nan);
    out_.resize(inputs.q.size());
    for_each_row([&](int64_t head, int64_t row, int64_t query, int64_t key) {
      copy(inputs.q, head, row, q_.data() + query);
      if (plan_.valid_row[static_cast<size_t>(row)] == 0) return;
      copy(inputs.k, head, row, k_.data() + key);
      copy(inputs.v, head, row, v_.data() + key);
    });
    attend();
  }

  const AttentionPlan& plan() const { return plan_; }
  const std::vector<float>& out() const { return out_; }
  const std::vector<float>& logsumexp() const { return lse_; }

  Derivatives backward(const std::vector<float>& d_out, ThreadPool& pool) const {
    constexpr DType kType = std::is_same_v<T, BFloat16> ? DType::kBF16 : DType::kF32;
    const AttentionSaved saved{kType,       q_.data(),   k_.data(),  v_.data(),
                               query_rows_, lse_.data(), out_.data()};
    // What is never written stays visible.
    std::vector<float> q(q_.size(), 12345.0f), k(k_.size(), 12345.0f), v(k);
    attention_backward(plan_, head_dim_, saved, d_out.data(), dropout_,
                       {q.data(), k.data(), v.data()}, pool);
    Derivatives result;
    for (std::vector<float>* values : {&result.q, &result.k, &result.v}) {
      values->resize(out_.size());
    }
    for_each_row([&](int64_t head, int64_t row, int64_t query, int64_t key) {
      take(q, query, head, row, result.q);
      take(k, key, head, row, result.k);
      take(v, key, head, row, result.v);
    });
    for (const std::vector<float>* values : {&q, &k, &v}) {
      for (const float value : *values) EXPECT_EQ(value, 0.0f) << "in a row that no token owns";
    }
    return result;
  }

 private:
  // body(head, row, first element of its query, first element of its key)
  template <typename Body>
  void for_each_row(const Body& body) const {
    for (int64_t head = 0; head < heads_; ++head) {
      const auto g = static_cast<size_t>(plan_.head_group[static_cast<size_t>(head)]);
      for (int64_t row = 0; row < plan_.rows; ++row) {
        const auto r = static_cast<size_t>(row);
        body(head, row, (head * query_rows_ + plan_.groups[g].query_row[r]) * head_dim_,
             (head * plan_.key_rows + plan_.groups[g].key_row[r]) * head_dim_);
      }
    }
  }

  void copy(const std::vector<float>& from, int64_t head, int64_t row, T* to) const {
    for (int64_t c = 0; c < head_dim_; ++c) {
      to[c] = to_plane<T>(from[static_cast<size_t>((row * heads_ + head) * head_dim_ + c)]);
    }
  }
  // Zeros are left behind.
  void take(std::vector<float>& from, int64_t at, int64_t head, int64_t row,
            std::vector<float>& to) const {
    for (int64_t c = 0; c < head_dim_; ++c) {
      float& value = from[static_cast<size_t>(at + c)];
      to[static_cast<size_t>((row * heads_ + head) * head_dim_ + c)] = value;
      value = 0.0f;
    }
  }

  void attend() {
    AttentionScratch scratch;
    scratch.resize(plan_, head_dim_, std::is_same_v<T, BFloat16> ? DType::kBF16 : DType::kF32);
    std::vector<T> queries(static_cast<size_t>(kQueryRows * head_dim_));
    for (const QueryTile& tile : plan_.tiles) {
      for (int64_t head = 0; head < heads_; ++head) {
        if (plan_.head_group[static_cast<size_t>(head)] != tile.group) continue;
        const int64_t query = head * query_rows_ + tile.query_row;
        // The kernel wants what pads a tile to be finite.
        std::fill(queries.begin(), queries.end(), T{});
        std::copy_n(q_.data() + query * head_dim_, tile.rows * head_dim_, queries.data());
        const int64_t plane = head * plan_.key_rows * head_dim_;
        attention_tile(
            plan_, tile, head_dim_, static_cast<const T*>(queries.data()),
            static_cast<const T*>(k_.data()) + plane, static_cast<const T*>(v_.data()) + plane,
            out_.data() + (tile.first_row * heads_ + head) * head_dim_,
            tile.step * heads_ * head_dim_, lse_.data() + query, scratch, head, dropout_);
      }
    }
  }

  const AttentionPlan plan_;
  const int64_t heads_;
  const int64_t head_dim_;
  const AttentionDropout* dropout_;
  int64_t query_rows_ = 0;
  std::vector<T> q_, k_, v_;
  std::vector<float> lse_, out_;
};

}  // namespace longformer::testing
