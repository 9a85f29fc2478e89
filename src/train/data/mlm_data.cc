#include "train/data/mlm_data.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/random.h"
#include "io/documents/documents.h"
#include "io/documents/text_lines.h"
#include "longformer/error.h"
#include "tasks/masked_text.h"
#include "train/data/example_sink.h"
#include "train/data/packing.h"
#include "train/data/sequence_maker.h"

namespace longformer::train {
namespace {

// Texts of the files to records of the store, one a document.
class Documents {
 public:
  Documents(const DataModel& model, const DataOptions& options, const MlmOptions& how,
            ExampleSink& sink)
      : tokenizer_(model.tokenizer), options_(options), how_(how), sink_(sink) {}

  void file(const std::string& path) {
    const std::string extension = std::filesystem::path(path).extension().string();
    if (extension == ".jsonl" || extension == ".csv" || extension == ".tsv") {
      visit_rows({path}, options_.split, sink_, [&](io::Row& row, const std::string&) {
        tokens(text_of(row, how_.text));
        end_document();
      });
      return;
    }
    check_no_field(path);
    if (how_.files == TextFiles::kDocumentALine) {
      lines(path);
    } else if (takes(options_.split, path)) {
      sink_.record(path, [&] { document(path); });
    }
  }

 private:
  void check_no_field(const std::string& path) const {
    if (options_.split.side == SplitSide::kAll || options_.split.group_field.empty()) return;
    throw Error(ErrorCode::kInvalidArgument,
                "has no fields to split by; without one, documents stay whole", path);
  }

  void document(const std::string& path) {
    bool replaced = false;
    try {
      io::read_document(path, {}, [&](const io::Document& part) {
        tokens(part.text);
        replaced = replaced || part.replaced;
      });
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      // Parts of it are in the store already, where they would become another document's.
      if (pending_ > 0) throw Error(ErrorCode::kInvalidFile, error.what(), path);
      throw BadExample(std::string("cannot be read: ") + error.what());
    }
    sink_.notices.replaced += replaced ? 1 : 0;
    end_document();
  }

  void lines(const std::string& path) {
    io::TextLines reader(path, kMaxLineBytes);
    io::TextLine line;
    while (reader.next(line)) {
      const std::string number = std::to_string(line.number);
      const bool blank = line.text.find_first_not_of(" \t\r") == std::string::npos;
      if ((blank && !line.too_long) || !takes(options_.split, path + ":" + number)) continue;
      sink_.record(path + " line " + number, [&] {
        if (line.too_long) {
          throw BadExample("is longer than " + std::to_string(kMaxLineBytes) + " bytes");
        }
        if (const std::string fault = io::text_fault(line.text); !fault.empty()) {
          throw BadExample(fault);
        }
        tokens(line.text);
        end_document();
      });
    }
  }

  void tokens(std::string_view text) {
    const text::Encoding encoded = tokenizer_.encode(text, {.add_special_tokens = false});
    std::vector<int32_t> ids(encoded.ids.begin(), encoded.ids.end());
    pending_ += std::ssize(ids);
    sink_.writer().append(ids);
  }

  void end_document() {
    if (std::exchange(pending_, 0) == 0) throw BadExample("its text has no tokens");
    sink_.writer().end_record();
  }

  const text::Tokenizer& tokenizer_;
  const DataOptions& options_;
  const MlmOptions& how_;
  ExampleSink& sink_;
  int64_t pending_ = 0;  // tokens of the document that is being read
};

class MlmData : public TrainingData {
 public:
  MlmData(FilledStore filled, DataFiles files, const DataModel& model, const DataOptions& options,
          const MlmOptions& how);

  int64_t examples() const override { return std::ssize(sequences_); }
  int64_t tokens(int64_t example) const override {
    check(example);
    return sequences_[static_cast<size_t>(example)].tokens;
  }
  TrainingBatch example(int64_t index, uint64_t seed, int64_t epoch) const override;
  std::string identity() const override { return filled_.identity; }
  void check_unchanged() const override { files_.check_unchanged(); }
  const Notices& notices() const override { return filled_.notices; }
  const std::vector<std::string>& labels() const override { return no_labels_; }

