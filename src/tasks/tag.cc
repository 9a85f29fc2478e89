#include "tasks/tag.h"

#include <algorithm>
#include <utility>

#include "longformer/error.h"
#include "tasks/long_text.h"
#include "tasks/model_files.h"
#include "tasks/softmax.h"
#include "tasks/windows.h"
#include "text/truncation.h"

namespace longformer::tasks {
namespace {

// Tokens of the windows that are prepared at a time.
constexpr int64_t kPreparedTokens = 1 << 18;

bool is_continuation_byte(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation_byte(c); });
}

size_t index_of(int64_t value) { return static_cast<size_t>(value); }

// Words as the tokenizer numbers them, from 0 and without gaps.
void number_words(TagInput& input) {
  int32_t before = -1;
  for (size_t token = 0; token < input.tokens.size(); ++token) {
    int32_t& word = input.tokens.words[token];
    const text::Offset& bytes = input.tokens.offsets[token];
    if (token == 0 || word != before) input.words.push_back({bytes.begin, bytes.end});
    before = word;
    word = static_cast<int32_t>(input.words.size()) - 1;
    input.words.back().end = std::max(input.words.back().end, bytes.end);
  }
}

// Each token belongs to the word that its last byte lies in; one without bytes of its own, such as
// a trimmed space, to the word that begins there.
void assign_words(TagInput& input) {
  size_t word = 0;
  for (size_t token = 0; token < input.tokens.size(); ++token) {
    const text::Offset& bytes = input.tokens.offsets[token];
    const int64_t last = std::max(bytes.begin, bytes.end - 1);
    while (word < input.words.size() && input.words[word].end <= last) ++word;
    const bool inside = word < input.words.size() && input.words[word].begin <= last;
    input.tokens.words[token] = inside ? static_cast<int32_t>(word) : -1;
  }
}

bool spells_words_alike(const text::Tokenizer& tokenizer) {
  const std::vector<std::string> words = {"x", "x"};
  const text::EncodeSettings plain{.add_special_tokens = false};
  return tokenizer.encode(text::TextInput(std::span<const std::string>(words)), plain).ids ==
         tokenizer.encode("x x", plain).ids;
}

void count_characters(TagInput& input) {
  input.characters = input.tokens.offsets;
  text::convert_offsets(input.text, text::OffsetUnit::kCodePoint, input.characters);
}

// Tokens that stand for text which the vocabulary lacks.
int64_t unknown_token(const text::Tokenizer& tokenizer) {
  if (const auto id = tokenizer.unknown_id()) return *id;
  // In a vocabulary that spells every byte the token exists all the same.
  for (const char* const usual : {"<unk>", "[UNK]"}) {
    if (const auto id = tokenizer.id(usual)) return *id;
  }
  return -1;
}

// The windows of a text of so many tokens.
std::vector<Window> windows_of(const TaskTextModel& model, int64_t tokens,
                               const std::optional<int64_t>& stride) {
  const int64_t capacity = model.max_tokens();
  const auto specials = static_cast<int64_t>(model.tokenizer.special_prefix().size() +
                                             model.tokenizer.special_suffix().size());
  const int64_t room = capacity - specials;
  if (room < 1) {
    throw Error(ErrorCode::kInvalidArgument, "the " + std::to_string(capacity) +
                                                 " tokens that the model reads leave no room for "
                                                 "text");
  }
  if (!stride) {
    const int64_t reach = attention_reach(model.model.encoder().info(), room);
    return plan_windows(tokens, room, window_overlap(room, reach));
  }
  if (tokens == 0) return {};
  const text::TruncationSettings settings{.max_length = capacity, .stride = *stride};
  std::vector<Window> windows;
  for (const text::TextWindow& part : text::plan_truncation(tokens, {}, specials, settings)) {
    windows.push_back({part.first.begin, part.first.end, part.first.begin, part.first.end});
  }
  for (size_t i = 0; i + 1 < windows.size(); ++i) {
    const int64_t seam = (windows[i + 1].begin + windows[i].end) / 2;
    windows[i].keep_end = seam;
    windows[i + 1].keep_begin = seam;
  }
  return windows;
}

// Entities of one text or of one window of it.
class EntityFinder {
 public:
  EntityFinder(const TaskTextModel& model, const TagOptions& options)
      : tokenizer_(model.tokenizer),
        labels_(model.model.info().labels),
        options_(options),
        rules_(labels_, options.scheme.value_or(detect_scheme(labels_))),
        unknown_(unknown_token(tokenizer_)),
        before_(static_cast<int64_t>(tokenizer_.special_prefix().size())) {}

