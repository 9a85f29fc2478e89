#include "longformer/task_model.h"

#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "io/checkpoint/checkpoint.h"
#include "models/check_tensors.h"
#include "models/head_rows.h"
#include "models/head_weights.h"
#include "models/heads.h"
#include "models/memory_need.h"
#include "models/weight_reader.h"
#include "models/weights.h"
#include "nn/head.h"
#include "nn/pooler.h"

namespace longformer {
namespace {

struct LoadedHead {
  Head weights;
  std::vector<std::string> new_tensors;
};

LoadedHead load_head(const std::filesystem::path& directory, const HeadConfig& head,
                     const EncoderConfig& encoder, const Precision& precision,
                     const TaskOptions& options, ThreadPool& pool) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(directory);
  std::vector<io::ExpectedTensor> expected = expected_tensors(encoder);
  // The head of another task under the same names would come in another shape.
  const std::vector<io::ExpectedTensor> own = expected_head_tensors(head, encoder);
  expected.insert(expected.end(), own.begin(), own.end());
  io::Resolution resolution = io::resolve_names(checkpoint, expected, encoder.name_prefixes);
  const WeightReader reader(checkpoint, resolution, precision);
  LoadedHead loaded;
  loaded.new_tensors = absent_head_tensors(reader, head, encoder);
  if (!loaded.new_tensors.empty() && !options.allow_new_head) {
    refuse_absent_head(loaded.new_tensors, head, checkpoint.directory().string());
  }
  if (options.load.check_tensors) {
    std::erase_if(resolution.tensors, [&](const io::ResolvedTensor& tensor) {
      return std::none_of(own.begin(), own.end(),
                          [&](const auto& wanted) { return wanted.name == tensor.name; });
    });
    check_tensors(checkpoint, resolution, pool);
  }
  const NewTensors fresh(head.initializer_range, options.seed);
  pool.run(1, [&](int64_t, int) {
    loaded.weights = read_head(reader, head, encoder, precision, &fresh);
  });
  return loaded;
}

}  // namespace

struct TaskModel::Impl {
  HeadConfig config;
  Encoder encoder;
  Head head;
};

TaskModel::TaskModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TaskModel::TaskModel(TaskModel&&) noexcept = default;
TaskModel& TaskModel::operator=(TaskModel&&) noexcept = default;
TaskModel::~TaskModel() = default;

const TaskInfo& TaskModel::info() const { return impl_->config.info; }
Encoder& TaskModel::encoder() { return impl_->encoder; }
const Encoder& TaskModel::encoder() const { return impl_->encoder; }

TaskModel TaskModel::load(const std::filesystem::path& directory, const TaskOptions& options) {
  const io::Config config = io::Config::read(directory / "config.json");
  const EncoderConfig encoder_config = read_encoder_config(config);
  HeadConfig head_config = read_head_config(config, encoder_config, options);
  Encoder encoder = Encoder::load(directory, options.load);
  const Precision precision =
      choose_precision(encoder.info().compute, encoder_config.int8_weights, processor_arithmetic());
  LoadedHead head =
      load_head(directory, head_config, encoder_config, precision, options, *encoder.pool());
  head_config.info.new_tensors = std::move(head.new_tensors);
  return TaskModel(std::unique_ptr<Impl>(
      new Impl{std::move(head_config), std::move(encoder), std::move(head.weights)}));
}

