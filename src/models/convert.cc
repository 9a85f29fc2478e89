#include "models/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "base/random.h"
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/safetensors.h"
#include "io/config.h"
#include "io/files.h"
#include "models/convert_files.h"
#include "models/family.h"
#include "models/weights.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPositions = "embeddings.position_embeddings.weight";
constexpr uint32_t kCheckSeed = 20200410;
constexpr int64_t kMaxCheckTokens = 512;  // full attention over 8,192 would take minutes

void check_range(int64_t value, int64_t low, int64_t high, const char* what) {
  if (value >= low && value <= high) return;
  throw Error(ErrorCode::kInvalidArgument,
              "must be from " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
                  std::to_string(value),
              what);
}

// Families that cannot be made long this way, by the beginning of their model_type.
struct Refusal {
  std::string_view begins;
  const char* reason;
};

constexpr Refusal kRefusals[] = {
    {"longformer", "it is a longformer model already"},
    {"modernbert",
     "its positions are angles, not rows of a table, and most of its layers have a "
     "window already: load it with --positions extend and --max-tokens"},
    {"deberta",
     "its positions are relative and part of the attention itself (disentangled); there "
     "is no table of rows that could be repeated"},
    {"t5",
     "its positions are relative (a bias for each distance); there is no table of rows that "
     "could be repeated"},
    {"mt5", "its positions are relative, as T5's"},
    {"umt5", "its positions are relative, as T5's"},
    {"longt5", "it is a long model already, with relative positions"},
    {"mpnet", "its positions are relative as well (a bias for each distance)"},
    {"xlnet", "its positions are relative; there is no table of rows that could be repeated"},
    {"big_bird", "it is a long model already"},
    {"led", "it is a long model already"},
};

constexpr const char* kSources = "bert, roberta, xlm-roberta, camembert";

EncoderConfig read_source_config(const io::Config& config) {
  const std::string type = config.string("model_type", "");
  for (const Refusal& refusal : kRefusals) {
    if (!type.starts_with(refusal.begins)) continue;
    throw Error(ErrorCode::kUnsupported,
                "a model of type \"" + type + "\" cannot be made long: " + refusal.reason,
                config.place());
  }
  if (is_original_longformer(config)) {
    throw Error(ErrorCode::kUnsupported,
                "is a longformer model already, in the layout of its first "
                "release",
                config.place());
  }
  if (type != "bert" && type != "roberta" && type != "xlm-roberta" && type != "camembert") {
    throw Error(ErrorCode::kUnsupported,
                "a model of type \"" + type + "\" cannot be made long; supported: " + kSources,
                config.place());
  }
  return read_encoder_config(config);
}

void check_settings(const LongModelSettings& settings, const EncoderConfig& source) {
  check_range(settings.max_tokens, 1, kMaxSequence, "length of the long model");
  check_range(settings.attention_window, 2, kMaxWindow, "attention window");
  if (settings.attention_window % 2 != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "is the width of both sides together and must be even, got " +
                    std::to_string(settings.attention_window),
                "attention window");
  }
  if (settings.position_period) {
    check_range(*settings.position_period, 1, source.trained_tokens(), "position period");
  }
}

// The old row that serves as row `row`: a token reads row p + 1 + k, the rows before are padding's.
int64_t old_row(const EncoderConfig& source, int64_t row, int64_t period) {
  const int64_t first = source.pad_token_id + 1;
  if (row < first) return source.positions == PositionRule::kAfterPadding ? row : 0;
  return source.reserved_rows() + (row - first) % period;
}

Tensor tile_positions(const Tensor& old, const EncoderConfig& source, int64_t tokens,
                      int64_t period) {
  const size_t row = static_cast<size_t>(old.shape[1]) * dtype_size(old.dtype);
  const int64_t rows = tokens + source.pad_token_id + 1;
  std::vector<std::byte> bytes(static_cast<size_t>(rows) * row);
  const std::span<const std::byte> from = old.bytes();
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(bytes.data() + static_cast<size_t>(i) * row,
                from.data() + static_cast<size_t>(old_row(source, i, period)) * row, row);
  }
  return {old.dtype, {rows, old.shape[1]}, own_bytes(std::move(bytes)), 0};
}

Tensor random_positions(const Tensor& tiled, const EncoderConfig& source, uint64_t seed) {
  std::vector<float> values = to_f32(tiled);
  const int64_t columns = tiled.shape[1];
  for (size_t i = static_cast<size_t>((source.pad_token_id + 1) * columns); i < values.size();
       ++i) {
    values[i] = static_cast<float>(0.02 * random_normal(seed, i));
  }
  return make_tensor(tiled.shape, std::span<const float>(values));
}