 private:
  struct Sequence {
    PackPlace place;
    int32_t tokens = 0;
  };

  void check(int64_t example) const {
    if (example >= 0 && example < examples()) return;
    throw Error(ErrorCode::kInvalidArgument, "there is no example " + std::to_string(example) +
                                                 " of " + std::to_string(examples()));
  }
  void pack(int64_t min_tokens);
  std::vector<PackPiece> pieces(PackPlace& place) const;
  void hide(TrainingBatch& batch, uint64_t seed) const;

  FilledStore filled_;
  DataFiles files_;
  PackRules rules_;
  std::vector<int64_t> prefix_;
  std::vector<int64_t> suffix_;
  TaskInfo info_;
  std::optional<tasks::GlobalRule> rule_;
  std::vector<uint8_t> special_;       // one an id
  std::vector<int64_t> replacements_;  // ids that are not special
  tasks::MaskSettings mask_;
  std::vector<Sequence> sequences_;
  std::vector<std::string> no_labels_;
};

MlmData::MlmData(FilledStore filled, DataFiles files, const DataModel& model,
                 const DataOptions& options, const MlmOptions& how)
    : filled_(std::move(filled)),
      files_(std::move(files)),
      prefix_(model.tokenizer.special_prefix()),
      suffix_(model.tokenizer.special_suffix()),
      info_(model.info) {
  rules_ = {max_length_of(model, options), std::ssize(prefix_), std::ssize(suffix_), how.packing};
  if (!options.global.empty()) rule_ = tasks::GlobalRule::parse(options.global, model.info);
  special_.resize(static_cast<size_t>(model.tokenizer.vocabulary_size()));
  for (size_t id = 0; id < special_.size(); ++id) {
    const auto number = static_cast<int64_t>(id);
    special_[id] = model.tokenizer.is_special(number) ? 1 : 0;
    if (special_[id] == 0 && model.tokenizer.has_token(number)) replacements_.push_back(number);
  }
  mask_ = {.mask_id = how.mask_id,
           .vocabulary = model.tokenizer.vocabulary_size(),
           .replacements = {},
           .share = how.mlm_probability};
  pack(how.min_tokens);
}

std::vector<PackPiece> MlmData::pieces(PackPlace& place) const {
  return next_sequence(
      rules_, filled_.store.records(),
      [&](int64_t document) { return std::ssize(filled_.store.record(document)); }, place);
}

void MlmData::pack(int64_t min_tokens) {
  PackPlace place;
  for (;;) {
    Sequence sequence{place, 0};
    int64_t text = 0;
    const std::vector<PackPiece> found = pieces(place);
    if (found.empty()) break;
    for (const PackPiece& piece : found) text += piece.end - piece.begin;
    sequence.tokens =
        static_cast<int32_t>(rules_.prefix + text + std::ssize(found) * rules_.suffix);
    if (text < min_tokens) {
      ++filled_.notices.dropped;
    } else {
      sequences_.push_back(sequence);
    }
  }
}

TrainingBatch MlmData::example(int64_t index, uint64_t seed, int64_t epoch) const {
  check(index);
  TrainingBatch batch;
  std::vector<int64_t>& ids = batch.input.input_ids;
  ids = prefix_;
  PackPlace place = sequences_[static_cast<size_t>(index)].place;
  for (const PackPiece& piece : pieces(place)) {
    const auto tokens = filled_.store.record(piece.document)
                            .subspan(static_cast<size_t>(piece.begin),
                                     static_cast<size_t>(piece.end - piece.begin));
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    ids.insert(ids.end(), suffix_.begin(), suffix_.end());
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < std::ssize(special_)) continue;
    throw Error(ErrorCode::kInvalidFile,
                "is damaged; remove it, and it will be made again from the data",
                filled_.store.place());
  }
  batch.input.lengths = {std::ssize(ids)};
  batch.input.token_type_ids.assign(ids.size(), 0);
  batch.input.global_attention_mask = rule_ ? rule_->apply(info_, ids) : default_global(info_, ids);
  batch.samples = {static_cast<uint64_t>(index)};
  const uint64_t key = random_bits(seed, static_cast<uint64_t>(epoch));
  hide(batch, random_bits(key, static_cast<uint64_t>(index)));
  return batch;
}

// Places count special tokens too, so that what a token is has no say in the draws of others.
void MlmData::hide(TrainingBatch& batch, uint64_t seed) const {
  std::vector<int64_t>& ids = batch.input.input_ids;
  std::vector<int64_t>& classes = batch.targets.classes;
  classes.assign(ids.size(), kIgnoredLabel);
  tasks::MaskSettings settings = mask_;
  settings.replacements = replacements_;
  std::vector<size_t> maskable;
  bool any = false;
  const auto choose = [&](size_t token) {
    classes[token] = ids[token];
    ids[token] = tasks::hide_token(ids[token], seed, token, settings);
    any = true;
  };
  for (size_t token = 0; token < ids.size(); ++token) {
    if (special_[static_cast<size_t>(ids[token])] != 0) continue;
    maskable.push_back(token);
    if (tasks::is_chosen(seed, token, settings)) choose(token);
  }
  if (any || maskable.empty()) return;
  // A key of its own: the draws of the tokens are used up.
  const double draw = random_uniform(random_bits(seed, ~uint64_t{0}), 0);
  choose(maskable[static_cast<size_t>(draw * static_cast<double>(maskable.size()))]);
}

void check(const DataModel& model, const DataOptions& options, const MlmOptions& how) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, what);
  };
  if (!(how.mlm_probability > 0 && how.mlm_probability <= 1)) {
    refuse("the share of tokens that are hidden must be above 0 and at most 1");
  }
  if (how.mask_id < 0 || how.mask_id >= model.tokenizer.vocabulary_size()) {
    refuse("the mask token is none of the vocabulary");
  }
  if (options.stride ||
      options.long_text.value_or(tasks::LongText::kWindows) != tasks::LongText::kWindows) {
    refuse(
        "documents are packed one behind the other and go on in the next sequence; there is "
        "nothing to cut off, refuse or read twice");
  }
  if (options.global.find("regex:") != std::string::npos) {
    refuse("global: regex: needs a text to search, and packed documents are ids");
  }
  const int64_t specials =
      std::ssize(model.tokenizer.special_prefix()) + std::ssize(model.tokenizer.special_suffix());
  if (max_length_of(model, options) <= specials) {
    refuse("a sequence has no room for text between the special tokens");
  }
}

