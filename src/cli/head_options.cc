#include "cli/head_options.h"

namespace longformer::cli {

void add_head_options(CLI::App& app, std::string& global, bool& allow_new_head) {
  app.add_option("--global", global,
                 "Global tokens, instead of the task's default: none | first | question | "
                 "POSITIONS (0,7,12-20) | token:ID | regex:PATTERN, several joined by +")
      ->type_name("RULE");
  app.add_flag("--allow-new-head", allow_new_head,
               "Fill what the checkpoint lacks of the head with random numbers");
}

void report_new_head(const TaskInfo& info) {
  if (info.new_tensors.empty()) return;
  std::string names;
  for (const std::string& name : info.new_tensors) names += (names.empty() ? "" : ", ") + name;
  notice("the head is new: " + names + " are random; what comes out means nothing before training");
}

}  // namespace longformer::cli
