// Documents as people have them: plain text files, gzip, directories, standard input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace longformer::io {

struct Document {
  std::string name;  // as the user wrote it, or found below a directory; "-" for standard input
  std::string text;  // valid UTF-8
  bool replaced = false;  // some bytes were not UTF-8: read as Latin-1 or replaced by U+FFFD
};

struct SkippedFile {
  std::string name;
  std::string reason;  // "binary", "empty", "Permission denied", …
};

// What the arguments name, in order: files, the files below directories (sorted by path), "-".
// Files that are the same (links, hard links, equal content) count once, under the first name, or
// each, as `copies` says. Special files are skipped with a reason. Nothing is read yet except to
// compare equal sizes.
struct DocumentList {
  std::vector<std::string> names;
  std::vector<SkippedFile> skipped;
  std::vector<SkippedFile> duplicates;  // reason: name of the file it equals
};
enum class Copies { kOnce, kEach };
DocumentList list_documents(const std::vector<std::string>& arguments,
                            Copies copies = Copies::kOnce);

// Reads one: gunzips (limit: kMaxDocumentBytes after expansion), checks that it is text. Throws
// Error whose message is fit for SkippedFile::reason.
Document read_document(const std::string& name);

}  // namespace longformer::io
