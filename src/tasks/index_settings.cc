#include "tasks/index_settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/limits.h"
#include "io/hash.h"
#include "longformer/error.h"
#include "models/precision.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

// Changes whenever the same document would be cut differently with the same numbers.
constexpr int kPassageRule = 1;

// Beside weights and SentencePiece models.
constexpr std::array<std::string_view, 11> kModelFiles = {"config.json",
                                                          "modules.json",
                                                          "config_sentence_transformers.json",
                                                          "tokenizer.json",
                                                          "vocab.txt",
                                                          "sentence_bert_config.json",
                                                          "vocab.json",
                                                          "merges.txt",
                                                          "added_tokens.json",
                                                          "tokenizer_config.json",
                                                          "special_tokens_map.json"};

constexpr std::array<std::string_view, 9> kOfTheModel = {
    "model",   "attention_window", "attention_dilation", "max_tokens", "overrides",
    "pooling", "include_prompt",   "dimension",          "compute"};

std::string joined(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

bool is_model_file(const std::string& name) {
  const bool weights = name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
  const auto is_one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return weights || is_one_of(kModelFiles) || is_one_of(kSentencePieceNames);
}

bool is_torch_file(const std::string& name) {
  return name.ends_with(".bin") || name.ends_with(".bin.index.json") || name.ends_with(".pt") ||
         name.ends_with(".pth");
}

// The files of one directory that count; PyTorch's only where there are no others to load.
void collect(const fs::path& directory, std::set<fs::path>& files) {
  std::error_code error;
  std::vector<fs::path> torch;
  bool safetensors = false;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!entry->is_regular_file(error)) continue;
    safetensors = safetensors || name.ends_with(".safetensors");
    if (is_model_file(name)) files.insert(entry->path());
    if (is_torch_file(name)) torch.push_back(entry->path());
  }
  if (!safetensors) files.insert(torch.begin(), torch.end());
}

[[noreturn]] void fail_setting(const std::string& place, const std::string& name) {
  throw Error(ErrorCode::kInvalidFile,
              "its setting \"" + name + "\" is impossible; build the index anew with --rebuild",
              place);
}

int64_t number(const io::Settings& settings, const std::string& name, int64_t least, int64_t most,
               const std::string& place) {
  const std::string text = setting(settings, name);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    fail_setting(place, name);
  }
  return value;
}

bool matters(std::string_view name, Compare compare) {
  if (name.starts_with('.')) return false;
  if (compare == Compare::kAllButShard) return name != "shard";
  return compare == Compare::kAll ||
         std::find(kOfTheModel.begin(), kOfTheModel.end(), name) != kOfTheModel.end();
}

// A value as a message shows it.
std::string shown(const std::string& value) {
  constexpr size_t kLongest = 40;
  if (value.empty()) return "none";
  return value.size() <= kLongest ? value : value.substr(0, 12) + "...";
}

}  // namespace

ModelFingerprint fingerprint(const fs::path& directory, const SentenceModules& modules,
                             const ModelFingerprint& known) {
  std::set<fs::path> files;
  collect(directory, files);
  collect(modules.transformer, files);
  for (const HeadModule& module : modules.head) collect(module.directory, files);
  ModelFingerprint result;
  result.files = fs::absolute(directory).lexically_normal().string() + "\n";
  for (const fs::path& file : files) {
    struct stat status;
    if (stat(file.c_str(), &status) != 0) continue;
    result.files += file.lexically_relative(directory).string() + " " +
                    std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) +
                    "." + std::to_string(status.st_mtim.tv_nsec) + "\n";
  }
  if (!known.sha256.empty() && result.files == known.files) return known;
  io::Sha256 hash;
  for (const fs::path& file : files) {
    hash.update(file.lexically_relative(directory).string());
    hash.update(std::string_view("\0", 1));
    hash.update(io::sha256_file(file));
  }
  result.sha256 = hash.hex();
  return result;
}

bool Shard::has(std::string_view name) const {
  if (count == 1) return true;
  io::Sha256 hash;
  hash.update(name);
  const std::string digits = hash.hex().substr(0, 15);
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value % count == index - 1;
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = std::from_chars(slash ? first.ptr + 1 : end, end, shard.count);
  if (!slash || second.ec != std::errc() || second.ptr != end || shard.count < 1 ||
      shard.count > 1'000'000 || shard.index < 1 || shard.index > shard.count) {
    throw Error(ErrorCode::kInvalidArgument,
                "must be i/n, the i-th of n shares, with i from 1 to n, as 2/5; got " + text,
                "--shard");
  }
  return shard;
}

