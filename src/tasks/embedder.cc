#include "longformer/embedder.h"

#include <utility>

#include "tasks/embed.h"

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
      Impl{tasks::load_text_model(directory, options.load, options.pooling)}));
}

const EncoderInfo& Embedder::info() const { return impl_->model.encoder.info(); }
int64_t Embedder::dimension() const { return impl_->model.hidden_size(); }
int64_t Embedder::max_tokens() const { return impl_->model.capacity(); }
Pooling Embedder::pooling() const { return impl_->model.pooling.pooling; }
bool Embedder::normalized() const { return impl_->model.pooling.normalize; }

int64_t Embedder::count_tokens(std::string_view text) const {
  return static_cast<int64_t>(impl_->model.tokenizer.encode(text).size());
}

std::vector<float> Embedder::embed(std::string_view text) { return embed(text, {}).values; }

Embedding Embedder::embed(std::string_view text, const EmbedOptions& options) {
  tasks::EmbeddingRecord record = tasks::embed_document(impl_->model, {}, text, hooks_of(options));
  return {std::move(record.embedding), record.tokens, record.windows};
}

std::vector<PassageEmbedding> Embedder::embed_passages(std::string_view text,
                                                       const PassageEmbedOptions& options) {
  std::vector<PassageEmbedding> passages;
  const tasks::Reading reading =
      options.document_context ? tasks::Reading::kInDocument : tasks::Reading::kAlone;
  tasks::embed_passages(
      impl_->model, {}, text, reading, tasks::passage_options(impl_->model, options.passage_tokens),
      hooks_of(options.run), [&](tasks::EmbeddingRecord record) {
        passages.push_back({std::move(record.embedding), record.bytes.begin, record.bytes.end,
                            record.line_start, record.line_end, record.tokens});
      });
  return passages;
}

}  // namespace longformer
