#include "train/data/tag_data.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "io/json.h"
#include "longformer/error.h"
#include "tasks/tag.h"
#include "tasks/windows.h"
#include "train/data/characters.h"
#include "train/data/example_sink.h"
#include "train/data/sequence_maker.h"
#include "train/data/tag_records.h"

namespace longformer::train {
namespace {

std::string span_name(const io::MarkedSpan& span) {
  return "the span " + position_text(span.begin) + " to " + position_text(span.end) + " (" +
         io::short_value(io::Json(span.label)) + ")";
}

// Whether the marked text is this one, line ends and tabs aside.
bool says(std::string_view found, std::string_view marked) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  return std::equal(found.begin(), found.end(), marked.begin(), marked.end(),
                    [&](char a, char b) { return a == b || (space(a) && space(b)); });
}

class Tagger {
 public:
  Tagger(const DataModel& model, const DataOptions& options, const TagDataOptions& how,
         ExampleSink& sink)
      : maker_(model, options),
        options_(options),
        how_(how),
        labels_(model.info.labels),
        sink_(sink) {
    for (const std::string& label : model.info.labels) {
      const std::string inside = "I" + label.substr(std::min<size_t>(1, label.size()));
      const bool begins = label.starts_with("B-") && labels_.has(inside);
      inside_.push_back(label_number(labels_, begins ? inside : label, ""));
    }
  }

  void read(TagRecord& record) {
    if (!record.fault.empty()) throw BadExample(record.fault);
    if (!record.has_spans()) {
      std::vector<int64_t> classes;
      for (const std::string& tag : record.tags) {
        classes.push_back(label_number(labels_, tag, record.place));
      }
      add(tasks::tag_input(maker_.space(), std::span<const std::string>(record.words)), classes);
      return;
    }
    const tasks::TagInput input = tasks::tag_input(maker_.space(), record.text);
    add(input, classes_of_spans(record, input));
  }

 private:
  std::vector<int64_t> classes_of_spans(TagRecord& record, const tasks::TagInput& input);
  void mark(const io::MarkedSpan& span, const std::string& place, const Characters& characters,
            const tasks::TagInput& input, std::vector<int64_t>& classes);
  std::pair<int64_t, int64_t> classes_of(const std::string& label, const std::string& place) const;
  std::vector<int64_t> token_classes(const tasks::TagInput& input,
                                     const std::vector<int64_t>& classes);
  std::vector<tasks::Window> windows_of(int64_t tokens);
  void add(const tasks::TagInput& input, const std::vector<int64_t>& classes);

