// Options of every command that runs a model with a head.
#pragma once

#include <string>

#include "cli/command.h"
#include "longformer/task_model.h"

namespace longformer::cli {

// Adds --global and --allow-new-head.
void add_head_options(CLI::App& app, std::string& global, bool& allow_new_head);

// A notice that names the tensors of a head that are random; nothing where none is.
void report_new_head(const TaskInfo& info);

}  // namespace longformer::cli
