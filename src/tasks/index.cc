#include "tasks/index.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "io/temporaries.h"
#include "tasks/document_queue.h"
#include "tasks/index_changes.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

// New vectors are written without holes when more than half of the old ones are holes.
constexpr int64_t kHolesShare = 2;

// The numbers that are kept when the caller leaves them open.
IndexSettings complete(const TextModel& model, const IndexChoices& choices,
                       const io::Settings& known) {
  const auto text = [&](const char* name) { return setting(known, name); };
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    if (known.empty()) return std::nullopt;
    try {
      return std::stoll(text(name));
    } catch (const std::exception&) {
      return std::nullopt;
    }
  };
  IndexSettings settings;
  settings.context =
      choices.context.value_or(context_from_name(text("context")).value_or(default_context(model)));
  settings.passages = passage_options(
      model, choices.passage_tokens ? choices.passage_tokens : number("passage_tokens"));
  settings.vectors = choices.vectors.value_or(
      io::vector_kind_from_name(text("vectors")).value_or(io::VectorKind::kInt8));
  settings.dims = choices.dims.value_or(number("dims").value_or(0));
  if (choices.dims && (*choices.dims < 1 || *choices.dims > model.dimension())) {
    throw Error(ErrorCode::kInvalidArgument,
                "must be from 1 to " + std::to_string(model.dimension()) +
                    ", the numbers of this model's vectors; got " + std::to_string(*choices.dims),
                "dims");
  }
  if (choices.shard) {
    settings.shard = *choices.shard;
  } else if (!text("shard").empty()) {
    settings.shard = parse_shard(text("shard"));
  }
  return settings;
}

int64_t holes(const io::Collection& collection, const std::vector<io::CollectionFile>& files) {
  int64_t used = 0;
  for (const io::CollectionFile& file : files) used += file.passages;
  return collection.state().positions - used;
}

// At a character's border.
void cut_text(std::string& text, int64_t longest) {
  size_t size = static_cast<size_t>(longest);
  if (text.size() <= size) return;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  text.resize(size);
}

io::VectorWriter open_vectors(const fs::path& directory, const io::VectorLayout& layout,
                              const io::CollectionState& state) {
  try {
    return io::VectorWriter(directory, layout, state.generation, state.positions);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(
        ErrorCode::kInvalidFile,
        std::string("lacks a part: ") + error.what() + "; build the index anew with --rebuild",
        directory.string());
  }
}

// Writes documents into an open collection.
class Builder {
 public:
  Builder(TextModel& model, const fs::path& directory, io::Collection& collection,
          const IndexSettings& settings, const IndexInput& input, const IndexHooks& hooks)
      : model_(model),
        collection_(collection),
        settings_(settings),
        input_(input),
        hooks_(hooks),
        layout_(vector_layout(collection.settings(), directory.string())),
        longest_text_(longest_kept_text(collection.settings(), directory.string())),
        vectors_(open_vectors(directory, layout_, collection.state())),
        queue_([this](DocumentBatch batch) { commit(batch); }) {}

  IndexSummary run(const std::vector<std::string>& documents) {
    FileChanges changes = find_changes(
        collection_.files(), find_roots(input_.arguments, input_.documents, input_.copies),
        documents, hooks_.cancelled);
    summary_.skipped = std::move(changes.skipped);
    summary_.kept = std::move(changes.kept);
    summary_.unchanged = changes.unchanged;
    apply_rows(changes);
    double total = 0;
    for (const FileToRead& file : changes.read) total += static_cast<double>(file.file.size) + 1;
    double before = 0;
    for (const FileToRead& file : changes.read) {
      work_.push_back({&file, before, (static_cast<double>(file.file.size) + 1) / total});
      before += work_.back().share;
    }
    for (size_t i = 0; i < work_.size(); ++i) read(static_cast<int64_t>(i));
    queue_.flush();
    return std::move(summary_);
  }

