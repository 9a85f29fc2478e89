#include "io/collection/sqlite.h"

#include <sqlite3.h>

#include <new>
#include <system_error>
#include <utility>

#include "io/files.h"
#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr int kBusyMilliseconds = 10'000;  // readers and the one writer hold each other up briefly
constexpr int kLargestStatement = 1 << 20;

[[noreturn]] void fail(int code, const std::string& reason, const std::string& place) {
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      throw Error(ErrorCode::kInvalidFile,
                  "is not a database, or a damaged one; build the index anew with --rebuild, or, "
                  "where that refuses it, remove the directory",
                  place);
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // a table or column that should be there is not
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
      throw Error(ErrorCode::kInvalidFile,
                  "is damaged (" + reason + "); build the index anew with --rebuild", place);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(ErrorCode::kIo, "is in use by another process; try again later", place);
    case SQLITE_CANTOPEN:
    case SQLITE_NOTFOUND:
      throw Error(ErrorCode::kIo, "cannot be opened (" + reason + ")", place);
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_INTERNAL:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
      throw Error(ErrorCode::kInternal, reason, place);
    default:  // SQLITE_IOERR, SQLITE_FULL, SQLITE_READONLY, SQLITE_PERM, …
      throw Error(ErrorCode::kIo, reason, place);
  }
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), place_(other.place_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(statement_, other.statement_);
  std::swap(place_, other.place_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

namespace {

void check_bound(int code, const std::string& place) {
  if (code != SQLITE_OK) fail(code, sqlite3_errstr(code), place);
}

}  // namespace

Statement& Statement::bind(int position, int64_t value) {
  check_bound(sqlite3_bind_int64(statement_, position, value), *place_);
  return *this;
}

Statement& Statement::bind(int position, std::optional<int64_t> value) {
  if (value) return bind(position, *value);
  check_bound(sqlite3_bind_null(statement_, position), *place_);
  return *this;
}

Statement& Statement::bind_text(int position, std::string_view value) {
  check_bound(sqlite3_bind_text64(statement_, position, value.data() == nullptr ? "" : value.data(),
                                  value.size(), SQLITE_TRANSIENT, SQLITE_UTF8),
              *place_);
  return *this;
}

Statement& Statement::bind_blob(int position, std::string_view value) {
  check_bound(sqlite3_bind_blob64(statement_, position, value.data() == nullptr ? "" : value.data(),
                                  value.size(), SQLITE_TRANSIENT),
              *place_);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const std::string reason = sqlite3_errmsg(sqlite3_db_handle(statement_));
  const int extended = sqlite3_extended_errcode(sqlite3_db_handle(statement_));
  sqlite3_reset(statement_);
  fail(extended, reason, *place_);
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::optional<int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (bytes == nullptr || size <= 0) return {};
  return std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

Database::Database(const std::filesystem::path& path, Mode mode)
    : place_(std::make_unique<std::string>(mode == Mode::kTemporary ? "the temporary database"
                                                                    : path.string())) {
  // The library would wait for the other end of a pipe.
  if (mode != Mode::kTemporary && entry_exists(path)) open_for_reading(path.string());
  if (mode == Mode::kTemporary) {
    open("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  } else if (mode == Mode::kWrite) {
    open(path.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  } else {
    try {
      open(path.string(), SQLITE_OPEN_READONLY);
      integer("SELECT count(*) FROM sqlite_schema");  // opens the log too
    } catch (const Error& error) {
      // In a directory that is not writable the log's index cannot be made. Without a log there is
      // nobody who writes, and the file alone is whole.
      std::error_code absent;
      const uintmax_t size = std::filesystem::file_size(path.string() + "-wal", absent);
      const bool log = !absent && size > 0;
      if (error.code() != ErrorCode::kIo || !entry_exists(path) || log) throw;
      std::string escaped;
      for (const char c : std::filesystem::absolute(path).string()) {
        if (c == '%' || c == '?' || c == '#') {
          constexpr char kDigits[] = "0123456789ABCDEF";
          escaped += {'%', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
        } else {
          escaped += c;
        }
      }
      open("file:" + escaped + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    }
  }
}

void Database::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }

void Database::open(const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(handle);  // there even after most failures
  if (code != SQLITE_OK) {
    fail(code, handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle), *place_);
  }
  guard();
}

void Database::guard() const {
  sqlite3_busy_timeout(handle_.get(), kBusyMilliseconds);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_SQL_LENGTH, kLargestStatement);
  execute("PRAGMA cell_size_check = ON");
  execute("PRAGMA mmap_size = 0");
}

Statement Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()), 0,
                                      &statement, nullptr);
  if (code != SQLITE_OK) fail(code, sqlite3_errmsg(handle_.get()), *place_);
  return Statement(statement, place_.get());
}

void Database::execute(std::string_view sql) const { prepare(sql).run(); }

int64_t Database::integer(std::string_view sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

bool Database::in_transaction() const noexcept {
  return sqlite3_get_autocommit(handle_.get()) == 0;
}

Transaction::Transaction(const Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    if (database_.in_transaction()) database_.execute("ROLLBACK");
  } catch (const std::exception&) {
    // Closing the database rolls back too.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace longformer::io
