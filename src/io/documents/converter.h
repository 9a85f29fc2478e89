// Runs the programs that the user names for files which we do not read ourselves. Internal to this
// folder.
#pragma once

#include <chrono>
#include <string>

#include "base/limits.h"
#include "io/documents/documents.h"

namespace longformer::io {

struct ConverterOptions {
  std::chrono::milliseconds time = std::chrono::seconds(kMaxProgramSeconds);
  uint64_t output_bytes = kMaxDocumentBytes;
};

// The first whose glob matches the name; nullptr: none.
const Converter* find_converter(const std::vector<Converter>& converters, const std::string& name);

// Standard output of the program. Throws kInvalidFile or kNotFound with a short reason that holds
// the exit status; what the program says on standard error may be text of the document and does not
// stand there.
std::string convert_file(const Converter& converter, const std::string& name,
                         const ConverterOptions& options = {});

}  // namespace longformer::io
