// Where builders put examples, and say what is wrong with records.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/datasets/rows.h"
#include "tasks/label_set.h"
#include "train/data/data_files.h"
#include "train/data/data_options.h"
#include "train/data/token_store.h"
#include "train/data/training_data.h"

namespace longformer::train {

// A record that cannot be used; ExampleSink::record() adds the place. "its text is empty"
class BadExample : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ExampleSink {
 public:
  ExampleSink(BadRecords bad, TokenStoreWriter& writer) : bad_(bad), writer_(writer) {}

  // Reads one record. What `read` throws as BadExample, or as Error(kInvalidArgument) without
  // having added an example, makes it one that cannot be used: then as BadRecords says.
  void record(const std::string& place, const std::function<void()>& read);
  // A record, or a span of one, that is left out or refused.
  void bad_record(const std::string& place, const std::string& reason);
  void add(const TrainingBatch& example);

  TokenStoreWriter& writer() { return writer_; }
  Notices notices;

 private:
  BadRecords bad_;
  TokenStoreWriter& writer_;
};

// What a store of examples is made from; all of it is in the key.
struct StorePlan {
  std::string task;  // "classify", in the name of the store
  DataFiles files;
  std::string facts;  // a line an option that shapes the examples
};
// The lines that all tasks share: tokenizer, lengths, cuts, split, rule of global tokens.
std::string common_facts(const DataModel& model, const DataOptions& options,
                         const std::string& long_text);
int64_t max_length_of(const DataModel& model, const DataOptions& options);  // throws where too long

// The store that the plan has in the cache, or one that `fill` makes now. `files` must be the same
// before and after. Notices come out of the store.
struct FilledStore {
  TokenStore store;
  Notices notices;
  std::string identity;
};
FilledStore fill_store(const StorePlan& plan, const DataOptions& options,
                       const std::function<void(ExampleSink&)>& fill);

// Examples that are stored as they are, one a record. Throws kInvalidFile where there are none.
std::unique_ptr<TrainingData> stored_data(StorePlan plan, const DataModel& model,
                                          const DataOptions& options,
                                          const std::function<void(ExampleSink&)>& fill);

// Visits the rows of all files that are on the split's side, each inside ExampleSink::record().
using RowVisitor = std::function<void(io::Row& row, const std::string& place)>;
void visit_rows(const std::vector<std::string>& paths, const Split& split, ExampleSink& sink,
                const RowVisitor& visit);
// Of both sides, before there is a sink: for labels. What cannot be used throws or is passed over.
void visit_records(const std::vector<std::string>& paths, BadRecords bad,
                   const std::function<void(io::Row&)>& visit);
// The number of a label. Throws kInvalidFile at `place` naming the labels there are, which ends the
// reading whatever BadRecords says: data and model do not belong together.
int64_t label_number(const tasks::LabelSet& labels, const std::string& name,
                     const std::string& place);
// A cell of a row, and one that is a text with more than white space in it. Throw BadExample.
io::Cell& cell_of(io::Row& row, const std::string& field);
std::string& text_of(io::Row& row, const std::string& field);

}  // namespace longformer::train
