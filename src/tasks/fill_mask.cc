#include "tasks/fill_mask.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/limits.h"
#include "io/config.h"
#include "io/files.h"
#include "longformer/error.h"
#include "tasks/long_text.h"
#include "tasks/softmax.h"
#include "tasks/windows.h"

namespace longformer::tasks {
namespace {

// "mask_token": "<mask>", or {"content": "<mask>", …}.
std::string stated_mask(const std::filesystem::path& file) {
  if (!io::entry_exists(file)) return "";
  const io::Config config = io::Config::read(file);
  if (!config.has("mask_token")) return "";
  std::optional<io::Config> object;
  try {
    return config.string("mask_token", "");
  } catch (const Error&) {
    object = config.object("mask_token");
  }
  return object->string("content", "");
}

std::vector<size_t> positions_of(const std::vector<int64_t>& ids, int64_t id) {
  std::vector<size_t> positions;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == id) positions.push_back(i);
  }
  return positions;
}

// The best of `ids` by their logits.
std::vector<int64_t> best_ids(std::span<const float> logits, std::vector<int64_t> ids,
                              size_t count) {
  count = std::min(count, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    [&](int64_t a, int64_t b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  ids.resize(count);
  return ids;
}

// The fills of one mask.
std::vector<MaskFill> fill(const TaskTextModel& model, const MaskWindow& window, size_t position,
                           std::span<const float> logits, size_t count,
                           std::span<const int64_t> targets) {
  std::vector<int64_t> ids(targets.begin(), targets.end());
  if (ids.empty()) {
    ids.resize(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
  }
  const std::vector<double> scores = softmax(logits);
  const int64_t pad = model.model.encoder().info().pad_token_id;
  std::vector<int64_t> sequence = window.tokens.ids;
  std::vector<MaskFill> fills;
  for (const int64_t id : best_ids(logits, std::move(ids), count)) {
    sequence[position] = id;
    std::vector<int64_t> shown;
    std::copy_if(sequence.begin(), sequence.end(), std::back_inserter(shown),
                 [&](int64_t token) { return token != pad; });
    // With several masks the others must be seen.
    const bool skip_special = window.masks.size() == 1;
    fills.push_back({scores[static_cast<size_t>(id)], id, model.tokenizer.decode({id}, false),
                     model.tokenizer.decode(shown, skip_special)});
  }
  return fills;
}

}  // namespace

MaskToken mask_token(const std::filesystem::path& directory, const text::Tokenizer& tokenizer) {
  for (const char* const name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string stated = stated_mask(directory / name);
    if (const auto id = tokenizer.id(stated); !stated.empty() && id) return {*id, stated};
  }
  for (const char* const usual : {"<mask>", "[MASK]"}) {
    if (const auto id = tokenizer.id(usual)) return {*id, usual};
  }
  throw Error(ErrorCode::kInvalidFile,
              "the tokenizer has no mask token: neither tokenizer_config.json nor "
              "special_tokens_map.json names one, and the vocabulary has neither <mask> nor [MASK]",
              directory.string());
}

std::vector<int64_t> target_ids(const text::Tokenizer& tokenizer,
                                std::span<const std::string> words,
                                std::vector<std::string>& shortened) {
  std::vector<int64_t> ids;
  for (const std::string& word : words) {
    if (const auto id = tokenizer.id(word)) {
      ids.push_back(*id);
      continue;
    }
    const text::Encoding tokens = tokenizer.encode(word, {.add_special_tokens = false});
    if (tokens.ids.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "target " +
                                                   std::to_string(&word - words.data() + 1) +
                                                   " has no token in this vocabulary");
    }
    if (tokens.size() > 1) shortened.push_back(word);
    ids.push_back(tokens.ids[0]);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

MaskedText cut_masks(const TaskTextModel& model, std::string text, const MaskToken& mask) {
  MaskedText result;
  const text::Encoding tokens = model.tokenizer.encode(text, {.add_special_tokens = false});
  const std::vector<size_t> masks = positions_of(tokens.ids, mask.id);
  if (masks.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "has no mask token; write " + mask.text + " where a word is to be found");
  }
  if (masks.size() > kMaxMasks) {
    throw Error(ErrorCode::kInvalidArgument,
                "has " + std::to_string(masks.size()) + " mask tokens; at most " +
                    std::to_string(kMaxMasks) + " are allowed in one text");
  }
  result.tokens = static_cast<int64_t>(tokens.size());
  const size_t prefix = model.tokenizer.special_prefix().size();
  const size_t specials = prefix + model.tokenizer.special_suffix().size();
  if (static_cast<size_t>(model.max_tokens()) <= specials) {
    throw Error(ErrorCode::kInvalidArgument,
                "the " + std::to_string(model.max_tokens()) +
                    " tokens that the model reads leave no room for text");
  }
  const size_t room = static_cast<size_t>(model.max_tokens()) - specials;
  const size_t size = std::min(room, tokens.size());
  result.partly_read = size < tokens.size();
  // Masks nearer to an edge that is not the text's own wait for a window of their own.
  const auto margin = static_cast<size_t>(window_overlap(static_cast<int64_t>(room), 0));
  for (size_t next = 0; next < masks.size();) {
    const size_t center = masks[next];
    const size_t begin = std::min(center - std::min(center, size / 2), tokens.size() - size);
    const size_t end = begin + size;
    const size_t answered_to = end == tokens.size() ? end : std::max(center + 1, end - margin);
    MaskWindow window;
    window.tokens = wrap_tokens(model.tokenizer, tokens, begin, end);
    window.wanted.resize(window.tokens.size());
    for (const size_t position : masks) {
      if (position >= begin && position < end) window.masks.push_back(position - begin + prefix);
    }
    for (; next < masks.size() && masks[next] < answered_to; ++next) {
      window.wanted[masks[next] - begin + prefix] = 1;
    }
    result.windows.push_back(std::move(window));
  }
  result.text = std::move(text);
  return result;
}

void check_fill_bytes(const TaskTextModel& model, const MaskedText& text, size_t fills) {
  constexpr uint64_t kOtherBytes = 64;  // score, number and spelling of the token
  uint64_t masks = 0, one_each = 0;     // bytes with one word for each mask
  for (const MaskWindow& window : text.windows) {
    const auto wanted =
        static_cast<uint64_t>(std::count(window.wanted.begin(), window.wanted.end(), 1));
    masks += wanted;
    one_each += wanted * (model.tokenizer.decode(window.tokens.ids, false).size() + kOtherBytes);
  }
  if (one_each * fills <= kMaxFillBytes) return;
  throw Error(ErrorCode::kInvalidArgument,
              "has " + std::to_string(masks) + " mask tokens; " + std::to_string(fills) +
                  " words for each, with the text around them, are " +
                  std::to_string(one_each * fills) + " bytes, and at most " +
                  std::to_string(kMaxFillBytes) + " are allowed in one text; lower --top-k" +
                  (one_each <= kMaxFillBytes ? " to " + std::to_string(kMaxFillBytes / one_each)
                                             : std::string()) +
                  ", or the number of masks");
}

void fill_masks(TaskTextModel& model, std::span<const MaskedText> texts, size_t count,
                std::span<const int64_t> targets, const TaskRun& run, const FillVisitor& visit) {
  std::vector<TaskSequence> sequences;
  std::vector<std::pair<size_t, const MaskWindow*>> owners;
  for (size_t text = 0; text < texts.size(); ++text) {
    for (const MaskWindow& window : texts[text].windows) {
      sequences.push_back({window.tokens, texts[text].text, {}, window.wanted});
      owners.emplace_back(text, &window);
    }
  }
  const auto columns = static_cast<size_t>(model.model.info().outputs);
  FilledText result;
  run_sequences(
      model, sequences, run,
      [&](size_t index, std::span<const float> logits, int64_t global_tokens) {
        const auto& [text, window] = owners[index];
        size_t row = 0;
        for (const size_t position : window->masks) {
          if (window->wanted[position] == 0) continue;
          result.masks.push_back(fill(model, *window, position,
                                      logits.subspan(row++ * columns, columns), count, targets));
        }
        result.global_tokens += global_tokens;
        if (index + 1 < owners.size() && owners[index + 1].first == text) return;
        visit(text, result);
        result = {};
      });
}

}  // namespace longformer::tasks
