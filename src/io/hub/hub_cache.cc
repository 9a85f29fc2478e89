#include "io/hub/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <vector>

#include "io/files.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNamePart = 96;        // bytes, the hub's own rule
constexpr size_t kMaxRevisionBytes = 200;  // a file name has at most 255
constexpr size_t kMaxRefBytes = 256;
constexpr int kMaxCheckedEntries = 1000;
constexpr size_t kRevisionsShown = 3;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_name_part(std::string_view part) {
  if (part.empty() || part.size() > kMaxNamePart) return false;
  if (!is_word(part.front()) || !is_word(part.back())) return false;
  return std::all_of(part.begin(), part.end(),
                     [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

std::string pull_line(const std::string& name, const std::string& revision) {
  return "longformer pull " + name + (revision == "main" ? "" : " --revision " + revision);
}

// " (in the cache: a1b2…, …)", so that somebody who pulled one commit sees what to name.
std::string cached_revisions(const fs::path& repository) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(repository / "snapshots", error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_commit(entry->path().filename().string())) {
      found.push_back(entry->path().filename().string());
    }
  }
  if (found.empty()) return "";
  std::sort(found.begin(), found.end());
  std::string list;
  for (size_t i = 0; i < std::min(found.size(), kRevisionsShown); ++i) {
    list += (i > 0 ? ", " : "") + found[i];
  }
  return " (the cache has its " + std::string(found.size() == 1 ? "commit " : "commits ") + list +
         (found.size() > kRevisionsShown ? ", …" : "") + ")";
}

std::string read_ref(const fs::path& path, const std::string& name, const std::string& revision) {
  std::string commit = read_file(path, kMaxRefBytes);
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
  if (!is_commit(commit)) {
    throw Error(ErrorCode::kInvalidFile,
                "does not hold a commit of 40 hexadecimal digits; delete the file, then: " +
                    pull_line(name, revision),
                path.string());
  }
  return commit;
}

// A blob that was deleted leaves links behind that lead nowhere.
void check_links(const fs::path& snapshot, const std::string& name, const std::string& revision) {
  std::error_code error;
  int entries = 0;
  for (fs::directory_iterator entry(snapshot, error), end; !error && entry != end;
       entry.increment(error)) {
    if (++entries > kMaxCheckedEntries) break;
    std::error_code ignored;
    if (fs::is_symlink(entry->symlink_status(ignored)) && !fs::exists(entry->path(), ignored)) {
      throw Error(ErrorCode::kNotFound,
                  "is a link to a file that is not in the cache any more; get it again with: " +
                      pull_line(name, revision),
                  entry->path().string());
    }
  }
  if (error) throw Error(ErrorCode::kIo, error.message(), snapshot.string());
  if (entries == 0) {
    throw Error(ErrorCode::kNotFound, "is empty; get the model with: " + pull_line(name, revision),
                snapshot.string());
  }
}

}  // namespace

bool is_hub_name(std::string_view name) noexcept {
  if (name.find("--") != std::string_view::npos || name.find("..") != std::string_view::npos ||
      name.ends_with(".git")) {
    return false;
  }
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return is_name_part(name);
  return is_name_part(name.substr(0, slash)) && is_name_part(name.substr(slash + 1));
}

bool is_commit(std::string_view revision) noexcept {
  return revision.size() == 40 && std::all_of(revision.begin(), revision.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_plain_path(std::string_view path) noexcept {
  for (size_t begin = 0;;) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    for (const char c : part) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\') return false;
    }
    if (end == path.size()) return path.size() <= 1024;
    begin = end + 1;
  }
}

void check_revision(const std::string& revision) {
  if (revision.size() > kMaxRevisionBytes || !is_plain_path(revision)) {
    throw Error(ErrorCode::kInvalidArgument,
                "is no branch, tag or commit: one of at most 200 bytes, without \"..\", is needed",
                "--revision");
  }
}

fs::path hub_repository(const fs::path& cache, std::string_view name) {
  if (!is_hub_name(name)) {
    throw Error(ErrorCode::kInvalidArgument,
                "is no name of a model on the hub; these are NAME or ORG/NAME of letters, digits, "
                "\"-\", \"_\" and \".\"",
                std::string(name));
  }
  std::string directory = "models--";
  for (const char c : name) directory += c == '/' ? std::string("--") : std::string(1, c);
  return cache / directory;
}

fs::path find_cached_model(const fs::path& cache, const std::string& name,
                           const std::string& revision) {
  const fs::path repository = hub_repository(cache, name);
  check_revision(revision);
  const auto missing = [&](const std::string& what) {
    throw Error(ErrorCode::kNotFound, what + "; get it with: " + pull_line(name, revision), name);
  };
  std::error_code ignored;
  if (!fs::is_directory(repository, ignored)) {
    missing("is neither a directory nor a model in the hub cache " + cache.string());
  }
  std::string commit = revision;
  if (!is_commit(revision)) {
    const fs::path ref = repository / "refs" / revision;
    if (!fs::is_regular_file(ref, ignored)) {
      missing("has no revision " + revision + " in the hub cache " + cache.string() +
              cached_revisions(repository));
    }
    commit = read_ref(ref, name, revision);
  }
  const fs::path snapshot = repository / "snapshots" / commit;
  if (!fs::is_directory(snapshot, ignored)) {
    missing("has no files of commit " + commit + " in the hub cache " + cache.string());
  }
  check_links(snapshot, name, revision);
  return snapshot;
}

}  // namespace longformer::io
