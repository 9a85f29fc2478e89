// What search, index and embed have in common: which files, which model, how a text is cut and
// pooled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/load_options.h"
#include "cli/output.h"
#include "tasks/model_files.h"

namespace longformer::cli {

struct TaskOptions {
  ModelOptions model;
  LoadOverrides overrides;
  std::vector<std::string> files;
  std::string pooling;
  std::optional<std::string> query_prompt;
  std::optional<std::string> document_prompt;
  std::optional<int64_t> passage_tokens;
};
void add_task_options(CLI::App& app, TaskOptions& options);
// What stands before the texts of one role, as the option `name`.
void add_prompt_option(CLI::App& app, const std::string& name, tasks::TextRole role,
                       TaskOptions& options);

tasks::TextModel load_model(const TaskOptions& options);

// The documents that the arguments name. Skipped files and copies have been reported.
io::DocumentList find_documents(const std::vector<std::string>& arguments,
                                const io::ListOptions& options);

// kDone, kSomeSkipped, or kUsage when nothing was usable.
int exit_code(int64_t documents, size_t skipped);

// Notices on what was done to the documents.
void report_windows(int64_t documents, int64_t windowed, int64_t capacity);
void report_unreadable(const std::vector<std::string>& names);
void report_replaced(const std::vector<std::string>& names);
// A model that pools its first or last token has none for a passage inside a document.
void report_pooling_inside(const tasks::TextModel& model);

}  // namespace longformer::cli
