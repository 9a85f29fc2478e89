#include "cli/index_options.h"

#include <filesystem>
#include <system_error>

#include "longformer/error.h"
#include "tasks/index_settings.h"

namespace longformer::cli {

void use_index_settings(const io::Settings& settings, TaskOptions& options) {
  if (settings.empty()) return;
  if (options.model.model.empty()) {
    const std::string recorded = tasks::setting(settings, ".model_directory");
    std::error_code error;
    if (!std::filesystem::is_directory(recorded, error)) {
      throw Error(ErrorCode::kNotFound,
                  "the model that the index was built with is not there any more; name it with "
                  "--model",
                  recorded);
    }
    options.model.model = recorded;
  }
  const std::string pooling = tasks::setting(settings, "pooling");
  if (options.pooling.empty() && tasks::pooling_from_name(pooling)) options.pooling = pooling;
  if (!options.document_prompt) {
    options.document_prompt = tasks::setting(settings, "document_prompt");
  }
}

}  // namespace longformer::cli
