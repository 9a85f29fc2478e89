#include "io/collection/collection.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/limits.h"
#include "io/collection/sqlite.h"
#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kApplicationId = 0x4C464958;  // "LFIX"
constexpr const char* kDatabaseName = "index.sqlite";

// The tables as they are made. A database whose schema differs in one letter is refused, so nothing
// that a stranger has put there (a view, a trigger, a column with a computed value) is ever run.
constexpr std::string_view kTables[] = {
    "CREATE TABLE settings (rank INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "value TEXT NOT NULL) STRICT",
    "CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, "
    "relative INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, "
    "sha256 TEXT NOT NULL, kind TEXT NOT NULL, first_passage INTEGER NOT NULL, "
    "first_position INTEGER NOT NULL, passages INTEGER NOT NULL) STRICT",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, line_start INTEGER NOT NULL, "
    "line_end INTEGER NOT NULL, byte_start INTEGER NOT NULL, byte_end INTEGER NOT NULL, "
    "page_start INTEGER, page_end INTEGER, headings TEXT NOT NULL, anchor TEXT NOT NULL, "
    "text TEXT NOT NULL) STRICT",
    "CREATE VIRTUAL TABLE words USING fts5(text, content='passages', content_rowid='id', "
    "tokenize='porter unicode61 remove_diacritics 2')"};

constexpr std::string_view kFileColumns =
    "id, path, relative, size, mtime, sha256, kind, first_passage, first_position, passages";
constexpr std::string_view kPassageColumns =
    "id, line_start, line_end, byte_start, byte_end, page_start, page_end, headings, anchor, text";

// Tables that FTS5 keeps by itself.
bool is_shadow(const std::string& name) {
  static const std::set<std::string> names = {"words_data", "words_idx", "words_docsize",
                                              "words_config"};
  return names.contains(name);
}

[[noreturn]] void fail_damaged(const std::string& place, const std::string& what) {
  throw Error(ErrorCode::kInvalidFile, what + "; build the index anew with --rebuild", place);
}

std::string headings_text(const std::vector<std::string>& headings) {
  if (headings.empty()) return {};
  return Json(headings).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> read_headings(const std::string& text, const std::string& place) {
  if (text.empty()) return {};
  Json value;
  try {
    value = parse_json(text, place, DuplicateKeys::kLastWins);
  } catch (const Error&) {
    fail_damaged(place, "a heading path is not JSON");
  }
  std::vector<std::string> headings;
  if (!value.is_array()) fail_damaged(place, "a heading path is not a list");
  for (const Json& heading : value) {
    if (!heading.is_string()) fail_damaged(place, "a heading is not a text");
    headings.push_back(heading.get<std::string>());
  }
  return headings;
}

void check_format(const Database& database) {
  const std::string& place = database.place();
  if (database.integer("PRAGMA application_id") != kApplicationId) {
    throw Error(ErrorCode::kInvalidFile, "is a database of another program, not an index", place);
  }
  const int64_t format = database.integer("PRAGMA user_version");
  if (format != kCollectionFormat) {
    fail_damaged(place, "has format version " + std::to_string(format) +
                            "; this version reads and writes " + std::to_string(kCollectionFormat));
  }
  std::multiset<std::string> expected(std::begin(kTables), std::end(kTables));
  Statement schema = database.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL");
  while (schema.step()) {
    const auto found = expected.find(schema.text(1));
    if (found != expected.end()) {
      expected.erase(found);
    } else if (!is_shadow(schema.text(0))) {
      fail_damaged(place, "has a table that no index has");
    }
  }
  if (!expected.empty()) fail_damaged(place, "lacks a table");
}

void make_tables(const Database& database) {
  for (const std::string_view table : kTables) database.execute(table);
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version = " + std::to_string(kCollectionFormat));
}

}  // namespace

struct Collection::Impl {
  explicit Impl(Database opened) : database(std::move(opened)) {}

  Database database;
  Settings settings;
  CollectionState state;
  CollectionState committed;
  bool changing = false;
  std::map<std::string_view, Statement> statements;  // prepared once

