// Which files below a directory are taken, and which programs read kinds that we do not: options
// that every command over documents has.
#pragma once

#include "cli/command.h"
#include "io/documents/documents.h"

namespace longformer::cli {

struct DocumentOptions {
  io::ListOptions list;
  io::ReadOptions read;
};
// Adds --include, --exclude and --converter. `copies`: whether equal files count once.
void add_document_options(CLI::App& app, io::Copies copies, DocumentOptions& options);

}  // namespace longformer::cli
