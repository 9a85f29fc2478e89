#include "models/convert.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "io/checkpoint.h"
#include "io/config.h"
#include "io/files.h"
#include "io/safetensors.h"
#include "models/family.h"
#include "models/weights.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPositions = "embeddings.position_embeddings.weight";
constexpr uint32_t kCheckSeed = 20200410;

void check_range(int64_t value, int64_t low, int64_t high, const char* what) {
  if (value >= low && value <= high) return;
  throw Error(ErrorCode::kInvalidArgument,
              "must be from " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
                  std::to_string(value),
              what);
}

EncoderConfig read_source_config(const io::Config& config) {
  const std::string type = config.string("model_type", "");
  if (type == "longformer") {
    throw Error(ErrorCode::kUnsupported, "is a longformer model already", config.place());
  }
  if (type != "bert") {
    throw Error(ErrorCode::kUnsupported,
                "a model of type \"" + type + "\" cannot be made long; supported: bert",
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
    check_range(*settings.position_period, 1, source.position_rows, "position period");
  }
}

// Row p + 1 + k is old row k mod P; the rows up to the padding's are old row 0.
Tensor tile_positions(const Tensor& old, int64_t padding, int64_t tokens, int64_t period) {
  const size_t row = static_cast<size_t>(old.shape[1]) * dtype_size(old.dtype);
  const int64_t rows = tokens + padding + 1;
  std::vector<std::byte> bytes(static_cast<size_t>(rows) * row);
  const std::span<const std::byte> source = old.bytes();
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t from = i <= padding ? 0 : (i - padding - 1) % period;
    std::memcpy(bytes.data() + static_cast<size_t>(i) * row,
                source.data() + static_cast<size_t>(from) * row, row);
  }
  return {old.dtype, {rows, old.shape[1]}, own_bytes(std::move(bytes)), 0};
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
    if (resolved.name == kPositions) {
      tensor = tile_positions(tensor, source.pad_token_id, settings.max_tokens,
                              settings.position_period.value_or(source.position_rows));
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
  if (settings.cls_token_id) {
    config.set("cls_token_id", *settings.cls_token_id);
    config.set("bos_token_id", *settings.cls_token_id);
  }
  if (settings.sep_token_id) {
    config.set("sep_token_id", *settings.sep_token_id);
    config.set("eos_token_id", *settings.sep_token_id);
  }
  return config;
}

// Both models read one random text that the long model's window covers.
void compare(const fs::path& short_model, const fs::path& long_model, const EncoderConfig& source,
             const LongModelSettings& settings, ConvertReport& report) {
  const int64_t tokens = std::min({settings.position_period.value_or(source.position_rows),
                                   source.position_rows, settings.max_tokens});
  LoadOptions options = settings.load;
  options.attention_window.clear();
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

// --- files beside the weights ---

bool starts_with_word(std::string name, std::string_view word) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return name.starts_with(word);
}

bool is_text_file(const std::string& name) {
  for (const char* known : {"vocab.txt", "special_tokens_map.json", "added_tokens.json",
                            "tokenizer.json", "tokenizer_config.json", "modules.json",
                            "sentence_bert_config.json", "config_sentence_transformers.json"}) {
    if (name == known) return true;
  }
  return starts_with_word(name, "README") || starts_with_word(name, "LICENSE") ||
         starts_with_word(name, "LICENCE") || starts_with_word(name, "NOTICE") ||
         starts_with_word(name, "COPYING");
}

// "1_Pooling"
bool is_module(const std::string& name) {
  size_t digits = 0;
  while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits])) != 0)
    ++digits;
  return digits > 0 && digits + 1 < name.size() && name[digits] == '_';
}

// A link may lead elsewhere inside the model, or to the blobs of a hub cache (models--x/snapshots/y
// beside models--x/blobs); a hostile one must not publish other files of this machine.
bool stays_inside(const fs::path& file, const fs::path& root) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  const fs::path home = fs::canonical(root, error);
  const auto below = [&](const fs::path& directory) {
    const auto [end, ignored] =
        std::mismatch(directory.begin(), directory.end(), real.begin(), real.end());
    return end == directory.end();
  };
  if (below(home)) return true;
  const fs::path snapshots = home.parent_path();
  return snapshots.filename() == "snapshots" && below(snapshots.parent_path() / "blobs");
}

void copy_one(const fs::path& from, const fs::path& to, const fs::path& root) {
  std::error_code error;
  if (!stays_inside(from, root)) {
    throw Error(ErrorCode::kInvalidFile,
                "is a link out of the model directory; put the file itself there", from.string());
  }
  if (fs::file_size(from, error) > kMaxTokenizerBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "is larger than " + std::to_string(kMaxTokenizerBytes) +
                    " bytes, the limit for files beside the weights",
                from.string());
  }
  fs::copy_file(from, to, error);
  if (error) throw Error(ErrorCode::kIo, error.message(), from.string());
}

// Directories of modules have no directories of their own.
void copy_module(const fs::path& from, const fs::path& to, const fs::path& root) {
  fs::create_directory(to);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    if (entry.is_regular_file()) copy_one(entry.path(), to / entry.path().filename(), root);
  }
}

