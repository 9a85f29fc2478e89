// What the commands over an index take from it where the user has left it open.
#pragma once

#include "cli/task_options.h"
#include "io/collection/collection.h"

namespace longformer::cli {

// The model's directory, where no other is named: the one that the index was built with. Throws
// kNotFound, saying what to do, where that is no longer there. Pooling, the prompt of documents,
// windows, dilation, lengths and the arithmetic likewise.
void use_index_settings(const io::Settings& settings, TaskOptions& options);

// The options about windows, dilation and lengths, as use_index_settings() finds them again.
io::Settings notes_of(const LoadOverrides& overrides);

}  // namespace longformer::cli
