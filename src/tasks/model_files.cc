#include "tasks/model_files.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "io/config.h"
#include "io/files.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_if_there(const fs::path& path, uint64_t max_bytes) {
  if (!io::entry_exists(path)) return std::nullopt;
  return io::read_file(path, max_bytes);
}

// sentence_bert_config.json can ask for lower case before a tokenizer that keeps case.
void check_lower_case(const fs::path& directory, const text::Tokenizer& tokenizer) {
  const fs::path path = directory / "sentence_bert_config.json";
  if (!io::entry_exists(path)) return;
  if (!io::Config::read(path).boolean("do_lower_case", false)) return;
  if (tokenizer.encode("A B C").ids != tokenizer.encode("a b c").ids) {
    throw Error(ErrorCode::kUnsupported,
                "\"do_lower_case\" is true but the tokenizer keeps case; give it text in lower "
                "case and set the field to "
                "false",
                path.string());
  }
}

void check_sizes(const TextModel& model, const fs::path& directory) {
  const EncoderInfo& info = model.encoder.info();
  check_vocabulary(model.tokenizer, info, directory);
  if (model.modules.dimension != 0 && model.modules.dimension != info.hidden_size) {
    throw Error(ErrorCode::kInvalidFile,
                "the pooling module expects vectors of " + std::to_string(model.modules.dimension) +
                    " numbers but the encoder gives " + std::to_string(info.hidden_size),
                directory.string());
  }
  if (model.capacity() < 1) {
    throw Error(model.prompt_tokens > 0 ? ErrorCode::kInvalidArgument : ErrorCode::kInvalidFile,
                "the model reads " + std::to_string(info.max_tokens) +
                    " tokens, which leaves no room for text between the special tokens" +
                    (model.prompt_tokens > 0 ? " and behind the prompt" : ""),
                directory.string());
  }
}

int64_t count_tokens(const text::Tokenizer& tokenizer, const std::string& text) {
  if (text.empty()) return 0;
  return static_cast<int64_t>(tokenizer.encode(text, {.add_special_tokens = false}).size());
}

}  // namespace

void check_vocabulary(const text::Tokenizer& tokenizer, const EncoderInfo& info,
                      const fs::path& directory) {
  if (tokenizer.vocabulary_size() <= info.vocab_size) return;
  throw Error(ErrorCode::kInvalidFile,
              "the tokenizer has ids up to " + std::to_string(tokenizer.vocabulary_size() - 1) +
                  " but the embedding table has " + std::to_string(info.vocab_size) +
                  " rows; use the tokenizer files that belong to these weights",
              directory.string());
}

text::Tokenizer load_tokenizer(const fs::path& directory) {
  text::TokenizerFiles files;
  files.place = directory.string();
  files.tokenizer_json = read_if_there(directory / "tokenizer.json", kMaxTokenizerBytes);
  files.vocab_txt = read_if_there(directory / "vocab.txt", kMaxTokenizerBytes);
  files.vocab_json = read_if_there(directory / "vocab.json", kMaxTokenizerBytes);
  files.merges_txt = read_if_there(directory / "merges.txt", kMaxTokenizerBytes);
  for (const char* name : kSentencePieceNames) {
    if (!files.sentencepiece) {
      files.sentencepiece = read_if_there(directory / name, kMaxTokenizerBytes);
    }
  }
  files.tokenizer_config = read_if_there(directory / "tokenizer_config.json", kMaxJsonBytes);
  files.special_tokens_map = read_if_there(directory / "special_tokens_map.json", kMaxJsonBytes);
  files.added_tokens = read_if_there(directory / "added_tokens.json", kMaxJsonBytes);
  if (io::entry_exists(directory / "config.json")) {
    files.model_type = io::Config::read(directory / "config.json").string("model_type", "");
  }
  if (!files.tokenizer_json && !files.vocab_txt && !files.vocab_json && !files.sentencepiece) {
    std::error_code error;
    const bool there = fs::is_directory(directory, error);
    throw Error(ErrorCode::kNotFound,
                there ? "holds no tokenizer: none of tokenizer.json, vocab.txt, vocab.json with "
                        "merges.txt, and the SentencePiece models spiece.model, "
                        "sentencepiece.bpe.model, tokenizer.model"
                      : "there is no such model directory",
                directory.string());
  }
  return text::Tokenizer::load(files);
}