  Statement& statement(std::string_view sql) {
    const auto found = statements.find(sql);
    if (found != statements.end()) {
      found->second.reset();
      return found->second;
    }
    return statements.emplace(sql, database.prepare(sql)).first->second;
  }

  void load() {
    check_format(database);
    Statement rows = database.prepare("SELECT name, value FROM settings ORDER BY rank");
    while (rows.step()) settings.emplace_back(rows.text(0), rows.text(1));
    const auto number = [&](const char* name, int64_t least) {
      Statement row = database.prepare("SELECT value FROM state WHERE name = ?");
      row.bind_text(1, name);
      if (!row.step()) fail_damaged(database.place(), std::string("lacks its ") + name);
      const int64_t value = row.integer(0);
      if (value < least || value > kMaxCollectionPassages) {
        fail_damaged(database.place(), std::string("has an impossible ") + name);
      }
      return value;
    };
    state.generation = number("generation", 1);
    state.positions = number("positions", 0);
    state.next_passage = number("next_passage", 1);
    committed = state;
  }

  void save_state() {
    Statement& put = statement("INSERT OR REPLACE INTO state (name, value) VALUES (?, ?)");
    put.bind_text(1, "generation").bind(2, state.generation).run();
    put.bind_text(1, "positions").bind(2, state.positions).run();
    put.bind_text(1, "next_passage").bind(2, state.next_passage).run();
  }

  void check_file(const CollectionFile& file) const {
    const bool passages = file.passages >= 0 && file.passages <= state.next_passage &&
                          file.first_passage >= 1 &&
                          file.first_passage <= state.next_passage - file.passages;
    const bool positions = file.passages <= state.positions && file.first_position >= 0 &&
                           file.first_position <= state.positions - file.passages;
    if (!passages || !positions) {
      fail_damaged(database.place(), "a file's passages or vectors lie outside of the index");
    }
  }

  // Each passage and each vector belongs to one file.
  void check_disjoint(const std::vector<CollectionFile>& files,
                      int64_t CollectionFile::*first) const {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const CollectionFile& file : files) {
      if (file.passages > 0) ranges.emplace_back(file.*first, file.*first + file.passages);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].second) {
        fail_damaged(database.place(), "two files share a passage or a vector");
      }
    }
  }

  CollectionPassage read_passage(const Statement& row) const {
    CollectionPassage passage;
    passage.line_start = row.integer(1);
    passage.line_end = row.integer(2);
    passage.byte_start = row.integer(3);
    passage.byte_end = row.integer(4);
    passage.page_start = row.optional_integer(5);
    passage.page_end = row.optional_integer(6);
    if (passage.line_start < 0 || passage.line_end < 0 || passage.byte_start < 0 ||
        passage.byte_end < passage.byte_start || passage.page_start.value_or(0) < 0 ||
        passage.page_end.value_or(0) < 0) {
      fail_damaged(database.place(), "a passage has an impossible place");
    }
    passage.headings = read_headings(row.text(7), database.place());
    passage.anchor = row.text(8);
    passage.text = row.text(9);
    return passage;
  }
};

Collection::Collection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Collection::Collection(Collection&&) noexcept = default;
Collection& Collection::operator=(Collection&&) noexcept = default;
Collection::~Collection() = default;

bool Collection::exists(const fs::path& directory) {
  const fs::path path = directory / kDatabaseName;
  if (!entry_exists(path)) return false;
  // Without a version nothing has been committed: its making was cut short.
  const Database database(path, Database::Mode::kRead);
  return database.integer("PRAGMA user_version") != 0 ||
         database.integer("SELECT count(*) FROM sqlite_schema") != 0;
}

Collection Collection::create(const fs::path& directory, const Settings& settings) {
  auto impl = std::make_unique<Impl>(Database(directory / kDatabaseName, Database::Mode::kWrite));
  // Before there is a log: the file itself says from its first page on whose it is.
  impl->database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  impl->database.execute("PRAGMA journal_mode = WAL");
  impl->database.execute("PRAGMA synchronous = FULL");
  Transaction transaction(impl->database);
  make_tables(impl->database);
  impl->settings = settings;
  for (const auto& [name, value] : settings) {
    impl->database.prepare("INSERT INTO settings (name, value) VALUES (?, ?)")
        .bind_text(1, name)
        .bind_text(2, value)
        .run();
  }
  impl->save_state();
  transaction.commit();
  return Collection(std::move(impl));
}

