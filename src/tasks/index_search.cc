#include "tasks/index_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/scan.h"
#include "tasks/index_changes.h"
#include "tasks/index_settings.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBlockRows = 4096;  // one task of a thread
constexpr int64_t kStripRows = 512;   // one call of the kernel
constexpr int kOpenAttempts = 8;

struct Block {
  int64_t begin = 0;
  int64_t end = 0;
};

// The positions of the runs, in blocks; neighbouring runs are joined.
std::vector<Block> blocks_of(std::vector<PassageRun> runs) {
  std::sort(runs.begin(), runs.end(), [](const PassageRun& a, const PassageRun& b) {
    return a.first_position < b.first_position;
  });
  std::vector<Block> blocks;
  for (const PassageRun& run : runs) {
    int64_t begin = run.first_position;
    const int64_t end = begin + run.passages;
    if (!blocks.empty() && blocks.back().end == begin) {
      const int64_t room = kBlockRows - (blocks.back().end - blocks.back().begin);
      blocks.back().end += std::min(room, end - begin);
      begin = blocks.back().end;
    }
    for (; begin < end; begin += kBlockRows) {
      blocks.push_back({begin, std::min(begin + kBlockRows, end)});
    }
  }
  return blocks;
}

// One query, ready for the kernel of its vectors.
class Scanner {
 public:
  Scanner(const io::VectorReader& vectors, std::span<const float> query)
      : vectors_(vectors), query_(query.begin(), query.end()) {
    if (vectors.layout().kind == io::VectorKind::kInt8) integers_ = kernels::quantize_query(query);
  }

  void scan(const Block& block, std::span<double> cosines) const {
    std::array<float, kStripRows> strip;
    for (int64_t begin = block.begin; begin < block.end;) {
      const int64_t rows = std::min({block.end - begin, kStripRows, vectors_.contiguous(begin)});
      dot(begin, rows, strip.data());
      for (int64_t r = 0; r < rows; ++r) {
        const float cosine = strip[static_cast<size_t>(r)];
        if (!std::isfinite(cosine) ||
            !io::has_sound_scale(vectors_.layout(), vectors_.data(begin + r))) {
          throw Error(ErrorCode::kInvalidFile,
                      "holds a vector that is none; build the index anew with --rebuild",
                      vectors_.directory().string());
        }
        cosines[static_cast<size_t>(begin + r)] = static_cast<double>(cosine);
      }
      begin += rows;
    }
  }

 private:
  void dot(int64_t begin, int64_t rows, float* out) const {
    const io::VectorLayout& layout = vectors_.layout();
    const std::byte* table = vectors_.data(begin);
    switch (layout.kind) {
      case io::VectorKind::kF32:
        return kernels::scan_f32(rows, layout.dims, table, layout.row_bytes(), query_.data(), out);
      case io::VectorKind::kF16:
        return kernels::scan_f16(rows, layout.dims, table, layout.row_bytes(), query_.data(), out);
      case io::VectorKind::kInt8:
        return kernels::scan_int8(rows, table, layout.row_bytes(), integers_, out);
    }
  }

  const io::VectorReader& vectors_;
  std::vector<float> query_;
  kernels::IntegerQuery integers_;
};

}  // namespace

struct IndexReader::Impl {
  fs::path directory;
  io::Collection collection;
  io::VectorReader vectors;
  std::vector<io::CollectionFile> files;
};

namespace {

io::VectorReader open_vectors(const fs::path& directory, const io::Collection& collection) {
  const io::CollectionState& state = collection.state();
  return io::VectorReader(directory, vector_layout(collection.settings(), directory.string()),
                          state.generation, state.positions);
}

}  // namespace

IndexReader::IndexReader(const fs::path& directory) {
  for (int attempt = 1;; ++attempt) {
    io::Collection collection = io::Collection::read(directory);
    try {
      io::VectorReader vectors = open_vectors(directory, collection);
      std::vector<io::CollectionFile> files = collection.files();
      impl_.reset(new Impl{directory, std::move(collection), std::move(vectors), std::move(files)});
      return;
    } catch (const Error& error) {
      // The writer has put a new generation in its place, or the whole index, just now.
      if (error.code() != ErrorCode::kNotFound) throw;
      if (attempt == kOpenAttempts) {
        throw Error(
            ErrorCode::kInvalidFile,
            std::string("lacks a part: ") + error.what() + "; build the index anew with --rebuild",
            directory.string());
      }
    }
  }
}

IndexReader::~IndexReader() = default;
IndexReader::IndexReader(IndexReader&&) noexcept = default;
IndexReader& IndexReader::operator=(IndexReader&&) noexcept = default;

const fs::path& IndexReader::directory() const { return impl_->directory; }
const io::Collection& IndexReader::collection() const { return impl_->collection; }
const io::VectorReader& IndexReader::vectors() const { return impl_->vectors; }
const std::vector<io::CollectionFile>& IndexReader::files() const { return impl_->files; }
fs::path IndexReader::model_directory() const {
  return setting(impl_->collection.settings(), ".model_directory");
}

