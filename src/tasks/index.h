// Building an index and keeping it up to date.
//
// Each document is committed by itself: its vectors are on the disk before the rows that refer to
// them, so a process that is killed at any moment leaves an index without the document in work, and
// the next run goes on there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/documents/documents.h"
#include "tasks/index_changes.h"
#include "tasks/index_settings.h"

namespace longformer::tasks {

// What the caller chose; what is left open is as the index has it, else the default.
struct IndexChoices {
  std::optional<Context> context;
  std::optional<int64_t> passage_tokens;
  std::optional<io::VectorKind> vectors;
  std::optional<int64_t> dims;
  std::optional<Shard> shard;
  // What the caller wants to find again in settings(), kept when an index is made; their names
  // begin with a dot.
  io::Settings notes;
};

struct IndexInput {
  // What the user named. A file of the index that lies below one of these, and is not among the
  // documents, has been removed, as long as there is any file below it: a directory that is empty
  // or not there may be a disk that is not.
  std::vector<std::string> arguments;
  std::vector<std::string> documents;  // io::list_documents()
  std::vector<std::string> copies;     // of them, found as well
  io::ReadOptions read;
};

struct IndexHooks {
  std::function<void(double share)> progress;
  std::function<bool()> cancelled;
};

struct IndexSummary {
  int64_t added = 0;  // files
  int64_t changed = 0;
  int64_t moved = 0;
  int64_t removed = 0;
  int64_t unchanged = 0;
  int64_t files = 0;     // in the index now
  int64_t passages = 0;  // in the index now
  int64_t tokens = 0;    // read by this run
  int64_t windowed = 0;  // documents that were read in several windows
  bool compacted = false;
  std::vector<std::string> unreadable;  // documents of mostly unknown words
  std::vector<std::string> replaced;    // documents with bytes that are not UTF-8
  std::vector<io::SkippedFile> skipped;
  std::vector<KeptFiles> kept;
};

// The right to write one index, for as long as this lives.
class IndexWriter {
 public:
  // Throws kInvalidArgument at once when another process is writing it, or the directory holds
  // something else. kRebuild does not open what is there and replaces it in one step at the end; it
  // refuses a directory that holds anything but an index. A link stands for what it points to.
  enum class Mode { kUpdate, kRebuild };
  IndexWriter(const std::filesystem::path& directory, Mode mode);
  ~IndexWriter();
  IndexWriter(const IndexWriter&) = delete;
  IndexWriter& operator=(const IndexWriter&) = delete;

  // Of the index as it is; empty for a new one.
  const io::Settings& settings() const;

  // Throws kInvalidArgument naming what differs from the index, kCancelled, and what a model with
  // broken weights throws. A document that cannot be read is skipped and reported.
  IndexSummary update(TextModel& model, const std::filesystem::path& model_directory,
                      const IndexChoices& choices, const IndexInput& input,
                      const IndexHooks& hooks = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One index from several with the same settings; a file that two have with the same content counts
// once. `output` is new or an empty directory, and appears whole or not at all.
IndexSummary merge_indexes(const std::vector<std::filesystem::path>& inputs,
                           const std::filesystem::path& output, const IndexHooks& hooks = {});

}  // namespace longformer::tasks