std::vector<std::string> copy_companions(const fs::path& source, const fs::path& destination) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(source)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && is_text_file(name)) {
      copy_one(entry.path(), destination / name, source);
    } else if (entry.is_directory() && is_module(name)) {
      copy_module(entry.path(), destination / name, source);
    } else {
      continue;
    }
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void write_config(const fs::path& path, const io::Config& config) {
  std::error_code ignored;
  fs::remove(path, ignored);
  io::write_file_atomic(path, config.dump());
}

// Published files carry the short model's lengths; a long model's files must not cut its texts.
void lengthen_tokenizer(const fs::path& directory, int64_t max_tokens) {
  if (const fs::path path = directory / "tokenizer.json"; fs::exists(path)) {
    io::Config config =
        io::Config::parse(io::read_file(path, kMaxTokenizerBytes), path.filename().string());
    if (config.has("truncation") || config.has("padding")) {
      config.set_null("truncation");
      config.set_null("padding");
      write_config(path, config);
    }
  } else if (!fs::exists(directory / "vocab.txt")) {
    return;
  }
  const fs::path path = directory / "tokenizer_config.json";
  io::Config config = fs::exists(path) ? io::Config::read(path) : io::Config();
  // Without the class, readers take the one that goes with "longformer", which is byte-level BPE.
  if (!config.has("tokenizer_class")) config.set("tokenizer_class", "BertTokenizer");
  config.set("model_max_length", max_tokens);
  config.erase("max_length");
  write_config(path, config);
}

void lengthen_sentence_config(const fs::path& directory, int64_t max_tokens) {
  const fs::path path = directory / "sentence_bert_config.json";
  if (!fs::exists(path)) return;
  io::Config config = io::Config::read(path);
  config.set("max_seq_length", max_tokens);
  write_config(path, config);
}

// --- precision ---

const char* reference_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    default:
      throw Error(
          ErrorCode::kInvalidArgument,
          "weights can be stored as f32, bf16 or f16, not as " + std::string(dtype_name(dtype)),
          "dtype");
  }
}

Tensor store_as(const io::NamedTensor& named, DType dtype) {
  Tensor result = cast(named.tensor, dtype);
  if (dtype != DType::kF16) return result;
  const std::vector<float> before = to_f32(named.tensor);
  const std::vector<float> after = to_f32(result);
  for (size_t i = 0; i < before.size(); ++i) {
    if (std::isfinite(before[i]) && !std::isfinite(after[i])) {
      throw Error(ErrorCode::kInvalidFile,
                  "holds values beyond 65504, which f16 cannot store; use bf16 or f32",
                  "tensor \"" + named.name + "\"");
    }
  }
  return result;
}

}  // namespace

ConvertReport convert_to_long(const fs::path& source, const fs::path& destination,
                              const LongModelSettings& settings) {
  const io::Config config = io::Config::read(source / "config.json");
  const EncoderConfig source_config = read_source_config(config);
  check_settings(settings, source_config);
  const io::Checkpoint checkpoint = io::Checkpoint::open(source);
  const io::Resolution resolution =
      io::resolve_names(checkpoint, expected_tensors(source_config), source_config.name_prefixes);
  ConvertReport report;
  report.dropped = resolution.report.unexpected;
  io::write_directory_atomic(destination, [&](const fs::path& temporary) {
    const auto tensors = long_tensors(checkpoint, resolution, source_config, settings);
    report.tensors = static_cast<int64_t>(tensors.size());
    io::write_safetensors(temporary / "model.safetensors", tensors);
    io::write_file_atomic(temporary / "config.json",
                          long_config(config, source_config, settings).dump());
    report.files = copy_companions(source, temporary);
    lengthen_tokenizer(temporary, settings.max_tokens);
    lengthen_sentence_config(temporary, settings.max_tokens);
    compare(source, temporary, source_config, settings, report);
  });
  return report;
}

ConvertReport convert_dtype(const fs::path& source, const fs::path& destination, DType dtype) {
  const std::string name = reference_name(dtype);
  io::Config config = io::Config::read(source / "config.json");
  config.set(config.has("dtype") ? "dtype" : "torch_dtype", name);
  const io::Checkpoint checkpoint = io::Checkpoint::open(source);
  ConvertReport report;
  io::write_directory_atomic(destination, [&](const fs::path& temporary) {
    std::vector<io::NamedTensor> tensors;
    for (const std::string& tensor_name : checkpoint.names()) {
      io::NamedTensor tensor{tensor_name, checkpoint.tensor(tensor_name)};
      if (is_floating(tensor.tensor.dtype)) tensor.tensor = store_as(tensor, dtype);
      tensors.push_back(std::move(tensor));
    }
    report.tensors = static_cast<int64_t>(tensors.size());
    io::write_safetensors(temporary / "model.safetensors", tensors);
    io::write_file_atomic(temporary / "config.json", config.dump());
    report.files = copy_companions(source, temporary);
  });
  return report;
}

}  // namespace longformer
