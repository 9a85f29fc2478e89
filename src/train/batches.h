// Which examples make which step: the order of each epoch, its batches, and the groups of batches
// whose gradients make one optimizer step. Everything is a function of the settings and the
// position, so that a run can be continued anywhere.
#pragma once

#include <cstdint>
#include <vector>

namespace longformer::train {

struct BatchSettings {
  int64_t batch_size = 8;          // examples of a batch
  int64_t tokens_per_batch = 0;    // above 0: as many examples as fit, and at least one
  int64_t accumulation_steps = 1;  // batches of a group
  bool group_by_length = false;
  uint64_t seed = 0;
};

// The group that comes next.
struct Position {
  int64_t epoch = 0;
  int64_t group = 0;  // in the epoch
  bool operator==(const Position&) const = default;
};

using Batch = std::vector<int64_t>;  // numbers of examples

// 0 … count-1 in an order of its own for each (seed, epoch); every order is about as likely as any.
std::vector<int64_t> epoch_permutation(int64_t count, uint64_t seed, int64_t epoch);

class BatchOrder {
 public:
  // `lengths`: tokens of each example. Throws kInvalidArgument where there is none.
  BatchOrder(const BatchSettings& settings, std::vector<int64_t> lengths);

  int64_t examples() const noexcept { return static_cast<int64_t>(lengths_.size()); }
  // Groups of an epoch. With a token budget epochs may differ.
  int64_t groups(int64_t epoch);
  // The batches of the group; the last of an epoch may have fewer.
  std::vector<Batch> group(const Position& position);
  // The position behind: in the same epoch, or at the start of the next.
  Position after(const Position& position);
  // Groups in this many epochs, the last of which may be a part; rounded up.
  int64_t groups_in(double epochs);

 private:
  const std::vector<Batch>& batches(int64_t epoch);
  std::vector<int64_t> order(int64_t epoch) const;
  int64_t examples_per_batch() const;

  BatchSettings settings_;
  std::vector<int64_t> lengths_;
  int64_t cached_epoch_ = -1;
  std::vector<Batch> cached_;
};

}  // namespace longformer::train