  // `scores`: of the tokens from `first` on.
  std::vector<TextEntity> find(const TagInput& input, size_t first,
                               const TokenScores& scores) const {
    const std::vector<LabelledTokens> units =
        label_tokens(scores, continuations(input, first, scores.tokens()), options_.aggregation);
    std::vector<TextEntity> entities;
    if (options_.aggregation == Aggregation::kNone) {
      for (const LabelledTokens& unit : units) {
        const std::string& label = labels_[unit.label];
        if (ignored(label)) continue;
        TextEntity entity = place(input, first + unit.begin, first + unit.end);
        entity.label = label;
        entity.score = unit.score;
        entity.word = token_text(input, first + unit.begin);
        entities.push_back(std::move(entity));
      }
      return entities;
    }
    for (const LabelGroup& group : group_labels(units, rules_)) {
      const std::string& name = rules_.name(units[group.begin].label);
      if (ignored(name)) continue;
      TextEntity entity =
          place(input, first + units[group.begin].begin, first + units[group.end - 1].end);
      entity.label = name;
      entity.score = group.score;
      entity.word =
          word_of(input, first, std::span(units).subspan(group.begin, group.end - group.begin));
      entities.push_back(std::move(entity));
    }
    return entities;
  }

 private:
  bool ignored(const std::string& label) const {
    const std::vector<std::string>& list = options_.ignore_labels;
    return std::find(list.begin(), list.end(), label) != list.end();
  }

  // As the reference tells them: by a prefix, seen from the token being longer than its text; or
  // where the vocabulary has none by the absence of a space.
  std::vector<uint8_t> continuations(const TagInput& input, size_t first, size_t count) const {
    std::vector<uint8_t> flags(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t token = first + i;
      if (input.tokens.ids[token] == unknown_) continue;
      const text::Offset& characters = input.characters[token];
      if (tokenizer_.marks_continuations()) {
        flags[i] = code_points(tokenizer_.token(input.tokens.ids[token])) !=
                   characters.end - characters.begin;
        continue;
      }
      const size_t begin = index_of(input.tokens.offsets[token].begin);
      const bool space = begin > 0 && (input.text[begin - 1] == ' ' ||
                                       (begin < input.text.size() && input.text[begin] == ' '));
      flags[i] = begin > 0 && !space;
    }
    return flags;
  }

  std::string token_text(const TagInput& input, size_t token) const {
    if (input.tokens.ids[token] != unknown_) return tokenizer_.token(input.tokens.ids[token]);
    const text::Offset& bytes = input.tokens.offsets[token];
    return input.text.substr(index_of(bytes.begin), index_of(bytes.end - bytes.begin));
  }

  // Words are decoded once more when they are put together, as in the reference.
  std::string word_of(const TagInput& input, size_t first,
                      std::span<const LabelledTokens> units) const {
    const bool words = options_.aggregation != Aggregation::kSimple;
    std::vector<std::string> parts;
    for (const LabelledTokens& unit : units) {
      std::vector<std::string> tokens;
      for (size_t token = unit.begin; token < unit.end; ++token) {
        tokens.push_back(token_text(input, first + token));
      }
      parts.push_back(words ? tokenizer_.decode_tokens(std::move(tokens)) : tokens[0]);
    }
    return tokenizer_.decode_tokens(std::move(parts));
  }

  TextEntity place(const TagInput& input, size_t begin, size_t end) const {
    TextEntity entity;
    entity.bytes = {input.tokens.offsets[begin].begin, input.tokens.offsets[end - 1].end};
    entity.characters = {input.characters[begin].begin, input.characters[end - 1].end};
    entity.index = before_ + static_cast<int64_t>(begin);
    const std::vector<int32_t>& words = input.tokens.words;
    const auto known = [](int32_t word) { return word >= 0; };
    const auto from = words.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = words.begin() + static_cast<std::ptrdiff_t>(end);
    const auto first = std::find_if(from, to, known);
    if (first == to) return entity;
    entity.first_word = *first;
    entity.end_word =
        *std::find_if(std::reverse_iterator(to), std::reverse_iterator(from), known) + 1;
    return entity;
  }

  const text::Tokenizer& tokenizer_;
  const std::vector<std::string>& labels_;
  const TagOptions& options_;
  LabelRules rules_;
  int64_t unknown_;
  int64_t before_;  // special tokens in front of a text
};

