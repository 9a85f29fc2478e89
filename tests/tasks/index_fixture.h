// A model, a folder of documents and indexes of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tasks/index.h"
#include "tasks/index_search.h"
#include "tasks/tiny_model.h"

namespace longformer::tasks {

class IndexFixture : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(model_directory(), "longformer", 64);
    put("docs/a.txt", "The fox sleeps in the barn. The hen runs.\n\nThe old dog eats corn.\n");
    put("docs/b.txt", "Rain comes in the night. The river runs deep.\n\nSnow in the old road.\n");
    put("docs/sub/c.txt", "One red hen eats corn. Two hens eat corn. The long road runs.\n");
  }

  std::filesystem::path path(const std::string& name) const { return directory_.path() / name; }
  std::filesystem::path model_directory() const { return path("model"); }
  void put(const std::string& name, const std::string& text) const { test::put(path(name), text); }

  TextModel load(Pooling pooling = Pooling::kMean, int threads = 2) const {
    TextModelOptions options;
    options.load.threads = threads;
    options.pooling = pooling;
    return load_text_model(model_directory(), options);
  }

  static IndexChoices small() {
    IndexChoices choices;
    choices.passage_tokens = 16;
    return choices;
  }

  IndexSummary build(TextModel& model, const std::string& index,
                     const IndexChoices& choices = small(),
                     const std::vector<std::string>& folders = {"docs"},
                     IndexWriter::Mode mode = IndexWriter::Mode::kUpdate,
                     const IndexHooks& hooks = {}) const {
    IndexInput input;
    for (const std::string& folder : folders) input.arguments.push_back(path(folder).string());
    input.documents = io::list_documents(input.arguments).names;
    IndexWriter writer(path(index), mode);
    return writer.update(model, model_directory(), choices, input, hooks);
  }

  std::vector<SearchResult> search(TextModel& model, const std::string& index,
                                   const std::string& query, int64_t top = 100) const {
    IndexSearchOptions options;
    options.top = top;
    return search_index(model, model_directory(), IndexReader(path(index)), query, options).results;
  }

  // Everything of two lists of results but the last bits of scores.
  static void expect_same(const std::vector<SearchResult>& a, const std::vector<SearchResult>& b,
                          double tolerance = 0) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].file, b[i].file) << i;
      EXPECT_EQ(a[i].passage, b[i].passage) << i;
      EXPECT_EQ(a[i].line_start, b[i].line_start);
      EXPECT_EQ(a[i].byte_end, b[i].byte_end);
      EXPECT_NEAR(a[i].score, b[i].score, tolerance) << i;
      EXPECT_NEAR(a[i].words, b[i].words, tolerance) << i;
    }
  }

  static int64_t positions(const std::filesystem::path& index) {
    return IndexReader(index).vectors().rows();
  }

  test::TemporaryDirectory directory_;
};

}  // namespace longformer::tasks