  SequenceMaker maker_;
  const DataOptions& options_;
  const TagDataOptions& how_;
  tasks::LabelSet labels_;
  std::vector<int64_t> inside_;  // of each class: that of a word's other pieces
  ExampleSink& sink_;
};

// Of the first word of a span, and of the others.
std::pair<int64_t, int64_t> Tagger::classes_of(const std::string& label,
                                               const std::string& place) const {
  if (!labels_.has("B-" + label) && labels_.has(label)) {
    return {label_number(labels_, label, place), label_number(labels_, label, place)};
  }
  const std::string inside = "I-" + label;
  const int64_t first = label_number(labels_, "B-" + label, place);
  return {first, labels_.has(inside) ? label_number(labels_, inside, place) : first};
}

void Tagger::mark(const io::MarkedSpan& span, const std::string& place,
                  const Characters& characters, const tasks::TagInput& input,
                  std::vector<int64_t>& classes) {
  const auto refuse = [&](const std::string& what) {
    sink_.bad_record(place, span_name(span) + " " + what);
  };
  if (span.begin < 0 || span.begin >= span.end || span.begin != std::floor(span.begin) ||
      span.end != std::floor(span.end)) {
    return refuse("is none: it needs whole numbers from 0, the end behind the start");
  }
  if (span.end > static_cast<double>(characters.count())) {
    return refuse("lies outside the document of " + std::to_string(characters.count()) +
                  " characters");
  }
  const auto begin = static_cast<int64_t>(characters.byte(static_cast<size_t>(span.begin)));
  const auto end = static_cast<int64_t>(characters.byte(static_cast<size_t>(span.end)));
  if (!span.text.empty() &&
      !says(std::string_view(input.text)
                .substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
            span.text)) {
    return refuse("is not where its text stands; positions count characters from 0");
  }
  const std::vector<tasks::ByteRange>& words = input.words;
  const auto first = std::partition_point(words.begin(), words.end(), [&](const auto& word) {
    return static_cast<int64_t>(word.end) <= begin;
  });
  const auto last = std::partition_point(
      first, words.end(), [&](const auto& word) { return static_cast<int64_t>(word.begin) < end; });
  if (first == last) return refuse("holds no word");
  const auto [begin_class, inside_class] = classes_of(span.label, place);
  for (auto word = first; word != last; ++word) {
    if (classes[static_cast<size_t>(word - words.begin())] != kIgnoredLabel) {
      return refuse("overlaps another one");
    }
  }
  for (auto word = first; word != last; ++word) {
    classes[static_cast<size_t>(word - words.begin())] = word == first ? begin_class : inside_class;
  }
  const auto grown = [&](int64_t from, int64_t to) {
    const std::string_view text(input.text);
    return from < to && text.substr(static_cast<size_t>(from), static_cast<size_t>(to - from))
                                .find_first_not_of(" \t\r\n") != std::string_view::npos;
  };
  if (grown(static_cast<int64_t>(first->begin), begin) ||
      grown(end, static_cast<int64_t>((last - 1)->end))) {
    ++sink_.notices.widened;
  }
}

std::vector<int64_t> Tagger::classes_of_spans(TagRecord& record, const tasks::TagInput& input) {
  const auto place_of = [&](int64_t line) {
    return line == 0 ? record.spans_place : record.spans_place + " line " + std::to_string(line);
  };
  for (const io::BadRecord& bad : record.bad_spans)
    sink_.bad_record(place_of(bad.line), bad.reason);
  std::stable_sort(record.spans.begin(), record.spans.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const Characters characters(input.text);
  std::vector<int64_t> classes(input.words.size(), kIgnoredLabel);
  for (const io::MarkedSpan& span : record.spans) {
    mark(span, place_of(span.line), characters, input, classes);
  }
  const int64_t outside = label_number(labels_, "O", record.place);
  std::replace(classes.begin(), classes.end(), kIgnoredLabel, outside);
  return classes;
}

std::vector<int64_t> Tagger::token_classes(const tasks::TagInput& input,
                                           const std::vector<int64_t>& classes) {
  std::vector<int64_t> labels(input.tokens.size(), kIgnoredLabel);
  std::vector<uint8_t> seen(classes.size());
  for (size_t token = 0; token < labels.size(); ++token) {
    const int32_t number = input.tokens.words[token];
    if (number < 0 || static_cast<size_t>(number) >= classes.size()) continue;
    const auto word = static_cast<size_t>(number);
    if (std::exchange(seen[word], uint8_t{1}) == 0) {
      labels[token] = classes[word];
    } else if (how_.other_pieces == OtherPieces::kInside) {
      labels[token] = inside_[static_cast<size_t>(classes[word])];
    }
  }
  sink_.notices.lost_words += std::count(seen.begin(), seen.end(), uint8_t{0});
  return labels;
}

std::vector<tasks::Window> Tagger::windows_of(int64_t tokens) {
  const text::Tokenizer& tokenizer = maker_.model().tokenizer;
  const int64_t room = maker_.space().max_tokens - std::ssize(tokenizer.special_prefix()) -
                       std::ssize(tokenizer.special_suffix());
  if (room < 1) throw BadExample("a sequence has no room for text between the special tokens");
  if (tokens <= room) return {{0, tokens, 0, tokens}};
  const tasks::LongText how = options_.long_text.value_or(tasks::LongText::kWindows);
  if (how == tasks::LongText::kRefuse) {
    throw BadExample(std::to_string(tokens) + " tokens, and a sequence has room for " +
                     std::to_string(room));
  }
  if (how == tasks::LongText::kTruncate) {
    ++sink_.notices.truncated;
    sink_.notices.truncated_tokens += tokens - room;
    return {{0, room, 0, room}};
  }
  ++sink_.notices.windowed;
  return tasks::plan_windows(tokens, room,
                             options_.stride.value_or(tasks::window_overlap(room, 0)));
}

void Tagger::add(const tasks::TagInput& input, const std::vector<int64_t>& classes) {
  if (input.tokens.size() == 0) throw BadExample("its text has no tokens");
  const text::Tokenizer& tokenizer = maker_.model().tokenizer;
  const std::vector<int64_t> labels = token_classes(input, classes);
  const size_t shift = tokenizer.special_prefix().size();
  maker_.begin(input.text);
  for (const tasks::Window& window : windows_of(std::ssize(labels))) {
    TrainingBatch example;
    const text::Encoding tokens =
        tasks::wrap_tokens(tokenizer, input.tokens, static_cast<size_t>(window.begin),
                           static_cast<size_t>(window.end));
    maker_.add(tokens, example);
    example.targets.classes.assign(tokens.size(), kIgnoredLabel);
    for (int64_t token = window.keep_begin; token < window.keep_end; ++token) {
      example.targets.classes[shift + static_cast<size_t>(token - window.begin)] =
          labels[static_cast<size_t>(token)];
    }
    if (count_labels(example.targets) == 0) {
      ++sink_.notices.dropped;
    } else {
      sink_.add(example);
    }
  }
}

std::string facts_of(const DataModel& model, const DataOptions& options,
                     const TagDataOptions& how) {
  std::string facts = common_facts(
      model, options, long_text_name(options.long_text.value_or(tasks::LongText::kWindows)));
  facts += "column " + std::to_string(how.column) + " fields " + how.words + " " + how.tags + " " +
           how.text + " " + how.spans + "\n";
  facts += std::string("other pieces ") +
           (how.other_pieces == OtherPieces::kInside ? "inside" : "ignored") + "\n";
  for (const std::string& label : model.info.labels) {
    facts += "label " + io::Json(label).dump() + "\n";
  }
  return facts;
}

}  // namespace

std::vector<std::string> tag_labels(const DataOptions& options, const TagDataOptions& how) {
  std::set<std::string> names;
  visit_tag_records(with_annotations(expand_paths(options.paths)), {}, how, [&](TagRecord& record) {
    if (!record.fault.empty()) {
      if (options.bad == BadRecords::kSkip) return;
      throw Error(ErrorCode::kInvalidFile, record.fault, record.place);
    }
    names.insert(record.tags.begin(), record.tags.end());
    if (record.has_spans()) names.insert("O");
    for (const io::MarkedSpan& span : record.spans) {
      names.insert("B-" + span.label);
      names.insert("I-" + span.label);
    }
  });
  return tasks::sort_labels({names.begin(), names.end()});
}

std::unique_ptr<TrainingData> tag_data(const DataModel& model, const DataOptions& options,
                                       const TagDataOptions& how) {
  StorePlan plan{"tag", DataFiles::list(with_annotations(expand_paths(options.paths))),
                 facts_of(model, options, how)};
  const std::vector<std::string> paths = plan.files.paths();
  return stored_data(std::move(plan), model, options, [&](ExampleSink& sink) {
    Tagger tagger(model, options, how, sink);
    visit_tag_records(paths, options.split, how, [&](TagRecord& record) {
      if (!takes(options.split, record.group)) return;
      sink.record(record.place, [&] { tagger.read(record); });
    });
  });
}

}  // namespace longformer::train