 private:
  // Changes that need no reading, in one group.
  void apply_rows(const FileChanges& changes) {
    if (changes.update.empty() && changes.remove.empty()) return;
    collection_.begin();
    // Removed first: a path may be taken over by a file that has moved there.
    for (const io::CollectionFile& file : changes.remove) collection_.remove_file(file);
    for (const io::CollectionFile& file : changes.update) {
      io::CollectionFile aside = file;
      aside.path = std::string("\0", 1) + std::to_string(file.id);  // no file is called so
      collection_.update_file(aside);
    }
    for (const io::CollectionFile& file : changes.update) collection_.update_file(file);
    collection_.commit();
    summary_.moved = changes.moved;
    summary_.removed = static_cast<int64_t>(changes.remove.size());
  }

  struct Work {
    const FileToRead* found = nullptr;
    double before = 0;  // share of all work that is done before it
    double share = 1;
  };
  const FileToRead& found(int64_t key) const { return *work_[static_cast<size_t>(key)].found; }

  // A file that comes whole waits for others and is committed with them. The parts of a large one
  // are read as they come, inside one transaction.
  void read(int64_t key) {
    const FileToRead& file = found(key);
    std::optional<IndexSummary> before;  // set while a file in parts is in work
    std::exception_ptr failure;          // ours, not the document's
    const auto take = [&](io::Document part) {
      const bool whole = part.first_byte == 0 && part.last;
      WaitingDocument waiting{key, std::move(part), {}};
      waiting.prepared = prepare(model_, waiting.document.text, settings_.passages);
      if (whole) return queue_.add(std::move(waiting));
      if (!before) {
        queue_.flush();
        before = summary_;
        start(file);
      }
      note(waiting);
      read_vectors(DocumentBatch(&waiting, 1),
                   [&](const PassageVectors& vectors) { append(waiting, vectors); });
    };
    const auto give_up = [&](const std::string& reason, bool keep) {
      if (before) roll_back();
      if (failure) std::rethrow_exception(failure);
      if (before) summary_ = *before;
      skip(file, reason, keep);
    };
    try {
      io::read_document(file.name, input_.read, [&](io::Document part) {
        try {
          take(std::move(part));
        } catch (...) {
          failure = std::current_exception();
          throw;
        }
      });
    } catch (const Error& error) {
      // Anything but a content that is no document lies at the machine: a program that is not
      // there, a permission, a disk that fails.
      const bool of_content =
          error.code() == ErrorCode::kInvalidFile || error.code() == ErrorCode::kUnsupported;
      return give_up(error.what(), !of_content && !is_gone(file.file.path));
    } catch (const std::bad_alloc&) {
      return give_up("not enough memory to read it", true);
    }
    if (before) finish(file);
  }

  // Whole files, each in a transaction of its own.
  void commit(DocumentBatch batch) {
    size_t begun = 0;
    const auto begin_through = [&](size_t last) {
      for (; begun <= last; ++begun) {
        if (begun > 0) finish(found(batch[begun - 1].key));
        start(found(batch[begun].key));
        note(batch[begun]);
      }
    };
    try {
      read_vectors(batch, [&](const PassageVectors& vectors) {
        const auto document = static_cast<size_t>(vectors.document);
        begin_through(document);
        append(batch[document], vectors);
      });
      begin_through(batch.size() - 1);
      finish(found(batch.back().key));
    } catch (...) {
      roll_back();
      throw;
    }
  }

  void roll_back() {
    collection_.roll_back();
    vectors_.truncate(collection_.state().positions);
  }

  void start(const FileToRead& found) {
    collection_.begin();
    if (found.old) collection_.remove_file(*found.old);
    file_ = found.file;
    file_.first_passage = collection_.state().next_passage;
    file_.first_position = collection_.state().positions;
    windows_ = 1;
  }

  void read_vectors(DocumentBatch batch, const PassageVisitor& visit) {
    BatchProgress progress;
    if (hooks_.progress) {
      progress = [this](const WaitingDocument& waiting, double share) {
        const Work& work = work_[static_cast<size_t>(waiting.key)];
        hooks_.progress(work.before + work.share * share_of_file(waiting, share));
      };
    }
    read_passage_vectors(model_, prepared_documents(batch), settings_.context, layout_.dims,
                         batch_hooks(batch, progress, hooks_.cancelled), visit);
  }