std::vector<double> scan_vectors(const io::VectorReader& vectors, std::vector<PassageRun> runs,
                                 std::span<const float> query, ThreadPool& pool) {
  std::vector<double> cosines(static_cast<size_t>(vectors.rows()),
                              -std::numeric_limits<double>::infinity());
  const std::vector<Block> blocks = blocks_of(std::move(runs));
  const Scanner scanner(vectors, query);
  pool.run(static_cast<int64_t>(blocks.size()),
           [&](int64_t i, int) { scanner.scan(blocks[static_cast<size_t>(i)], cosines); });
  return cosines;
}

namespace {

// The files that the globs choose, in the order of their shown names.
struct Chosen {
  std::vector<PassageRun> runs;
  std::vector<const io::CollectionFile*> files;  // by PassageRun::file
  std::vector<std::string> names;
  int64_t passages = 0;
};

// A glob over the names of files, or the name of a directory above them: a path, or one name in it.
class PathFilter {
 public:
  explicit PathFilter(const std::string& glob) : glob_(glob) {
    if (glob.find_first_of("*?[") != std::string::npos || glob.empty()) return;
    directory_ = absolute_name(glob);
    const std::string name = glob.substr(0, glob.find_last_not_of('/') + 1);
    if (!name.empty() && name.find('/') == std::string::npos) inside_ = "/" + name + "/";
  }

  bool matches(const std::string& shown, const std::string& path) const {
    return io::matches_glob(shown, glob_) || io::matches_glob(path, glob_) ||
           (!directory_.empty() && is_below(path, directory_)) ||
           (!inside_.empty() && ("/" + shown).find(inside_) != std::string::npos);
  }

 private:
  const std::string& glob_;
  std::string directory_;
  std::string inside_;
};

Chosen choose_files(const std::vector<io::CollectionFile>& files,
                    const std::vector<std::string>& globs, const std::string& place) {
  const std::vector<PathFilter> filters(globs.begin(), globs.end());
  std::vector<bool> used(globs.size());
  std::vector<std::pair<std::string, const io::CollectionFile*>> named;
  for (const io::CollectionFile& file : files) {
    std::string name = shown_name(file);
    bool taken = globs.empty();
    for (size_t i = 0; i < filters.size(); ++i) {
      if (!filters[i].matches(name, file.path)) continue;
      taken = true;
      used[i] = true;
    }
    if (taken) named.emplace_back(std::move(name), &file);
  }
  for (size_t i = 0; i < globs.size(); ++i) {
    if (used[i]) continue;
    throw Error(ErrorCode::kInvalidArgument, "no file of the index matches --path " + globs[i],
                place);
  }
  std::sort(named.begin(), named.end());
  Chosen chosen;
  for (auto& [name, file] : named) {
    chosen.runs.push_back({file->first_passage, file->first_position, file->passages,
                           static_cast<int64_t>(chosen.files.size())});
    chosen.files.push_back(file);
    chosen.names.push_back(std::move(name));
    chosen.passages += file->passages;
  }
  return chosen;
}

// The settings that the model brings, beside those of the index.
void check_model(const TextModel& model, const fs::path& directory, const io::Collection& index,
                 const std::string& place) {
  const ModelFingerprint print =
      fingerprint(directory, model.modules, known_fingerprint(index.settings()));
  check_settings(index.settings(), describe(model, {}, directory, print), Compare::kModel, place,
                 "of this model");
}

}  // namespace

IndexSearchOutcome search_index(TextModel& model, const fs::path& model_directory,
                                const IndexReader& index, std::string_view query,
                                const IndexSearchOptions& options) {
  check_top(options.top);
  const io::Collection& collection = index.collection();
  check_model(model, model_directory, collection, index.directory().string());
  Hooks hooks;
  hooks.cancelled = options.cancelled;
  const QueryVector vector = read_query(model, query, hooks);
  const Chosen chosen = choose_files(index.files(), options.paths, index.directory().string());
  const std::vector<float> short_query = unit_vector(vector.values, index.vectors().layout().dims);
  const std::vector<double> cosines =
      scan_vectors(index.vectors(), chosen.runs, short_query, *model.encoder.pool());
  FusionOptions fusion{options.words_weight, options.top, options.min_score};
  for (const io::CollectionFile& file : index.files()) fusion.passages += file.passages;

  const int64_t longest_text = longest_kept_text(collection.settings(), index.directory().string());
  IndexSearchOutcome outcome;
  outcome.documents = static_cast<int64_t>(chosen.files.size());
  outcome.passages = chosen.passages;
  outcome.query_windows = vector.windows;
  outcome.query_unreadable = vector.unreadable;
  for (const FusedPassage& fused :
       fuse(collection, chosen.runs, cosines, parse_query(query), fusion)) {
    io::CollectionPassage passage = collection.passage(fused.passage);
    check_kept_text(passage, longest_text, index.directory().string());
    SearchResult result = shown_passage(std::move(passage));
    result.score = fused.score;
    result.cosine = fused.cosine;
    result.words = fused.words;
    result.verbatim = fused.verbatim;
    result.file = chosen.names[static_cast<size_t>(fused.file)];
    result.kind = chosen.files[static_cast<size_t>(fused.file)]->kind;
    if (options.sentences) {
      set_best_sentence(result, best_sentence(model, result.passage, vector.values, hooks));
    }
    outcome.results.push_back(std::move(result));
  }
  return outcome;
}

}  // namespace longformer::tasks
