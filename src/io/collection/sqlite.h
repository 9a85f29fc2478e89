// The little of SQLite that a collection needs: one connection, prepared statements with bound
// values, transactions. Internal to this folder; sqlite.cc is the only file that sees the library.
//
// Every connection is guarded against hostile databases: defensive mode, an untrusted schema, no
// attached databases, no memory mapping. Errors are Error with the database as place: kInvalidFile
// for what is no database or a damaged one, kIo for what the system or another process refuses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace longformer::io {

class Statement {
 public:
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();

  // Positions count from 1.
  Statement& bind(int position, int64_t value);
  Statement& bind(int position, std::optional<int64_t> value);
  Statement& bind_text(int position, std::string_view value);  // valid UTF-8
  Statement& bind_blob(int position, std::string_view value);

  // True while there is a row.
  bool step();
  // For statements without rows: runs, and is ready for the next values.
  void run();
  void reset();

  // Columns count from 0. A value of another type is converted as SQLite does; NULL is 0 or empty.
  bool is_null(int column) const;
  int64_t integer(int column) const;
  std::optional<int64_t> optional_integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // texts and blobs alike

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, const std::string* place)
      : statement_(statement), place_(place) {}
  sqlite3_stmt* statement_;
  const std::string* place_;
};

class Database {
 public:
  enum class Mode {
    kRead,       // must exist; falls back to an immutable view in a directory that is not writable
    kWrite,      // made where it is absent
    kTemporary,  // nameless; spills to a temporary file when it outgrows the memory cache
  };
  Database(const std::filesystem::path& path, Mode mode);
  Statement prepare(std::string_view sql) const;
  void execute(std::string_view sql) const;     // one statement without values
  int64_t integer(std::string_view sql) const;  // the first value of a query; 0 without rows
  bool in_transaction() const noexcept;
  const std::string& place() const noexcept { return *place_; }

 private:
  void open(const std::string& name, int flags);
  void guard() const;

  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  std::unique_ptr<std::string> place_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// BEGIN IMMEDIATE; undone unless committed.
class Transaction {
 public:
  explicit Transaction(const Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& database_;
  bool open_ = true;
};

}  // namespace longformer::io
