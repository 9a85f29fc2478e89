// Data sets whose examples are records of a store.
#include <charconv>
#include <utility>

#include "io/hash.h"
#include "longformer/error.h"
#include "train/data/example_codec.h"
#include "train/data/example_sink.h"

namespace longformer::train {
namespace {

// Raised when the same facts give other examples than before, so that old stores are not found.
constexpr const char* kVersion = "examples 1\n";

using Count = std::pair<const char*, int64_t Notices::*>;
constexpr Count kCounts[] = {
    {"records", &Notices::records},       {"skipped", &Notices::skipped},
    {"truncated", &Notices::truncated},   {"truncated_tokens", &Notices::truncated_tokens},
    {"windowed", &Notices::windowed},     {"unanswered", &Notices::unanswered},
    {"dropped", &Notices::dropped},       {"widened", &Notices::widened},
    {"lost_words", &Notices::lost_words}, {"replaced", &Notices::replaced},
};

// Counts, then what is named, a line each.
std::string notices_text(const Notices& notices) {
  std::string text;
  for (const auto& [name, member] : kCounts) text += std::to_string(notices.*member) + "\n";
  for (const std::string& line : notices.named) text += line + "\n";
  return text;
}

Notices read_notices(const std::string& text, const std::string& place) {
  Notices notices;
  size_t line = 0;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (line >= std::size(kCounts)) {
      notices.named.push_back(text.substr(at, end - at));
    } else if (std::from_chars(text.data() + at, text.data() + end, notices.*kCounts[line].second)
                   .ec != std::errc()) {
      throw Error(ErrorCode::kInvalidFile, "is damaged; remove it", place);
    }
    at = end + 1;
  }
  return notices;
}

class StoredData : public TrainingData {
 public:
  StoredData(FilledStore filled, DataFiles files, const DataModel& model)
      : filled_(std::move(filled)),
        files_(std::move(files)),
        ids_(model.tokenizer.vocabulary_size()),
        labels_(model.info.labels) {}

  int64_t examples() const override { return filled_.store.records(); }
  int64_t tokens(int64_t example) const override {
    return example_tokens(filled_.store.record(example), filled_.store.place());
  }
  TrainingBatch example(int64_t index, uint64_t, int64_t) const override {
    TrainingBatch batch = decode_example(filled_.store.record(index), ids_, filled_.store.place());
    batch.samples.assign(batch.input.lengths.size(), static_cast<uint64_t>(index));
    return batch;
  }
  std::string identity() const override { return filled_.identity; }
  void check_unchanged() const override { files_.check_unchanged(); }
  const Notices& notices() const override { return filled_.notices; }
  const std::vector<std::string>& labels() const override { return labels_; }

 private:
  FilledStore filled_;
  DataFiles files_;
  int64_t ids_;
  std::vector<std::string> labels_;
};

}  // namespace

std::vector<std::pair<std::string, int64_t>> counts_of(const Notices& notices) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const auto& [name, member] : kCounts) {
    if (notices.*member != 0) counts.emplace_back(name, notices.*member);
  }
  return counts;
}

FilledStore fill_store(const StorePlan& plan, const DataOptions& options,
                       const std::function<void(ExampleSink&)>& fill) {
  if (options.cache.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "no directory for the tokens of the data is named");
  }
  check_split(options.split);
  FilledStore filled;
  filled.identity = "task " + plan.task + "\n" + plan.files.facts() + plan.facts;
  const std::string key = kVersion + filled.identity +
                          (options.bad == BadRecords::kSkip ? "bad records are left out\n" : "");
  io::Sha256 hash;
  hash.update(key);
  const std::filesystem::path path = options.cache / (plan.task + "-" + hash.hex().substr(0, 32));
  std::optional<TokenStore> store = TokenStore::open(path, key);
  if (!store) {
    TokenStoreWriter writer(path, key);
    ExampleSink sink(options.bad, writer);
    fill(sink);
    plan.files.check_unchanged();
    writer.commit(notices_text(sink.notices));
    store = TokenStore::open(path, key);
    if (!store) {
      throw Error(ErrorCode::kIo, "cannot be read back after it was written", path.string());
    }
  }
  filled.notices = read_notices(store->notes(), store->place());
  filled.store = std::move(*store);
  return filled;
}

std::unique_ptr<TrainingData> stored_data(StorePlan plan, const DataModel& model,
                                          const DataOptions& options,
                                          const std::function<void(ExampleSink&)>& fill) {
  FilledStore filled = fill_store(plan, options, fill);
  if (filled.store.records() == 0) {
    const Notices& notices = filled.notices;
    throw Error(ErrorCode::kInvalidFile,
                "there is no example in it: " + std::to_string(notices.records) +
                    " records were read, " + std::to_string(notices.skipped) +
                    " of them left out; see the share of the split and what is skipped",
                plan.files.files()[0].path);
  }
  return std::make_unique<StoredData>(std::move(filled), std::move(plan.files), model);
}

}  // namespace longformer::train