// The head of a masked language model under the names of BERT and of RoBERTa and its descendants,
// the second being Longformer's too. The output matrix is the word table's.
struct HeadTensor {
  const char* bert;
  const char* longformer;
};
constexpr HeadTensor kHeadTensors[] = {
    {"cls.predictions.transform.dense.weight", "lm_head.dense.weight"},
    {"cls.predictions.transform.dense.bias", "lm_head.dense.bias"},
    {"cls.predictions.transform.LayerNorm.weight", "lm_head.layer_norm.weight"},
    {"cls.predictions.transform.LayerNorm.bias", "lm_head.layer_norm.bias"},
    {"cls.predictions.bias", "lm_head.bias"},
};

// Adds the head; false where the source has none. Throws kUnsupported for one that the long class
// has no place for.
bool add_head(const io::Checkpoint& checkpoint, const io::Config& config,
              const EncoderConfig& source, std::vector<io::NamedTensor>& tensors) {
  const bool bert = source.positions == PositionRule::kSequential;
  std::vector<io::NamedTensor> head;
  for (const HeadTensor& names : kHeadTensors) {
    const std::string name = bert ? names.bert : names.longformer;
    if (!checkpoint.contains(name)) return false;
    head.push_back({names.longformer, checkpoint.tensor(name)});
    check_finite(head.back().tensor, name, checkpoint.directory());
  }
  if (!config.boolean("tie_word_embeddings", true)) {
    throw Error(ErrorCode::kUnsupported,
                "the head has an output matrix of its own (tie_word_embeddings is false); convert "
                "without the head",
                config.place());
  }
  if (bert && source.activation != kernels::Activation::kGelu) {
    throw Error(ErrorCode::kUnsupported,
                "the head's activation is that of the layers (hidden_act), in a Longformer it is "
                "gelu; convert without the head",
                config.place());
  }
  for (io::NamedTensor& tensor : tensors) tensor.name = "longformer." + tensor.name;
  tensors.insert(tensors.end(), head.begin(), head.end());
  return true;
}

bool is_kept_head(const std::string& name) {
  return name.starts_with("cls.predictions.") || name.starts_with("lm_head.");
}

// "….self.query.weight" -> "….self.query_global.weight"; empty for other names.
std::string global_name(const std::string& name) {
  for (const std::string_view projection : {".self.query.", ".self.key.", ".self.value."}) {
    const size_t at = name.find(projection);
    if (at != std::string::npos) {
      std::string copy = name;
      return copy.insert(at + projection.size() - 1, "_global");
    }
  }
  return {};
}

std::vector<io::NamedTensor> long_tensors(const io::Checkpoint& checkpoint,
                                          const io::Resolution& resolution,
                                          const EncoderConfig& source,
                                          const LongModelSettings& settings) {
  std::vector<io::NamedTensor> tensors;
  for (const io::ResolvedTensor& resolved : resolution.tensors) {
    if (resolved.source.empty()) continue;  // no pooler
    Tensor tensor = checkpoint.tensor(resolved.source);
    check_finite(tensor, resolved.source, checkpoint.directory());
    if (resolved.name == kPositions) {
      tensor = tile_positions(tensor, source, settings.max_tokens,
                              settings.position_period.value_or(source.trained_tokens()));
      if (settings.new_positions == NewPositions::kRandom) {
        tensor = random_positions(tensor, source, settings.seed);
      }
    }
    if (const std::string global = global_name(resolved.name); !global.empty()) {
      tensors.push_back({global, tensor});
    }
    tensors.push_back({resolved.name, std::move(tensor)});
  }
  return tensors;
}

io::Config long_config(io::Config config, const EncoderConfig& source,
                       const LongModelSettings& settings) {
  config.set("model_type", "longformer");
  config.set("architectures", std::vector<std::string>{"LongformerModel"});
  config.set("pad_token_id", source.pad_token_id);
  config.set("max_position_embeddings", settings.max_tokens + source.pad_token_id + 1);
  config.set("attention_window",
             std::vector<int64_t>(static_cast<size_t>(source.layers), settings.attention_window));
  // In RoBERTa's files the first and the last token of a text are bos and eos.
  std::optional<int64_t> cls = settings.cls_token_id, sep = settings.sep_token_id;
  if (source.positions == PositionRule::kAfterPadding) {
    if (!cls) cls = config.integer("bos_token_id", 0, 0, kMaxVocabulary);
    if (!sep) sep = config.integer("eos_token_id", 2, 0, kMaxVocabulary);
  }
  if (cls) {
    config.set("cls_token_id", *cls);
    config.set("bos_token_id", *cls);
  }
  if (sep) {
    config.set("sep_token_id", *sep);
    config.set("eos_token_id", *sep);
  }
  return config;
}