Collection Collection::read(const fs::path& directory) {
  if (!exists(directory)) {
    throw Error(ErrorCode::kNotFound,
                entry_exists(directory) ? "holds no index; make one with: index PATHS --output"
                                        : "there is no such index",
                directory.string());
  }
  auto impl = std::make_unique<Impl>(Database(directory / kDatabaseName, Database::Mode::kRead));
  impl->database.execute("BEGIN");  // one snapshot from the first question on
  impl->load();
  return Collection(std::move(impl));
}

Collection Collection::write(const fs::path& directory) {
  auto impl = std::make_unique<Impl>(Database(directory / kDatabaseName, Database::Mode::kWrite));
  impl->load();
  impl->database.execute("PRAGMA journal_mode = WAL");
  impl->database.execute("PRAGMA synchronous = FULL");
  return Collection(std::move(impl));
}

Collection Collection::temporary() {
  auto impl = std::make_unique<Impl>(Database({}, Database::Mode::kTemporary));
  impl->database.execute("PRAGMA journal_mode = OFF");
  impl->database.execute("PRAGMA synchronous = OFF");
  impl->database.execute("PRAGMA cache_size = -65536");  // KiB
  make_tables(impl->database);
  return Collection(std::move(impl));
}

const Settings& Collection::settings() const noexcept { return impl_->settings; }
const CollectionState& Collection::state() const noexcept { return impl_->state; }

void Collection::set_setting(const std::string& name, const std::string& value) {
  impl_->statement("UPDATE settings SET value = ?2 WHERE name = ?1")
      .bind_text(1, name)
      .bind_text(2, value)
      .run();
  for (auto& [known, old] : impl_->settings) {
    if (known == name) old = value;
  }
}

std::vector<CollectionFile> Collection::files() const {
  std::vector<CollectionFile> files;
  Statement row =
      impl_->database.prepare("SELECT " + std::string(kFileColumns) + " FROM files ORDER BY path");
  while (row.step()) {
    CollectionFile file;
    file.id = row.integer(0);
    file.path = row.text(1);
    file.relative = row.integer(2) != 0;
    file.size = row.integer(3);
    file.mtime = row.integer(4);
    file.sha256 = row.text(5);
    file.kind = row.text(6);
    file.first_passage = row.integer(7);
    file.first_position = row.integer(8);
    file.passages = row.integer(9);
    impl_->check_file(file);
    files.push_back(std::move(file));
  }
  impl_->check_disjoint(files, &CollectionFile::first_passage);
  impl_->check_disjoint(files, &CollectionFile::first_position);
  return files;
}

void Collection::begin() {
  impl_->database.execute("BEGIN IMMEDIATE");
  impl_->changing = true;
}

void Collection::commit() {
  impl_->save_state();
  impl_->database.execute("COMMIT");
  impl_->changing = false;
  impl_->committed = impl_->state;
}

void Collection::roll_back() {
  if (!std::exchange(impl_->changing, false)) return;
  // A full disk has rolled back by itself.
  if (impl_->database.in_transaction()) impl_->database.execute("ROLLBACK");
  impl_->state = impl_->committed;
}

void Collection::set_state(const CollectionState& state) { impl_->state = state; }