bool is_unreadable(const text::Tokenizer& tokenizer, const text::Encoding& tokens) {
  const std::optional<int64_t> id = tokenizer.unknown_id();
  if (!id) return false;
  const auto unknown = std::count(tokens.ids.begin(), tokens.ids.end(), *id);
  return unknown > 0 &&
         static_cast<double>(unknown) >= kUnreadableShare * static_cast<double>(tokens.size());
}

bool TextModel::takes_one_state() const {
  return std::any_of(modules.pooling.begin(), modules.pooling.end(), tasks::takes_one_state);
}

int64_t TextModel::capacity() const {
  return encoder.info().max_tokens - static_cast<int64_t>(prefix.size() + suffix.size()) -
         prompt_tokens;
}

int64_t TextModel::reach() const {
  const std::vector<int64_t>& windows = encoder.info().attention_window;
  const std::vector<int64_t>& dilation = encoder.info().attention_dilation;
  if (windows.empty()) return capacity();
  int64_t reach = 0;
  for (size_t layer = 0; layer < windows.size(); ++layer) {
    if (windows[layer] == 0) return capacity();  // full attention
    const int64_t step = layer < dilation.size() ? dilation[layer] : 1;
    reach = std::max(reach, windows[layer] / 2 * step);
  }
  return std::min(reach, capacity());
}

namespace {

// Of a long text these would be as much as all the rest.
void drop_unused(text::Encoding& tokens) {
  text::Encoding kept;
  kept.ids = std::move(tokens.ids);
  kept.offsets = std::move(tokens.offsets);
  tokens = std::move(kept);
}

}  // namespace

void drop_offsets(TokenizedText& text) { std::vector<text::Offset>().swap(text.tokens.offsets); }

TokenizedText tokenize(const TextModel& model, std::string_view text, TextRole role) {
  TokenizedText result;
  const std::string& prompt = model.prompt(role);
  const text::EncodeSettings settings{.add_special_tokens = false};
  if (prompt.empty()) {
    result.tokens = model.tokenizer.encode(text, settings);
    drop_unused(result.tokens);
    return result;
  }
  text::Encoding all = model.tokenizer.encode(prompt + std::string(text), settings);
  drop_unused(all);
  const int64_t shift = static_cast<int64_t>(prompt.size());
  size_t own = 0;  // first token of the text
  while (own < all.size() && all.offsets[own].end <= shift) ++own;
  if (!model.modules.include_prompt) {
    // The reference leaves as many tokens out as the prompt has by itself: where it is followed by
    // a text, it may have one more (its last space) or one less (a space that joins a word).
    const auto counted = static_cast<size_t>(count_tokens(model.tokenizer, prompt));
    own = std::min(own, counted);
    result.not_pooled = static_cast<int64_t>(std::min(counted, all.size()) - own);
  }
  const auto from = static_cast<std::ptrdiff_t>(own);
  result.prompt.assign(all.ids.begin(), all.ids.begin() + from);
  all.ids.erase(all.ids.begin(), all.ids.begin() + from);
  all.offsets.erase(all.offsets.begin(), all.offsets.begin() + from);
  for (text::Offset& offset : all.offsets) {
    offset.begin = std::max<int64_t>(0, offset.begin - shift);
    offset.end = std::max<int64_t>(0, offset.end - shift);
  }
  result.tokens = std::move(all);
  return result;
}

TextModel load_text_model(const fs::path& directory, const TextModelOptions& options) {
  SentenceModules modules = read_sentence_modules(directory, options.pooling);
  const Prompts prompts = read_prompts(directory);
  const fs::path transformer = modules.transformer;
  Encoder encoder = Encoder::load(transformer, options.load);
  text::Tokenizer tokenizer = load_tokenizer(transformer);
  check_lower_case(transformer, tokenizer);
  const int64_t pooled = encoder.info().hidden_size * static_cast<int64_t>(modules.pooling.size());
  VectorHead head = VectorHead::load(modules.head, pooled);
  std::vector<int64_t> prefix = tokenizer.special_prefix();
  std::vector<int64_t> suffix = tokenizer.special_suffix();
  TextModel model{std::move(encoder),
                  std::move(tokenizer),
                  std::move(modules),
                  std::move(head),
                  std::move(prefix),
                  std::move(suffix),
                  resolve_prompt(prompts, TextRole::kQuery, options.query_prompt),
                  resolve_prompt(prompts, TextRole::kDocument, options.document_prompt)};
  model.prompt_tokens = std::max(count_tokens(model.tokenizer, model.query_prompt),
                                 count_tokens(model.tokenizer, model.document_prompt));
  check_sizes(model, directory);
  return model;
}

}  // namespace longformer::tasks
