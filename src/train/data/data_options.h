// What every builder of a data set is told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "longformer/task_model.h"
#include "tasks/long_text.h"
#include "text/tokenizer.h"
#include "train/data/split.h"

namespace longformer::train {

// What examples are made for.
struct DataModel {
  const text::Tokenizer& tokenizer;  // must outlive the data
  std::string tokenizer_id;          // tokenizer_id()
  TaskInfo info;                     // labels: as a new head is to have them, or the model's
  int64_t max_tokens = 0;            // of one sequence, special tokens included
  int64_t type_vocab_size = 0;       // as EncoderInfo
};
// SHA-256 over the tokenizer files of a model directory: what tokens were made with.
std::string tokenizer_id(const std::filesystem::path& directory);
// `directory`: where the tokenizer was loaded from.
DataModel data_model(const text::Tokenizer& tokenizer, const TaskInfo& info,
                     const EncoderInfo& encoder, const std::filesystem::path& directory);

enum class BadRecords {
  kRefuse,  // the first one ends the reading, with its line
  kSkip,    // left out, counted and the first few named in Notices
};

struct DataOptions {
  std::vector<std::string> paths;  // as DataFiles::list
  std::filesystem::path cache;     // directory of token stores; made where it is absent
  int64_t max_length = 0;          // tokens of a sequence; 0: DataModel::max_tokens
  // What happens to longer texts; none: what the command for the task does (windows, but for
  // choices and masked language models, see there).
  std::optional<tasks::LongText> long_text;
  std::optional<int64_t> stride;  // tokens that windows share; none: as inference chooses it
  BadRecords bad = BadRecords::kRefuse;
  std::string global;  // as GlobalRule::parse; empty: the task's default
  Split split;
};

}  // namespace longformer::train
