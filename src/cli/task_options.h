// What search and embed have in common: which files, which model, how a text is cut and pooled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "tasks/model_files.h"

namespace longformer::cli {

struct TaskOptions {
  ModelOptions model;
  std::vector<std::string> files;
  std::string pooling;
  std::optional<int64_t> passage_tokens;
};
void add_task_options(CLI::App& app, TaskOptions& options);

tasks::TextModel load_model(const TaskOptions& options);

// The documents that the arguments name. Skipped files and copies have been reported.
io::DocumentList find_documents(const std::vector<std::string>& arguments, io::Copies copies);

// kDone, kSomeSkipped, or kUsage when nothing was usable.
int exit_code(int64_t documents, size_t skipped);

// Notices on what was done to the documents.
void report_windows(int64_t documents, int64_t windowed, int64_t capacity);
void report_unreadable(const std::vector<std::string>& names);
void report_replaced(const std::vector<std::string>& names);

}  // namespace longformer::cli
