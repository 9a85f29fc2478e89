#include "train/data/example_codec.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "longformer/error.h"

namespace longformer::train {
namespace {

enum Header { kSequences, kTokens, kClasses, kValues, kChoices, kSpans, kTypes, kGlobals, kHeader };

int32_t narrow(int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    throw Error(ErrorCode::kInvalidArgument, "an example has a number beyond 32 bits");
  }
  return static_cast<int32_t>(value);
}

struct Run {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t value = 0;
};

// Runs of equal values that are not 0.
template <typename T>
std::vector<Run> runs_of(const std::vector<T>& values) {
  std::vector<Run> runs;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    const auto at = static_cast<int64_t>(i);
    const auto value = static_cast<int64_t>(values[i]);
    if (runs.empty() || runs.back().value != value || runs.back().begin + runs.back().count != at) {
      runs.push_back({at, 0, value});
    }
    ++runs.back().count;
  }
  return runs;
}

// Reads a record from front to back.
class Reader {
 public:
  Reader(std::span<const int32_t> record, const std::string& place)
      : left_(record), place_(place) {}

  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kInvalidFile,
                "is damaged; remove it, and it will be made again from the data", place_);
  }
  int64_t next() {
    if (left_.empty()) fail();
    const int32_t value = left_[0];
    left_ = left_.subspan(1);
    return value;
  }
  int64_t next(int64_t low, int64_t end) {
    const int64_t value = next();
    if (value < low || value >= end) fail();
    return value;
  }
  std::vector<int64_t> list(int64_t count) {
    if (count < 0 || count > std::ssize(left_)) fail();
    const auto size = static_cast<size_t>(count);
    std::vector<int64_t> values(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(size));
    left_ = left_.subspan(size);
    return values;
  }
  bool done() const { return left_.empty(); }

 private:
  std::span<const int32_t> left_;
  const std::string& place_;
};

template <typename T>
void read_runs(Reader& reader, int64_t runs, int64_t tokens, std::vector<T>& values) {
  values.assign(static_cast<size_t>(tokens), 0);
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t value = reader.next(1, 128);
    const int64_t begin = reader.next(0, tokens);
    const int64_t count = reader.next(1, tokens - begin + 1);
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    std::fill(first, first + static_cast<std::ptrdiff_t>(count), static_cast<T>(value));
  }
}

void read_spans(Reader& reader, const std::vector<int64_t>& lengths, int64_t total,
                Targets& targets) {
  for (const int64_t length : lengths) {
    const int64_t count = reader.next(0, total + 1);
    total -= count;
    std::vector<TokenSpan>& spans = targets.spans.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = reader.next(0, length);
      spans.push_back({first, reader.next(first, length)});
    }
  }
  if (total != 0) reader.fail();
}

}  // namespace

std::vector<int32_t> encode_example(const TrainingBatch& example) {
  const EncoderInput& input = example.input;
  const Targets& targets = example.targets;
  const std::vector<Run> types = runs_of(input.token_type_ids);
  const std::vector<Run> globals = runs_of(input.global_attention_mask);
  int64_t spans = targets.spans.empty() ? -1 : 0;
  for (const auto& list : targets.spans) spans += std::ssize(list);
  std::vector<int32_t> record;
  record.reserve(kHeader + input.input_ids.size() + targets.classes.size() + 16);
  const auto put = [&](int64_t value) { record.push_back(narrow(value)); };
  for (const int64_t count :
       {std::ssize(input.lengths), std::ssize(input.input_ids), std::ssize(targets.classes),
        std::ssize(targets.values), std::ssize(targets.choices), spans, std::ssize(types),
        std::ssize(globals)}) {
    put(count);
  }
  for (const auto* list : {&input.lengths, &input.input_ids, &targets.classes}) {
    std::for_each(list->begin(), list->end(), put);
  }
  for (const float value : targets.values) record.push_back(std::bit_cast<int32_t>(value));
  std::for_each(targets.choices.begin(), targets.choices.end(), put);
  for (const auto& list : targets.spans) {
    put(std::ssize(list));
    for (const TokenSpan& span : list) put(span.first), put(span.last);
  }
  for (const std::vector<Run>* runs : {&types, &globals}) {
    for (const Run& run : *runs) put(run.value), put(run.begin), put(run.count);
  }
  return record;
}

int64_t example_tokens(std::span<const int32_t> record, const std::string& place) {
  Reader reader(record, place);
  return reader.list(kHeader)[kTokens];
}

TrainingBatch decode_example(std::span<const int32_t> record, int64_t ids,
                             const std::string& place) {
  Reader reader(record, place);
  const std::vector<int64_t> header = reader.list(kHeader);
  TrainingBatch example;
  EncoderInput& input = example.input;
  input.lengths = reader.list(header[kSequences]);
  int64_t left = header[kTokens];
  for (const int64_t length : input.lengths) {
    if (length < 0 || length > left) reader.fail();
    left -= length;
  }
  if (left != 0) reader.fail();
  input.input_ids = reader.list(header[kTokens]);
  if (std::any_of(input.input_ids.begin(), input.input_ids.end(),
                  [&](int64_t id) { return id < 0 || id >= ids; })) {
    reader.fail();
  }
  Targets& targets = example.targets;
  targets.classes = reader.list(header[kClasses]);
  for (const int64_t bits : reader.list(header[kValues])) {
    targets.values.push_back(std::bit_cast<float>(static_cast<int32_t>(bits)));
  }
  targets.choices = reader.list(header[kChoices]);
  if (header[kSpans] >= 0) read_spans(reader, input.lengths, header[kSpans], targets);
  read_runs(reader, header[kTypes], header[kTokens], input.token_type_ids);
  read_runs(reader, header[kGlobals], header[kTokens], input.global_attention_mask);
  if (!reader.done()) reader.fail();
  return example;
}

}  // namespace longformer::train
