// The directory of one training: its checkpoints step-N/, LATEST, LOCK, logs and the final model.
// One process at a time; whatever moment it ends at, the newest complete checkpoint can be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/posix.h"
#include "train/checkpoint.h"
#include "train/system_calls.h"

namespace longformer::train {

enum class RunStart {
  kNew,       // refused where there is a training already
  kContinue,  // from the newest valid checkpoint; from the start where there is none
};

struct KeepRule {
  int64_t limit = 0;            // of checkpoints; 0: all
  std::optional<int64_t> best;  // step of one that stays whatever its age
};

// Throws kInvalidArgument where a training has begun in `directory`: before the work that a new one
// there would be.
void refuse_a_training(const std::filesystem::path& directory);

class RunDirectory {
 public:
  // Makes the directory, takes its lock and removes what an ended process left half done. Throws
  // kInvalidArgument for a directory that another process trains in, or that has a training where
  // there should be none; kIo.
  RunDirectory(std::filesystem::path path, RunStart start, SystemCalls& calls);

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path checkpoint(int64_t step) const;
  std::vector<int64_t> steps() const;  // of checkpoints that look complete, ascending

  // The newest checkpoint whose every byte verifies. `notice` hears of newer ones that do not.
  // Throws kInvalidFile where there are checkpoints and none is valid.
  std::optional<int64_t> newest_valid(const std::function<void(const std::string&)>& notice);

  // Writes step-N/ and LATEST, then removes what the rule does not keep. When it throws (kIo), the
  // checkpoints from before are still there. Returns what could not be removed, as a sentence.
  std::string save(const CheckpointContent& content, const KeepRule& keep);

  // Writes model/ anew; `fill` gets an empty directory.
  void write_model(const std::function<void(const std::filesystem::path&)>& fill);

 private:
  void lock();
  void remove_leftovers();
  void check_space(const CheckpointContent& content);
  void put_in_place(const std::filesystem::path& temporary, int64_t step);
  std::string prune(int64_t newest, const KeepRule& keep);
  std::filesystem::path aside(const std::filesystem::path& path) const;

  std::filesystem::path path_;
  SystemCalls& calls_;
  io::FileDescriptor lock_;
  std::set<int64_t> damaged_;
};

}  // namespace longformer::train