void Collection::add_passage(int64_t id, const CollectionPassage& passage) {
  impl_
      ->statement(
          "INSERT INTO passages (id, line_start, line_end, byte_start, byte_end, page_start, "
          "page_end, headings, anchor, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(1, id)
      .bind(2, passage.line_start)
      .bind(3, passage.line_end)
      .bind(4, passage.byte_start)
      .bind(5, passage.byte_end)
      .bind(6, passage.page_start)
      .bind(7, passage.page_end)
      .bind_text(8, headings_text(passage.headings))
      .bind_text(9, passage.anchor)
      .bind_text(10, passage.text)
      .run();
  impl_->statement("INSERT INTO words (rowid, text) VALUES (?, ?)")
      .bind(1, id)
      .bind_text(2, passage.text)
      .run();
}

namespace {

void bind_file(Statement& statement, const CollectionFile& file) {
  statement.bind_blob(1, file.path)
      .bind(2, int64_t{file.relative})
      .bind(3, file.size)
      .bind(4, file.mtime)
      .bind_text(5, file.sha256)
      .bind_text(6, file.kind)
      .bind(7, file.first_passage)
      .bind(8, file.first_position)
      .bind(9, file.passages);
}

}  // namespace

int64_t Collection::add_file(const CollectionFile& file) {
  Statement& insert = impl_->statement(
      "INSERT INTO files (path, relative, size, mtime, sha256, kind, first_passage, "
      "first_position, passages) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bind_file(insert, file);
  insert.run();
  return impl_->database.integer("SELECT last_insert_rowid()");
}

void Collection::update_file(const CollectionFile& file) {
  Statement& update = impl_->statement(
      "UPDATE files SET path = ?1, relative = ?2, size = ?3, mtime = ?4, sha256 = ?5, kind = ?6, "
      "first_passage = ?7, first_position = ?8, passages = ?9 WHERE id = ?10");
  bind_file(update, file);
  update.bind(10, file.id).run();
}

void Collection::remove_file(const CollectionFile& file) {
  const int64_t end = file.first_passage + file.passages;
  // The word index is told what to forget.
  impl_
      ->statement(
          "INSERT INTO words (words, rowid, text) SELECT 'delete', id, text FROM passages "
          "WHERE id >= ? AND id < ?")
      .bind(1, file.first_passage)
      .bind(2, end)
      .run();
  impl_->statement("DELETE FROM passages WHERE id >= ? AND id < ?")
      .bind(1, file.first_passage)
      .bind(2, end)
      .run();
  impl_->statement("DELETE FROM files WHERE id = ?").bind(1, file.id).run();
}

CollectionPassage Collection::passage(int64_t id) const {
  Statement row = impl_->database.prepare("SELECT " + std::string(kPassageColumns) +
                                          " FROM passages WHERE id = ?");
  row.bind(1, id);
  if (!row.step()) fail_damaged(impl_->database.place(), "a passage is missing");
  return impl_->read_passage(row);
}

void Collection::passages(
    int64_t begin, int64_t end,
    const std::function<void(int64_t, const CollectionPassage&)>& visit) const {
  Statement row = impl_->database.prepare("SELECT " + std::string(kPassageColumns) +
                                          " FROM passages WHERE id >= ? AND id < ? ORDER BY id");
  row.bind(1, begin).bind(2, end);
  while (row.step()) visit(row.integer(0), impl_->read_passage(row));
}

void Collection::match(const std::string& expression,
                       const std::function<void(int64_t, double)>& visit) const {
  Statement row = impl_->database.prepare(
      "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? ORDER BY rowid");
  row.bind_text(1, expression);
  while (row.step()) visit(row.integer(0), row.real(1));
}

int64_t Collection::count_matches(const std::string& expression, int64_t limit) const {
  Statement row = impl_->database.prepare(
      "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)");
  row.bind_text(1, expression).bind(2, limit);
  return row.step() ? row.integer(0) : 0;
}

void Collection::match_texts(const std::string& expression,
                             const std::function<void(int64_t, const std::string&)>& visit) const {
  Statement row =
      impl_->database.prepare("SELECT rowid, text FROM words WHERE words MATCH ? ORDER BY rowid");
  row.bind_text(1, expression);
  while (row.step()) visit(row.integer(0), row.text(1));
}

void Collection::contain(std::string_view bytes,
                         const std::function<void(int64_t, const std::string&)>& visit) const {
  Statement row =
      impl_->database.prepare("SELECT id, text FROM passages WHERE instr(text, ?) > 0 ORDER BY id");
  row.bind_text(1, bytes);
  while (row.step()) visit(row.integer(0), row.text(1));
}

}  // namespace longformer::io