  double share_of_file(const WaitingDocument& waiting, double share) const {
    const io::Document& part = waiting.document;
    const double begin = static_cast<double>(part.first_byte);
    const double bytes = static_cast<double>(part.text.size());
    const double end = begin + bytes;
    const double size =
        part.last ? end : std::max(end, static_cast<double>(found(waiting.key).file.size));
    return (begin + share * bytes) / std::max(size, 1.0);
  }

  // What the file in work is, apart from its passages.
  void note(const WaitingDocument& waiting) {
    const io::Document& part = waiting.document;
    const text::Encoding& tokens = waiting.prepared.text.tokens;
    if (part.first_byte > 0) windows_ = std::max<int64_t>(windows_, 2);
    file_.kind = io::document_kind_name(part.kind);
    summary_.tokens += static_cast<int64_t>(tokens.size());
    const std::string& name = found(waiting.key).name;
    const auto list = [&](std::vector<std::string>& names, bool applies) {
      if (applies && (names.empty() || names.back() != name)) names.push_back(name);
    };
    list(summary_.unreadable, is_unreadable(model_.tokenizer, tokens));
    list(summary_.replaced, part.replaced);
  }

  void append(const WaitingDocument& waiting, const PassageVectors& vectors) {
    vectors_.append(vectors.values);
    const std::vector<Passage>& passages = waiting.prepared.segmentation.passages;
    io::CollectionPassage kept =
        keep_passage(waiting.document, passages[static_cast<size_t>(vectors.passage)]);
    cut_text(kept.text, longest_text_);
    collection_.add_passage(file_.first_passage + file_.passages, kept);
    ++file_.passages;
    windows_ = std::max(windows_, vectors.windows);
  }

  void finish(const FileToRead& found) {
    vectors_.sync();
    io::CollectionState state = collection_.state();
    state.positions = vectors_.rows();
    state.next_passage = file_.first_passage + file_.passages;
    collection_.add_file(file_);
    collection_.set_state(state);
    collection_.commit();
    ++(found.old ? summary_.changed : summary_.added);
    if (windows_ > 1) ++summary_.windowed;
  }

  void skip(const FileToRead& found, const std::string& reason, bool keep) {
    summary_.skipped.push_back({found.name, reason});
    if (!found.old || keep) return;
    collection_.begin();
    collection_.remove_file(*found.old);
    collection_.commit();
    ++summary_.removed;
  }

  TextModel& model_;
  io::Collection& collection_;
  const IndexSettings& settings_;
  const IndexInput& input_;
  const IndexHooks& hooks_;
  io::VectorLayout layout_;
  int64_t longest_text_;
  io::VectorWriter vectors_;
  IndexSummary summary_;
  io::CollectionFile file_;  // in work
  int64_t windows_ = 1;
  std::vector<Work> work_;  // by the key of what waits
  DocumentQueue queue_;
};

// The vectors anew, without holes, as the next generation.
void compact(const fs::path& directory, io::Collection& collection) {
  const io::VectorLayout layout = vector_layout(collection.settings(), directory.string());
  io::CollectionState state = collection.state();
  const io::VectorReader old(directory, layout, state.generation, state.positions);
  ++state.generation;
  io::VectorWriter fresh(directory, layout, state.generation, 0);
  std::vector<io::CollectionFile> files = collection.files();
  for (io::CollectionFile& file : files) {
    const int64_t first = fresh.rows();
    for (int64_t k = 0; k < file.passages; ++k) fresh.append_row(old.row(file.first_position + k));
    file.first_position = first;
  }
  fresh.sync();
  state.positions = fresh.rows();
  collection.begin();
  for (const io::CollectionFile& file : files) collection.update_file(file);
  collection.set_state(state);
  collection.commit();
  io::remove_other_generations(directory, state.generation);
}

}  // namespace

