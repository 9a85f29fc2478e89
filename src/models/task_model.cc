#include "longformer/task_model.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/thread_pool.h"
#include "io/checkpoint/checkpoint.h"
#include "models/check_tensors.h"
#include "models/heads.h"
#include "models/memory_need.h"
#include "models/weight_reader.h"
#include "models/weights.h"
#include "nn/head.h"
#include "nn/pooler.h"

namespace longformer {
namespace {

// Tensors of the head that the checkpoint lacks.
std::vector<std::string> absent_tensors(const HeadConfig& head, const EncoderConfig& encoder,
                                        const WeightReader& reader) {
  std::vector<std::string> absent;
  const auto need = [&](const std::string& name) {
    if (!reader.has(name)) absent.push_back(name);
  };
  if (head.pooled) {
    need(head.dense + ".weight");
    need(head.dense + ".bias");
  }
  for (const io::ExpectedTensor& tensor : expected_head_tensors(head, encoder)) {
    const bool by_tie = head.tied && tensor.name == head.output + ".weight";
    if (!by_tie && tensor.name != head.tied_bias) need(tensor.name);
  }
  return absent;
}

[[noreturn]] void refuse_absent(const std::vector<std::string>& absent, const HeadConfig& head,
                                const std::string& place) {
  std::string names;
  for (const std::string& name : absent) names += (names.empty() ? "" : ", ") + name;
  throw Error(
      ErrorCode::kInvalidFile,
      "the checkpoint has no head for " + std::string(task_name(head.info.task)) + " (" +
          head.info.model_class + "): " + names +
          (absent.size() == 1 ? " is missing" : " are missing") +
          "; take a checkpoint that was trained for it (--allow-new-head fills what is missing "
          "with random numbers)",
      place);
}

// Fills the tensors of a new head: matrices from N(0, range), norms 1, biases 0.
class NewTensors {
 public:
  NewTensors(double range, uint64_t seed) : range_(range), seed_(seed) {}

  std::vector<float> matrix(const std::string& name, int64_t rows, int64_t cols) const {
    uint64_t key = seed_;
    for (const char c : name) key = random_bits(key, static_cast<unsigned char>(c));
    std::vector<float> values(static_cast<size_t>(rows * cols));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(range_ * random_normal(key, i));
    }
    return values;
  }

 private:
  double range_;
  uint64_t seed_;
};

// The head in f32, but for an output over a vocabulary, which is rounded as the encoder is.
class HeadReader {
 public:
  HeadReader(const HeadConfig& head, const EncoderConfig& encoder, const WeightReader& reader,
             const Precision& precision, const TaskOptions& options)
      : head_(head),
        encoder_(encoder),
        reader_(reader),
        precision_(precision),
        fresh_(head.initializer_range, options.seed) {}

  Head read() const {
    Head head;
    if (!head_.dense.empty()) {
      head.transform.dense = linear(head_.dense, head_.dense + ".bias", encoder_.hidden_size, {});
    }
    head.transform.activation = head_.activation;
    if (!head_.norm.empty()) head.transform.norm = norm();
    const bool wide = head_.info.task == Task::kMaskedLm;
    const bool tied = head_.tied;
    const std::string output = tied ? std::string(encoder_.names->word_embeddings) : head_.output;
    head.output = linear(output, head_.output_bias, head_.info.outputs,
                         wide ? precision_.outer : WeightTypes{});
    return head;
  }

 private:
  Linear linear(const std::string& name, const std::string& bias, int64_t outputs,
                const WeightTypes& types) const {
    const int64_t hidden = encoder_.hidden_size;
    const std::string weight = name + ".weight";
    Matrix matrix =
        reader_.has(weight)
            ? reader_.matrix(weight)
            : Matrix(make_tensor({outputs, hidden},
                                 std::span<const float>(fresh_.matrix(weight, outputs, hidden))));
    const std::string stem = bias.substr(0, bias.size() - std::string_view(".bias").size());
    return {pack_rows(matrix, 0, outputs, types), reader_.bias(stem, 0, outputs)};
  }

  LayerNorm norm() const {
    if (reader_.has(head_.norm + ".weight"))
      return reader_.norm(head_.norm, encoder_.layer_norm_eps);
    const auto hidden = static_cast<size_t>(encoder_.hidden_size);
    return {std::vector<float>(hidden, 1.0f), std::vector<float>(hidden), encoder_.layer_norm_eps};
  }

  const HeadConfig& head_;
  const EncoderConfig& encoder_;
  const WeightReader& reader_;
  const Precision& precision_;
  NewTensors fresh_;
};

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
  loaded.new_tensors = absent_tensors(head, encoder, reader);
  if (!loaded.new_tensors.empty() && !options.allow_new_head) {
    refuse_absent(loaded.new_tensors, head, checkpoint.directory().string());
  }
  if (options.load.check_tensors) {
    std::erase_if(resolution.tensors, [&](const io::ResolvedTensor& tensor) {
      return std::none_of(own.begin(), own.end(),
                          [&](const auto& wanted) { return wanted.name == tensor.name; });
    });
    check_tensors(checkpoint, resolution, pool);
  }
  const HeadReader parts(head, encoder, reader, precision, options);
  pool.run(1, [&](int64_t, int) { loaded.weights = parts.read(); });
  return loaded;
}

// The row of each sequence that a head reads.
std::vector<int64_t> read_rows(HeadRows rows, const EncoderInput& input) {
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

// The mean of each sequence's states that are not masked; zeros where all are.
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

// The input with the task's global tokens where the caller gave none, and how many there are.
std::vector<int64_t> set_global(const TaskInfo& info, EncoderInput& input) {
  std::vector<uint8_t>& global = input.global_attention_mask;
  const size_t rows = input.input_ids.size();
  if (global.empty() && info.global_attention) {
    size_t first = 0;
    for (const int64_t length : input.lengths) {
      if (length < 0 || static_cast<size_t>(length) > rows - first) break;  // refused by encode()
      const auto mask = default_global(
          info, std::span(input.input_ids).subspan(first, static_cast<size_t>(length)));
      global.insert(global.end(), mask.begin(), mask.end());
      first += static_cast<size_t>(length);
    }
    if (std::none_of(global.begin(), global.end(), [](uint8_t value) { return value != 0; })) {
      global.clear();
    }
  }
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
  output.global_tokens = set_global(config.info, batch);
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
    rows = read_rows(config.rows, input);
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