std::string store_facts(const DataModel& model, const DataOptions& options, const MlmOptions& how) {
  return "tokenizer " + model.tokenizer_id + "\nplain text " +
         (how.files == TextFiles::kDocument ? "a document a file" : "a document a line") +
         "\nfield " + how.text + "\n" + split_fact(options.split);
}

std::string sequence_facts(const DataModel& model, const DataOptions& options,
                           const MlmOptions& how) {
  return "max_length " + std::to_string(max_length_of(model, options)) + "\npacking " +
         (how.packing == Packing::kFill ? "fill" : "whole") + " min_tokens " +
         std::to_string(how.min_tokens) + "\nmlm_probability " +
         std::to_string(how.mlm_probability) + " mask " + std::to_string(how.mask_id) +
         "\nglobal " + (options.global.empty() ? "default" : options.global) + "\n";
}

}  // namespace

std::unique_ptr<TrainingData> mlm_data(const DataModel& model, const DataOptions& options,
                                       const MlmOptions& how) {
  check(model, options, how);
  StorePlan plan{"mlm", DataFiles::list(options.paths), store_facts(model, options, how)};
  FilledStore filled = fill_store(plan, options, [&](ExampleSink& sink) {
    Documents documents(model, options, how, sink);
    for (const DataFile& file : plan.files.files()) documents.file(file.path);
  });
  filled.identity += sequence_facts(model, options, how);
  auto data = std::make_unique<MlmData>(std::move(filled), plan.files, model, options, how);
  if (data->examples() > 0) return data;
  throw Error(ErrorCode::kInvalidFile,
              "there is no text for an example in it; see min_tokens and the share of the split",
              plan.files.files()[0].path);
}

}  // namespace longformer::train