namespace {

io::WriterLock lock_for(const fs::path& directory, IndexWriter::Mode mode) {
  if (mode == IndexWriter::Mode::kRebuild) io::check_replaceable(directory);
  return io::WriterLock(directory);
}

}  // namespace

struct IndexWriter::Impl {
  fs::path directory;
  Mode mode;
  io::WriterLock lock;
  std::optional<io::Collection> collection;
  io::Settings settings;

  // What a rebuild fills. Its name is always the same, so that the next one removes what a killed
  // one has left.
  fs::path fresh_directory() const {
    fs::path path = directory.has_filename() ? directory : directory.parent_path();
    return path.parent_path() / ("." + path.filename().string() + ".rebuild");
  }

  IndexSummary run(const fs::path& place, io::Collection& target, TextModel& model,
                   const IndexSettings& wanted, const IndexInput& input, const IndexHooks& hooks) {
    io::remove_other_generations(place, target.state().generation);
    std::vector<std::string> documents;
    std::copy_if(input.documents.begin(), input.documents.end(), std::back_inserter(documents),
                 [&](const std::string& name) {
                   return wanted.shard.has(fs::path(name).lexically_normal().string());
                 });
    IndexSummary summary = Builder(model, place, target, wanted, input, hooks).run(documents);
    std::vector<io::CollectionFile> files = target.files();
    if (holes(target, files) * kHolesShare > target.state().positions) {
      compact(place, target);
      summary.compacted = true;
    }
    for (const io::CollectionFile& file : files) summary.passages += file.passages;
    summary.files = static_cast<int64_t>(files.size());
    return summary;
  }
};

IndexWriter::IndexWriter(const fs::path& directory, Mode mode)
    : impl_(new Impl{index_directory(directory),
                     mode,
                     lock_for(index_directory(directory), mode),
                     std::nullopt,
                     {}}) {
  if (mode == Mode::kRebuild || !io::Collection::exists(impl_->directory)) return;
  impl_->collection = io::Collection::write(impl_->directory);
  impl_->settings = impl_->collection->settings();
}

IndexWriter::~IndexWriter() = default;

const io::Settings& IndexWriter::settings() const { return impl_->settings; }

IndexSummary IndexWriter::update(TextModel& model, const fs::path& model_directory,
                                 const IndexChoices& choices, const IndexInput& input,
                                 const IndexHooks& hooks) {
  const IndexSettings wanted = complete(model, choices, impl_->settings);
  const ModelFingerprint print =
      fingerprint(model_directory, model.modules, known_fingerprint(impl_->settings));
  io::Settings settings = describe(model, wanted, model_directory, print);
  settings.insert(settings.end(), choices.notes.begin(), choices.notes.end());
  if (impl_->mode == Mode::kRebuild) {
    const fs::path fresh = impl_->fresh_directory();
    std::error_code ignored;
    io::remove_leftover(fresh);
    const io::WriterLock lock(fresh);
    const io::Temporary registered(fresh);
    IndexSummary summary;
    try {
      io::Collection collection = io::Collection::create(fresh, settings);
      summary = impl_->run(fresh, collection, model, wanted, input, hooks);
      io::check_replaceable(impl_->directory);  // much may have happened meanwhile
    } catch (...) {
      fs::remove_all(fresh, ignored);
      throw;
    }
    io::replace_directory(fresh, impl_->directory);
    return summary;
  }
  if (!impl_->collection) {
    impl_->collection = io::Collection::create(impl_->directory, settings);
  } else {
    check_settings(impl_->settings, settings, Compare::kAll, impl_->directory.string(),
                   "asked for");
    for (const char* note : {".model_directory", ".model_files"}) {
      const std::string value = setting(settings, note);
      if (value != setting(impl_->settings, note)) impl_->collection->set_setting(note, value);
    }
  }
  return impl_->run(impl_->directory, *impl_->collection, model, wanted, input, hooks);
}

}  // namespace longformer::tasks