std::vector<LabelledTokens> label_words(const TagInput& input, const TokenScores& scores,
                                        Aggregation aggregation) {
  std::vector<LabelledTokens> words(input.words.size());
  for (size_t begin = 0; begin < scores.tokens();) {
    const int32_t word = input.tokens.words[begin];
    size_t end = begin + 1;
    while (end < scores.tokens() && input.tokens.words[end] == word) ++end;
    if (word >= 0) words[index_of(word)] = label_word(scores, begin, end, aggregation);
    begin = end;
  }
  return words;
}

// A window of one of the inputs.
struct Piece {
  size_t input = 0;
  Window window;
  bool last = false;  // of its input
};

class Tagger {
 public:
  Tagger(TaskTextModel& model, std::span<const TagInput> inputs, const TagOptions& options,
         const TaskRun& run, const TagVisitor& visit)
      : model_(model),
        inputs_(inputs),
        options_(options),
        run_(run),
        visit_(visit),
        finder_(model, options) {}

  void tag() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto tokens = static_cast<int64_t>(inputs_[i].tokens.size());
      for (const Window& window : windows_of(model_, tokens, options_.stride)) {
        pieces_.push_back({i, window, window.end == tokens});
      }
    }
    for (size_t first = 0; first < pieces_.size();) first = run_some(first);
    finish_before(inputs_.size());
  }

 private:
  TokenScores room_for(size_t tokens) const {
    return {tokens, model_.model.info().labels.size(),
            options_.aggregation == Aggregation::kAverage};
  }

  // Returns the piece to go on with.
  size_t run_some(size_t first) {
    std::vector<TaskSequence> sequences;
    int64_t tokens = 0;
    for (size_t i = first; i < pieces_.size() && tokens < kPreparedTokens; ++i) {
      sequences.push_back(sequence_of(pieces_[i]));
      tokens += static_cast<int64_t>(sequences.back().tokens.size());
    }
    TaskRun run = run_;
    if (run_.progress) {
      run.progress = [&](int64_t done, int64_t) {
        run_.progress(static_cast<int64_t>(first) + done, std::ssize(pieces_));
      };
    }
    run_sequences(model_, sequences, run,
                  [&](size_t index, std::span<const float> logits, int64_t global_tokens) {
                    take(pieces_[first + index], logits, global_tokens);
                  });
    return first + sequences.size();
  }

  // Tokens whose logits are asked for: what is kept, or where entities are looked for in each
  // window, all of its own.
  std::pair<int64_t, int64_t> wanted(const Window& window) const {
    return options_.stride ? std::pair(window.begin, window.end)
                           : std::pair(window.keep_begin, window.keep_end);
  }

  TaskSequence sequence_of(const Piece& piece) const {
    const TagInput& input = inputs_[piece.input];
    TaskSequence sequence;
    sequence.tokens = wrap_tokens(model_.tokenizer, input.tokens, index_of(piece.window.begin),
                                  index_of(piece.window.end));
    sequence.first = input.text;
    sequence.wanted.resize(sequence.tokens.size());
    const size_t shift = model_.tokenizer.special_prefix().size();
    const auto [begin, end] = wanted(piece.window);
    for (int64_t token = begin; token < end; ++token) {
      sequence.wanted[shift + index_of(token - piece.window.begin)] = 1;
    }
    return sequence;
  }

  void take(const Piece& piece, std::span<const float> logits, int64_t global_tokens) {
    const TagInput& input = inputs_[piece.input];
    const auto [begin, end] = wanted(piece.window);
    if (piece.window.begin == 0) {
      finish_before(piece.input);
      scores_.emplace(room_for(input.tokens.size()));
      result_ = {};
      result_.windows = 0;
    }
    ++result_.windows;
    result_.global_tokens += global_tokens;
    const size_t columns = model_.model.info().labels.size();
    TokenScores window = room_for(index_of(end - begin));
    for (size_t token = 0; token < window.tokens(); ++token) {
      window.set(token, softmax(logits.subspan(token * columns, columns)));
    }
    for (int64_t token = piece.window.keep_begin; token < piece.window.keep_end; ++token) {
      scores_->copy(index_of(token), window, index_of(token - begin));
    }
    if (options_.stride) {
      for (TextEntity& entity : finder_.find(input, index_of(begin), window)) {
        result_.entities.push_back(std::move(entity));
      }
    }
    if (piece.last) finish(piece.input);
  }

  // Texts without tokens have no window.
  void finish_before(size_t input) {
    while (next_ < input) {
      result_ = {};
      scores_.emplace(room_for(0));
      finish(next_);
    }
  }

  void finish(size_t index) {
    const TagInput& input = inputs_[index];
    if (!options_.stride) {
      result_.entities = finder_.find(input, 0, *scores_);
    } else if (result_.windows > 1) {
      result_.entities = without_overlaps(std::move(result_.entities));
    }
    std::erase_if(result_.entities,
                  [&](const TextEntity& entity) { return entity.score < options_.threshold; });
    result_.words = label_words(input, *scores_, options_.aggregation);
    next_ = index + 1;
    visit_(index, result_);
  }

  static std::vector<TextEntity> without_overlaps(std::vector<TextEntity> entities) {
    std::stable_sort(entities.begin(), entities.end(),
                     [](const TextEntity& a, const TextEntity& b) {
                       return a.characters.begin < b.characters.begin;
                     });
    std::vector<ScoredRange> ranges;
    for (const TextEntity& entity : entities) {
      ranges.push_back({entity.characters.begin, entity.characters.end, entity.score});
    }
    std::vector<TextEntity> kept;
    for (const size_t i : drop_overlapping(ranges)) kept.push_back(std::move(entities[i]));
    return kept;
  }

  TaskTextModel& model_;
  std::span<const TagInput> inputs_;
  const TagOptions& options_;
  const TaskRun& run_;
  const TagVisitor& visit_;
  EntityFinder finder_;
  std::vector<Piece> pieces_;
  std::optional<TokenScores> scores_;  // of the input that is being read
  TaggedText result_;
  size_t next_ = 0;  // input to visit
};

}  // namespace