// Both models read one random text that the long model's window covers.
void compare(const fs::path& short_model, const fs::path& long_model, const EncoderConfig& source,
             const LongModelSettings& settings, ConvertReport& report) {
  const int64_t tokens = std::min({settings.position_period.value_or(source.trained_tokens()),
                                   source.trained_tokens(), settings.max_tokens, kMaxCheckTokens});
  LoadOptions options = settings.load;
  options.attention_window.clear();
  options.compute = Compute::kF32;  // the tolerance is that of f32, whatever the files hold
  Encoder before = Encoder::load(short_model, options);
  options.pool = before.pool();
  options.attention_window = {std::min(2 * tokens, kMaxWindow)};
  Encoder after = Encoder::load(long_model, options);

  EncoderInput input;
  input.lengths = {tokens};
  std::mt19937 random(kCheckSeed);
  while (static_cast<int64_t>(input.input_ids.size()) < tokens) {
    const int64_t id = static_cast<int64_t>(random()) % source.vocab_size;
    // A padding token has no position of its own in a Longformer. (A vocabulary of padding alone
    // has no other.)
    if (id != source.pad_token_id || source.vocab_size == 1) input.input_ids.push_back(id);
  }
  EncodeOptions run;
  run.hidden_states = true;
  EncoderOutput a = before.encode(input, run);
  EncoderOutput b = after.encode(input, run);
  a.hidden_states.push_back(std::move(a.pooler_output));
  b.hidden_states.push_back(std::move(b.pooler_output));
  double largest = 0;
  for (size_t layer = 0; layer < a.hidden_states.size(); ++layer) {
    for (size_t i = 0; i < a.hidden_states[layer].size(); ++i) {
      const double difference = std::abs(static_cast<double>(a.hidden_states[layer][i]) -
                                         static_cast<double>(b.hidden_states[layer].at(i)));
      if (!(difference <= largest)) largest = difference;  // keeps a NaN
    }
  }
  report.checked_tokens = tokens;
  report.largest_difference = largest;
  if (!(largest <= kConvertTolerance)) {
    if (!std::isfinite(largest)) {
      throw Error(ErrorCode::kInvalidFile,
                  "the model gives values that are not finite (NaN); nothing was written",
                  short_model.string());
    }
    throw Error(ErrorCode::kInternal,
                "the long model differs from the short one by " + std::to_string(largest) +
                    " on a text of " + std::to_string(tokens) + " tokens (allowed: " +
                    std::to_string(kConvertTolerance) + "); nothing was written");
  }
}

}  // namespace

ConvertReport convert_to_long(const fs::path& source, const fs::path& destination,
                              const LongModelSettings& settings) {
  const io::Config config = io::Config::read(source / "config.json");
  const EncoderConfig source_config = read_source_config(config);
  check_settings(settings, source_config);
  const io::Checkpoint checkpoint = io::Checkpoint::open(source);
  const io::Resolution resolution = resolve_weights(checkpoint, source_config);
  ConvertReport report;
  report.dropped = resolution.report.unexpected;
  report.refused = checkpoint.refused();
  io::write_directory_atomic(destination, [&](const fs::path& temporary) {
    auto tensors = long_tensors(checkpoint, resolution, source_config, settings);
    io::Config changed = long_config(config, source_config, settings);
    if (settings.head == LongModelHead::kKept &&
        add_head(checkpoint, config, source_config, tensors)) {
      changed.set("architectures", std::vector<std::string>{"LongformerForMaskedLM"});
      std::erase_if(report.dropped, is_kept_head);
    }
    report.tensors = static_cast<int64_t>(tensors.size());
    io::write_safetensors(temporary / "model.safetensors", tensors);
    io::write_file_atomic(temporary / "config.json", changed.dump());
    report.files = copy_companions(source, temporary);
    lengthen_companions(temporary, source_config.model_type, settings.max_tokens);
    if (settings.new_positions == NewPositions::kCopied) {
      compare(source, temporary, source_config, settings, report);
    }
  });
  return report;
}

}  // namespace longformer
