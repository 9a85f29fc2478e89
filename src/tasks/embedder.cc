#include "longformer/embedder.h"

#include <utility>

#include "tasks/vectors.h"

namespace longformer {
namespace {

tasks::Hooks hooks_of(const EmbedOptions& options) { return {options.progress, options.cancelled}; }

}  // namespace

struct Embedder::Impl {
  tasks::TextModel model;
};

Embedder::Embedder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Embedder::Embedder(Embedder&&) noexcept = default;
Embedder& Embedder::operator=(Embedder&&) noexcept = default;
Embedder::~Embedder() = default;

Embedder Embedder::load(const std::filesystem::path& directory, const EmbedderOptions& options) {
  return Embedder(std::make_unique<Impl>(
      Impl{tasks::load_text_model(directory, {.load = options.load,
                                              .pooling = options.pooling,
                                              .query_prompt = std::nullopt,
                                              .document_prompt = options.prompt})}));
}

const EncoderInfo& Embedder::info() const { return impl_->model.encoder.info(); }
int64_t Embedder::dimension() const { return impl_->model.dimension(); }
int64_t Embedder::max_tokens() const { return impl_->model.capacity(); }
const std::vector<Pooling>& Embedder::pooling() const { return impl_->model.modules.pooling; }
const std::string& Embedder::prompt() const { return impl_->model.document_prompt; }
bool Embedder::normalized() const { return impl_->model.normalized(); }

int64_t Embedder::count_tokens(std::string_view text) const {
  return static_cast<int64_t>(impl_->model.tokenizer.encode(text).size());
}

std::vector<float> Embedder::embed(std::string_view text) { return embed(text, {}).values; }

Embedding Embedder::embed(std::string_view text, const EmbedOptions& options) {
  const tasks::TokenizedText tokens =
      tasks::tokenize(impl_->model, text, tasks::TextRole::kDocument);
  tasks::DocumentVector vector = tasks::document_vector(impl_->model, tokens, hooks_of(options));
  return {std::move(vector.values), static_cast<int64_t>(tokens.tokens.size()), vector.windows};
}

std::vector<PassageEmbedding> Embedder::embed_passages(std::string_view text,
                                                       const PassageEmbedOptions& options) {
  const tasks::PreparedDocument document = tasks::prepare(
      impl_->model, text, tasks::passage_options(impl_->model, options.passage_tokens));
  const tasks::PreparedDocument* documents[] = {&document};
  const tasks::Reading reading =
      options.document_context ? tasks::Reading::kInDocument : tasks::Reading::kAlone;
  std::vector<PassageEmbedding> passages;
  tasks::passage_vectors(impl_->model, documents, {reading}, hooks_of(options.run),
                         [&](const tasks::PassageVectors& vectors) {
                           const tasks::Passage& passage =
                               document.segmentation.passages[static_cast<size_t>(vectors.passage)];
                           passages.push_back({{vectors.values.begin(), vectors.values.end()},
                                               passage.bytes.begin,
                                               passage.bytes.end,
                                               passage.line_begin,
                                               passage.line_end,
                                               passage.tokens()});
                         });
  return passages;
}

}  // namespace longformer
