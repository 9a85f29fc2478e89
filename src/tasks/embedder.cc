#include "longformer/embedder.h"

#include <utility>

#include "tasks/embed.h"

namespace longformer {
namespace {

tasks::Hooks hooks_of(const EmbedOptions& options) { return {options.progress, options.cancelled}; }

io::Document document_of(std::string_view text) {
  io::Document document;
  document.text = text;
  return document;
}

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
  tasks::EmbeddingRecord record =
      tasks::embed_document(impl_->model, document_of(text), hooks_of(options));
  return {std::move(record.embedding), record.tokens, record.windows};
}

std::vector<PassageEmbedding> Embedder::embed_passages(std::string_view text,
                                                       const PassageEmbedOptions& options) {
  std::vector<PassageEmbedding> passages;
  const tasks::Reading reading =
      options.document_context ? tasks::Reading::kInDocument : tasks::Reading::kAlone;
  tasks::embed_passages(
      impl_->model, document_of(text), reading,
      tasks::passage_options(impl_->model, options.passage_tokens), hooks_of(options.run),
      [&](tasks::EmbeddingRecord record) {
        passages.push_back({std::move(record.embedding), record.bytes.begin, record.bytes.end,
                            record.citation.line_start, record.citation.line_end, record.tokens});
      });
  return passages;
}

}  // namespace longformer