io::Settings describe(const TextModel& model, const IndexSettings& settings,
                      const fs::path& directory, const ModelFingerprint& print) {
  const EncoderInfo& info = model.encoder.info();
  std::string pooling;
  for (const Pooling mode : model.modules.pooling) {
    pooling += (pooling.empty() ? "" : "+") + std::string(pooling_name(mode));
  }
  std::string overrides;
  for (const std::string& text : info.overrides)
    overrides += (overrides.empty() ? "" : "; ") + text;
  const PassageOptions& passages = settings.passages;
  const int64_t dims =
      settings.dims > 0 ? std::min(settings.dims, model.dimension()) : model.dimension();
  const bool whole = settings.shard.count == 1;
  return {{"model", print.sha256},
          {"attention_window", joined(info.attention_window)},
          {"attention_dilation", joined(info.attention_dilation)},
          {"max_tokens", std::to_string(info.max_tokens)},
          {"overrides", overrides},
          {"pooling", pooling},
          {"include_prompt", model.modules.include_prompt ? "true" : "false"},
          {"dimension", std::to_string(model.dimension())},
          {std::string(kComputeSetting), std::string(compute_name(info.compute))},
          {"document_prompt", model.document_prompt},
          {"passage_rule", std::to_string(kPassageRule)},
          {"passage_tokens", std::to_string(passages.passage_tokens)},
          {"join_tokens", std::to_string(passages.join_tokens)},
          {"heading_tokens", std::to_string(passages.heading_tokens)},
          {"context", std::string(context_name(settings.context))},
          {"vectors", std::string(io::vector_kind_name(settings.vectors))},
          {"dims", std::to_string(dims)},
          {"shard", whole ? ""
                          : std::to_string(settings.shard.index) + "/" +
                                std::to_string(settings.shard.count)},
          {".model_directory", fs::absolute(directory).lexically_normal().string()},
          {".model_files", print.files}};
}

std::string setting(const io::Settings& settings, std::string_view name) {
  for (const auto& [known, value] : settings) {
    if (known == name) return value;
  }
  // Indexes of the time before there was a choice.
  return name == kComputeSetting && !settings.empty() ? "f32" : "";
}

ModelFingerprint known_fingerprint(const io::Settings& settings) {
  return {setting(settings, "model"), setting(settings, ".model_files")};
}

io::VectorLayout vector_layout(const io::Settings& settings, const std::string& place) {
  io::VectorLayout layout;
  const std::optional<io::VectorKind> kind =
      io::vector_kind_from_name(setting(settings, "vectors"));
  if (!kind) fail_setting(place, "vectors");
  layout.kind = *kind;
  layout.dims = number(settings, "dims", 1, kMaxHidden, place);
  return layout;
}

int64_t longest_kept_text(const io::Settings& settings, const std::string& place) {
  constexpr int64_t kTokenBytes = 64 * 8;  // far more than a token of text has
  const int64_t tokens = number(settings, "passage_tokens", 1, kMaxSequence, place);
  return std::max<int64_t>(1 << 20, tokens * kTokenBytes);
}

void check_kept_text(const io::CollectionPassage& passage, int64_t longest,
                     const std::string& place) {
  if (static_cast<int64_t>(passage.text.size()) <= longest) return;
  throw Error(ErrorCode::kInvalidFile,
              "a passage is impossibly long; build the index anew with --rebuild", place);
}

void check_settings(const io::Settings& index, const io::Settings& wanted, Compare compare,
                    const std::string& place, const std::string& other) {
  std::string differences;
  for (const auto& [name, value] : wanted) {
    const std::string has = setting(index, name);
    if (!matters(name, compare) || has == value) continue;
    differences += (differences.empty() ? "" : ", ") + name + " " + shown(has) + " in the index, " +
                   shown(value) + " " + other;
  }
  if (differences.empty()) return;
  const std::string what_to_do = compare == Compare::kModel
                                     ? "search with what the index was built with, or build it anew"
                                     : "use the same, or start again with --rebuild";
  throw Error(ErrorCode::kInvalidArgument, "differs: " + differences + "; " + what_to_do, place);
}

}  // namespace longformer::tasks
