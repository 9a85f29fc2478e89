// One index from several.
#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "io/temporaries.h"
#include "tasks/index.h"
#include "tasks/index_changes.h"
#include "tasks/index_search.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

struct Part {
  const IndexReader* index = nullptr;
  const io::CollectionFile* file = nullptr;
};

// The files of the result, by path. Under one path the newest stays, of equal content the first
// path.
std::vector<Part> choose_parts(const std::vector<IndexReader>& inputs) {
  std::map<std::string, Part> by_path;
  for (const IndexReader& input : inputs) {
    for (const io::CollectionFile& file : input.files()) {
      Part& part = by_path[file.path];
      if (part.file == nullptr || part.file->mtime < file.mtime) part = {&input, &file};
    }
  }
  std::set<std::pair<std::string, int64_t>> contents;
  std::vector<Part> parts;
  for (const auto& [path, part] : by_path) {
    const bool fresh = contents.emplace(part.file->sha256, part.file->size).second;
    if (fresh || part.file->size == 0) parts.push_back(part);
  }
  return parts;
}

io::Settings merged_settings(const std::vector<IndexReader>& inputs) {
  io::Settings settings = inputs.front().collection().settings();
  for (const IndexReader& input : inputs) {
    check_settings(input.collection().settings(), settings, Compare::kAllButShard,
                   input.directory().string(), "in " + inputs.front().directory().string());
  }
  for (auto& [name, value] : settings) {
    if (name == "shard") value.clear();
  }
  return settings;
}

class Merger {
 public:
  Merger(const fs::path& directory, const io::Settings& settings)
      : collection_(io::Collection::create(directory, settings)),
        longest_text_(longest_kept_text(settings, directory.string())),
        vectors_(directory, vector_layout(settings, directory.string()),
                 collection_.state().generation, 0) {}

  IndexSummary run(const std::vector<Part>& parts, const IndexHooks& hooks) {
    collection_.begin();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (hooks.cancelled && hooks.cancelled()) {
        throw Error(ErrorCode::kCancelled, "stopped on request");
      }
      add(parts[i]);
      if (hooks.progress) {
        hooks.progress(static_cast<double>(i + 1) / static_cast<double>(parts.size()));
      }
    }
    vectors_.sync();
    io::CollectionState state = collection_.state();
    state.positions = vectors_.rows();
    state.next_passage = next_;
    collection_.set_state(state);
    collection_.commit();
    summary_.files = summary_.added = static_cast<int64_t>(parts.size());
    summary_.passages = vectors_.rows();
    return summary_;
  }

 private:
  void add(const Part& part) {
    io::CollectionFile file = *part.file;
    const int64_t first = file.first_passage;
    const int64_t position = file.first_position;
    file.first_passage = next_;
    file.first_position = vectors_.rows();
    int64_t copied = 0;
    part.index->collection().passages(
        first, first + file.passages, [&](int64_t id, const io::CollectionPassage& passage) {
          check_kept_text(passage, longest_text_, part.index->directory().string());
          collection_.add_passage(file.first_passage + id - first, passage);
          ++copied;
        });
    if (copied != file.passages) {
      throw Error(ErrorCode::kInvalidFile, "lacks passages; build it anew with --rebuild",
                  part.index->directory().string());
    }
    for (int64_t k = 0; k < file.passages; ++k) {
      vectors_.append_row(part.index->vectors().row(position + k));
    }
    collection_.add_file(file);
    next_ += file.passages;
  }

  io::Collection collection_;
  int64_t longest_text_;
  io::VectorWriter vectors_;
  int64_t next_ = 1;
  IndexSummary summary_;
};

}  // namespace

IndexSummary merge_indexes(const std::vector<fs::path>& inputs, const fs::path& output,
                           const IndexHooks& hooks) {
  if (inputs.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "name the indexes to merge", "merge");
  }
  std::vector<IndexReader> readers;
  for (const fs::path& input : inputs) readers.emplace_back(input);
  const io::Settings settings = merged_settings(readers);
  const fs::path target = index_directory(output);
  io::check_replaceable(target);
  const io::WriterLock lock(target);
  if (io::Collection::exists(target)) {
    throw Error(ErrorCode::kInvalidArgument, "is an index already; name a new directory",
                target.string());
  }
  const fs::path fresh = target.parent_path() / ("." + target.filename().string() + ".merge");
  std::error_code ignored;
  io::remove_leftover(fresh);
  const io::WriterLock fresh_lock(fresh);
  const io::Temporary registered(fresh);
  IndexSummary summary;
  try {
    summary = Merger(fresh, settings).run(choose_parts(readers), hooks);
    io::check_replaceable(target);
  } catch (...) {
    fs::remove_all(fresh, ignored);
    throw;
  }
  io::replace_directory(fresh, target);
  return summary;
}

}  // namespace longformer::tasks
