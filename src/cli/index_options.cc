#include "cli/index_options.h"

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/limits.h"
#include "longformer/error.h"
#include "models/precision.h"
#include "tasks/index_settings.h"

namespace longformer::cli {
namespace {

constexpr const char* kWindowNote = ".attention_window";
constexpr const char* kDilationNote = ".attention_dilation";
constexpr const char* kMaxTokensNote = ".max_tokens";
constexpr const char* kPositionsNote = ".positions";

std::string joined(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

// Numbers with commas between them.
std::vector<int64_t> numbers(const io::Settings& settings, const char* name) {
  const std::string text = tasks::setting(settings, name);
  std::vector<int64_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    const bool last = next == end;
    if (error != std::errc() || value < 0 || value > kMaxSequence || (!last && *next != ',')) {
      throw Error(ErrorCode::kInvalidFile,
                  std::string("its setting \"") + name +
                      "\" is impossible; build the index anew with --rebuild",
                  "the index");
    }
    values.push_back(value);
    at = last ? end : next + 1;
  }
  return values;
}

void use_overrides(const io::Settings& settings, LoadOverrides& overrides) {
  if (overrides.attention_window.empty()) {
    overrides.attention_window = numbers(settings, kWindowNote);
  }
  if (overrides.attention_dilation.empty()) {
    overrides.attention_dilation = numbers(settings, kDilationNote);
  }
  const std::vector<int64_t> max_tokens = numbers(settings, kMaxTokensNote);
  if (overrides.max_tokens == 0 && !max_tokens.empty()) overrides.max_tokens = max_tokens[0];
  if (overrides.positions.empty()) overrides.positions = tasks::setting(settings, kPositionsNote);
  const std::string compute = tasks::setting(settings, tasks::kComputeSetting);
  if (overrides.compute.empty() && compute_from_name(compute)) overrides.compute = compute;
}

}  // namespace

io::Settings notes_of(const LoadOverrides& overrides) {
  return {{kWindowNote, joined(overrides.attention_window)},
          {kDilationNote, joined(overrides.attention_dilation)},
          {kMaxTokensNote, std::to_string(overrides.max_tokens)},
          {kPositionsNote, overrides.positions}};
}

void use_index_settings(const io::Settings& settings, TaskOptions& options) {
  if (settings.empty()) return;
  if (options.model.model.empty()) {
    const std::string recorded = tasks::setting(settings, ".model_directory");
    std::error_code error;
    if (!std::filesystem::is_directory(recorded, error)) {
      throw Error(ErrorCode::kNotFound,
                  "the model that the index was built with is not there any more; name it with "
                  "--model",
                  recorded);
    }
    options.model.model = recorded;
  }
  const std::string pooling = tasks::setting(settings, "pooling");
  if (options.pooling.empty() && tasks::pooling_from_name(pooling)) options.pooling = pooling;
  if (!options.document_prompt) {
    options.document_prompt = tasks::setting(settings, "document_prompt");
  }
  use_overrides(settings, options.overrides);
}

}  // namespace longformer::cli