namespace {

// How many tokens of each sequence are global.
std::vector<int64_t> count_global(const EncoderInput& input) {
  const std::vector<uint8_t>& global = input.global_attention_mask;
  const size_t rows = input.input_ids.size();
  std::vector<int64_t> counts(input.lengths.size());
  const bool masks = input.attention_mask.size() == rows;
  if (global.size() != rows) return counts;
  size_t row = 0;
  for (size_t s = 0; s < input.lengths.size(); ++s) {
    for (int64_t t = 0; t < input.lengths[s] && row < rows; ++t, ++row) {
      counts[s] += global[row] != 0 && (!masks || input.attention_mask[row] != 0) ? 1 : 0;
    }
  }
  return counts;
}

std::vector<int64_t> wanted_rows(const std::vector<uint8_t>& wanted, size_t tokens) {
  std::vector<int64_t> rows;
  if (wanted.empty()) return rows;
  for (size_t row = 0; row < wanted.size(); ++row) {
    if (wanted[row] != 0) rows.push_back(static_cast<int64_t>(row));
  }
  if (wanted.size() != tokens || rows.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "wanted marks " + std::to_string(rows.size()) + " of " +
                    std::to_string(wanted.size()) + " tokens; give one value for each of the " +
                    std::to_string(tokens) + " tokens, at least one of them 1, or none");
  }
  return rows;
}

}  // namespace

std::vector<uint8_t> default_global(const TaskInfo& info, std::span<const int64_t> ids) {
  std::vector<uint8_t> global(ids.size());
  if (!info.global_attention || ids.empty()) return global;
  const auto separator =
      info.sep_token_id ? std::find(ids.begin(), ids.end(), *info.sep_token_id) : ids.end();
  const auto found = separator - ids.begin();
  switch (info.task) {
    case Task::kSequenceClassification:
      global[0] = 1;
      break;
    case Task::kQuestionAnswering:
      if (separator != ids.end()) std::fill(global.begin(), global.begin() + found, uint8_t{1});
      break;
    case Task::kMultipleChoice:
      if (separator != ids.end() && found + 2 < static_cast<int64_t>(ids.size())) {
        std::fill(global.begin() + found + 2, global.end(), uint8_t{1});
      }
      break;
    default:
      break;
  }
  return global;
}

TaskOutput TaskModel::run(const EncoderInput& input, const TaskRunOptions& options) {
  const HeadConfig& config = impl_->config;
  const bool by_token = config.rows == HeadRows::kTokens;
  if (!options.wanted.empty() && !by_token) {
    throw Error(ErrorCode::kInvalidArgument, "wanted: " + config.info.model_class +
                                                 " gives one row a sequence, not one a token");
  }
  EncoderInput batch = input;
  TaskOutput output;
  set_default_global(config.info, batch);
  output.global_tokens = count_global(batch);
  EncodeOptions encode;
  encode.hidden_states = options.hidden_states;
  encode.pooler = false;
  encode.progress = options.progress;
  encode.attentions = options.attentions;
  encode.cancelled = options.cancelled;
  const size_t tokens = input.input_ids.size();
  std::vector<int64_t> rows;  // that the head reads; none: all of them
  if (by_token) {
    rows = wanted_rows(options.wanted, tokens);
  } else if (config.rows != HeadRows::kMean) {
    rows = sequence_rows(config.rows, input);
  }
  if (!rows.empty() && !options.hidden_states) {
    encode.wanted.assign(tokens, 0);
    for (const int64_t row : rows) {
      if (static_cast<size_t>(row) < tokens) encode.wanted[static_cast<size_t>(row)] = 1;
    }
  }
  EncoderOutput states = impl_->encoder.encode(batch, encode);
  const int64_t hidden = impl_->encoder.info().hidden_size;
  std::vector<float>& x = states.last_hidden_state;
  if (config.rows == HeadRows::kMean) {
    x = mean_rows(input, hidden, x.data());
  } else if (!rows.empty()) {
    x = gather_rows(x.data(), hidden, rows);
  }
  const auto count = static_cast<int64_t>(x.size()) / hidden;
  check_room(static_cast<uint64_t>(count * config.info.outputs) * sizeof(float), 0,
             "the logits of " + std::to_string(count) + " rows need", "give fewer at once");
  output.logits.resize(static_cast<size_t>(count * config.info.outputs));
  run_head(impl_->head, count, hidden, x.data(), output.logits.data(), *impl_->encoder.pool());
  output.hidden_states = std::move(states.hidden_states);
  return output;
}

}  // namespace longformer