TagInput tag_input(const TextSpace& space, std::string text) {
  TagInput input;
  input.tokens = space.tokenizer.encode(text, {.add_special_tokens = false});
  input.text = std::move(text);
  count_characters(input);
  number_words(input);
  return input;
}

TagInput tag_input(const TextSpace& space, std::span<const std::string> words) {
  TagInput input;
  input.split = true;
  for (const std::string& word : words) {
    if (!input.words.empty()) input.text += ' ';
    const auto begin = static_cast<int64_t>(input.text.size());
    input.text += word;
    input.words.push_back({begin, static_cast<int64_t>(input.text.size())});
  }
  const text::EncodeSettings plain{.add_special_tokens = false};
  if (spells_words_alike(space.tokenizer)) {
    input.tokens = space.tokenizer.encode(text::TextInput(words), plain);
    for (size_t token = 0; token < input.tokens.size(); ++token) {
      const int64_t begin = input.words[index_of(input.tokens.words[token])].begin;
      input.tokens.offsets[token].begin += begin;
      input.tokens.offsets[token].end += begin;
    }
  } else {
    input.tokens = space.tokenizer.encode(input.text, plain);
    assign_words(input);
  }
  count_characters(input);
  return input;
}

void tag(TaskTextModel& model, std::span<const TagInput> inputs, const TagOptions& options,
         const TaskRun& run, const TagVisitor& visit) {
  if (options.stride && options.aggregation == Aggregation::kNone) {
    throw Error(ErrorCode::kInvalidArgument,
                "windows with a stride need entities to merge; choose another aggregation than "
                "none, or leave out the stride");
  }
  Tagger(model, inputs, options, run, visit).tag();
}

std::vector<std::string> word_labels(const TaggedText& tagged, std::span<const std::string> labels,
                                     const TagOptions& options) {
  const auto left_out = [&](const std::string& name, double score) {
    const std::vector<std::string>& list = options.ignore_labels;
    return score < options.threshold || std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<std::string> result(tagged.words.size(), "O");
  const LabelRules rules(labels, options.scheme.value_or(detect_scheme(labels)));
  for (const LabelGroup& group : group_labels(tagged.words, rules)) {
    const std::string& name = rules.name(tagged.words[group.begin].label);
    const bool grouped = options.aggregation != Aggregation::kNone;
    for (size_t word = group.begin; word < group.end; ++word) {
      const LabelledTokens& unit = tagged.words[word];
      const std::string& label = labels[unit.label];
      if (grouped ? !left_out(name, group.score) : !left_out(label, unit.score)) {
        result[word] = label;
      }
    }
  }
  return result;
}

std::vector<std::vector<std::string>> tag_sentences(
    TaskTextModel& model, std::span<const std::vector<std::string>> sentences, const TaskRun& run) {
  std::vector<TagInput> inputs;
  for (const std::vector<std::string>& sentence : sentences) {
    inputs.push_back(tag_input(model, std::span<const std::string>(sentence)));
  }
  TagOptions options;
  options.ignore_labels.clear();
  std::vector<std::vector<std::string>> result(inputs.size());
  tag(model, inputs, options, run, [&](size_t index, const TaggedText& tagged) {
    result[index] = word_labels(tagged, model.model.info().labels, options);
  });
  return result;
}

}  // namespace longformer::tasks
