// Which files below a directory are taken, and which programs read kinds that we do not: options
// that every command over documents has.
#pragma once

#include <string>

#include "cli/command.h"
#include "io/documents/documents.h"

namespace longformer::cli {

struct DocumentOptions {
  io::ListOptions list;
  io::ReadOptions read;
};
// Adds --include, --exclude and --converter. `copies`: whether equal files count once.
void add_document_options(CLI::App& app, io::Copies copies, DocumentOptions& options);

// The text of all parts of a document. Sets `replaced` where bytes were not UTF-8. Throws
// kInvalidFile for one that is larger than a text that is read at once may be.
std::string read_whole_document(const std::string& name, const io::ReadOptions& options,
                                bool& replaced);

}  // namespace longformer::cli
