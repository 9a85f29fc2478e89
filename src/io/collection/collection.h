// A collection of documents for searching: files, passages and words in an SQLite database, one
// vector a passage in segments beside it (vector_segment.h). This file knows tables, places and
// durability; what vectors and settings mean is the business of the caller.
//
//   DIRECTORY/index.sqlite       settings, state, files, passages, words (FTS5); write-ahead log
//   DIRECTORY/vectors-G-S.bin    segment S of generation G
//   DIRECTORY/lock               held by the one writer
//
// The passages of a file have consecutive ids and consecutive vectors:
//   id = first_passage + k, position of the vector = first_position + k, k < passages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/collection/vector_segment.h"

namespace longformer::io {

inline constexpr int64_t kCollectionFormat = 1;

// Everything that makes two collections comparable, by name, in the order in which differences are
// reported.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct CollectionFile {
  int64_t id = 0;
  std::string path;       // absolute; bytes of any kind
  bool relative = false;  // the user named it relative to the working directory
  int64_t size = 0;       // what the file looked like when it was read
  int64_t mtime = 0;      // nanoseconds
  std::string sha256;     // hexadecimal
  std::string kind;       // document_kind_name()
  int64_t first_passage = 0;
  int64_t first_position = 0;
  int64_t passages = 0;
};

struct CollectionPassage {
  int64_t line_start = 1;  // counted from 1, both inclusive
  int64_t line_end = 1;
  int64_t byte_start = 0;  // half-open
  int64_t byte_end = 0;
  std::optional<int64_t> page_start;
  std::optional<int64_t> page_end;
  std::vector<std::string> headings;  // outermost first
  std::string anchor;
  std::string text;
};

struct CollectionState {
  int64_t generation = 1;    // of the vectors
  int64_t positions = 0;     // rows of the vectors that may be read, holes included
  int64_t next_passage = 1;  // ids are not used twice
};

// The database. Whoever writes puts a group of changes between begin() and commit().
class Collection {
 public:
  // Makes a new one with these settings in `directory`, which exists and is empty but for the
  // writer's lock.
  static Collection create(const std::filesystem::path& directory, const Settings& settings);
  // The state of the last commit, for as long as this lives. Throws kNotFound where there is no
  // collection, kInvalidFile for a damaged one and for another format version, naming both.
  static Collection read(const std::filesystem::path& directory);
  static Collection write(const std::filesystem::path& directory);
  // Without a directory, gone with this object. begin() once, never commit.
  static Collection temporary();
  // Whether the directory has a collection that was completely made.
  static bool exists(const std::filesystem::path& directory);

  Collection(Collection&&) noexcept;
  Collection& operator=(Collection&&) noexcept;
  ~Collection();

  const Settings& settings() const noexcept;
  void set_setting(const std::string& name, const std::string& value);
  const CollectionState& state() const noexcept;
  std::vector<CollectionFile> files() const;  // by path

  void begin();
  void commit();
  void roll_back();  // does nothing outside a group
  void set_state(const CollectionState& state);
  void add_passage(int64_t id, const CollectionPassage& passage);
  int64_t add_file(const CollectionFile& file);  // returns its id
  void update_file(const CollectionFile& file);  // everything but the id
  void remove_file(const CollectionFile& file);  // and its passages

  // Throws kInvalidFile where there is none.
  CollectionPassage passage(int64_t id) const;
  // Visits the passages of [begin, end) in order.
  void passages(int64_t begin, int64_t end,
                const std::function<void(int64_t id, const CollectionPassage&)>& visit) const;
  // Passages that match an FTS5 expression, in order of their ids, with BM25: higher is better.
  void match(const std::string& expression,
             const std::function<void(int64_t id, double bm25)>& visit) const;
  // Their number, counted up to `limit`.
  int64_t count_matches(const std::string& expression, int64_t limit) const;
  // Matching passages with their texts.
  void match_texts(const std::string& expression,
                   const std::function<void(int64_t id, const std::string& text)>& visit) const;
  // Passages whose text has these bytes in it.
  void contain(std::string_view bytes,
               const std::function<void(int64_t id, const std::string& text)>& visit) const;

 private:
  struct Impl;
  explicit Collection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The right to change the collection in a directory, which is made where it is absent. Ends with
// the object or the process, however that ends.
class WriterLock {
 public:
  // Throws kInvalidArgument at once when another process has it, or when the directory holds
  // something that is no collection.
  explicit WriterLock(const std::filesystem::path& directory);
  ~WriterLock();
  WriterLock(WriterLock&&) noexcept;
  WriterLock& operator=(WriterLock&&) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether an index may be put in the place of this directory: it is absent, or holds nothing but
// files of an index, whose database, damaged or not, says that it is one. Throws kInvalidArgument
// that names the first entry which is not ours.
void check_replaceable(const std::filesystem::path& directory);
// Removes what a killed writer has left there, after the same check.
void remove_leftover(const std::filesystem::path& directory);

// Puts the directory `fresh` in the place of `old`, in one step where the file system can, and
// removes what was there. Both hang in the same parent directory.
void replace_directory(const std::filesystem::path& fresh, const std::filesystem::path& old);

}  // namespace longformer::io
