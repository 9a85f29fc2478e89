#include "tasks/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

const std::string kText =
    "The old dog sleeps in the barn. The dog eats corn.\n"
    "\n"
    "Rain comes in the night. The river runs deep.\n"
    "Snow comes in the night.\n"
    "\n"
    "One red hen eats corn. Two red hens eat corn. The long road runs.\n";

class SearchTest : public testing::Test {
 protected:
  void SetUp() override { test::write_tiny_model(directory_.path() / "model", "longformer", 64); }
  TextModel load() {
    return load_text_model(directory_.path() / "model",
                           {.load = {.threads = 2}, .pooling = Pooling::kMean});
  }
  std::string file(const std::string& name, const std::string& text) {
    test::put(directory_.path() / name, text);
    return (directory_.path() / name).string();
  }
  SearchOptions options(const TextModel& model) const {
    SearchOptions options;
    options.passages = passage_options(model, 16);
    return options;
  }
  test::TemporaryDirectory directory_;
};

TEST_F(SearchTest, AQueryThatIsAPassageFindsIt) {
  TextModel model = load();
  SearchOptions settings = options(model);
  settings.context = Context::kPassage;  // read alone, as the query is: the same vector
  Search search(model, "Rain comes in the night. The river runs deep.", settings);
  search.add("text", kText);
  const SearchResult best = search.results().at(0);
  EXPECT_NEAR(best.cosine, 1.0, 1e-6);
  EXPECT_EQ(best.words, 1.0);  // nothing else has all of its words
  EXPECT_EQ(best.score, best.cosine + kDefaultWordsWeight);
  EXPECT_EQ(best.kind, "text");
  EXPECT_EQ(best.file, "text");
  EXPECT_EQ(best.passage, "Rain comes in the night. The river runs deep.");
  EXPECT_EQ(best.line_start, 3);
  EXPECT_EQ(best.line_end, 3);
  EXPECT_EQ(best.byte_start, static_cast<int64_t>(kText.find("Rain")));
  EXPECT_EQ(best.byte_end, static_cast<int64_t>(kText.find("\nSnow")));
}

TEST_F(SearchTest, ResultsAreCutFromTheText) {
  TextModel model = load();
  for (const Context context : {Context::kPassage, Context::kDocument, Context::kBoth}) {
    SearchOptions settings = options(model);
    settings.context = context;
    settings.top = 100;
    Search search(model, "the moon", settings);
    search.add("text", kText);
    EXPECT_EQ(static_cast<int64_t>(search.results().size()), search.summary().passages);
    for (const SearchResult& r : search.results()) {
      EXPECT_EQ(r.passage, kText.substr(static_cast<size_t>(r.byte_start),
                                        static_cast<size_t>(r.byte_end - r.byte_start)));
      EXPECT_EQ(r.best_sentence,
                r.passage.substr(static_cast<size_t>(r.best_sentence_start),
                                 static_cast<size_t>(r.best_sentence_end - r.best_sentence_start)));
      EXPECT_EQ(r.best_sentence.back(), '.');
      EXPECT_EQ(r.line_start, 1 + std::count(kText.begin(), kText.begin() + r.byte_start, '\n'));
      EXPECT_LE(std::abs(r.cosine), 1.0 + 1e-9);
    }
    const std::vector<SearchResult> results = search.results();
    EXPECT_TRUE(std::is_sorted(
        results.begin(), results.end(),
        [](const SearchResult& a, const SearchResult& b) { return a.score > b.score; }));
  }
}

TEST_F(SearchTest, BothIsTheMeanOfTheOthers) {
  TextModel model = load();
  std::map<int64_t, double> scores[3];
  for (const Context context : {Context::kPassage, Context::kDocument, Context::kBoth}) {
    SearchOptions settings = options(model);
    settings.context = context;
    settings.top = 100;
    Search search(model, "old road", settings);
    search.add("text", kText);
    for (const SearchResult& r : search.results())
      scores[static_cast<int>(context)][r.byte_start] = r.cosine;
  }
  ASSERT_GT(scores[0].size(), 2u);
  for (const auto& [place, score] : scores[2]) {
    EXPECT_NEAR(score, (scores[0].at(place) + scores[1].at(place)) / 2, 1e-12);
    EXPECT_NE(scores[0].at(place), scores[1].at(place));
  }
}

TEST_F(SearchTest, TheBestSentenceIsTheOneLikeTheQuery) {
  TextModel model = load();
  SearchOptions settings = options(model);
  settings.passages = passage_options(model, 40);
  Search search(model, "Two red hens eat corn.", settings);
  search.add("text",
             "One old dog sleeps. Two red hens eat corn. The river runs deep in the night.");
  EXPECT_EQ(search.results().at(0).best_sentence, "Two red hens eat corn.");
}

TEST_F(SearchTest, LimitsAndTies) {
  TextModel model = load();
  SearchOptions settings = options(model);
  settings.top = 3;
  Search search(model, "The fox runs.", settings);
  search.add("b", "The fox runs.");
  search.add("c", "The fox runs.");
  search.add("a", "The fox runs.");
  search.add("d", "Snow in the deep river.");
  ASSERT_EQ(search.results().size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(search.results()[i].file, std::string(1, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(search.results()[0].passage, "The fox runs.");
  settings.min_score = 0.9999;
  settings.words_weight = 0;
  Search strict(model, "the moon", settings);
  strict.add("a", "The fox runs.");
  EXPECT_TRUE(strict.results().empty());
}

TEST_F(SearchTest, FilesThatCannotBeReadAreSkippedAndReported) {
  TextModel model = load();
  const std::string good = file("good.txt", kText);
  const std::string binary = file("binary", std::string("a\0b\0\1\2", 6));
  const std::string missing = (directory_.path() / "missing").string();
  SearchOptions settings = options(model);
  std::vector<double> shares;
  settings.progress = [&](const SearchProgress& progress) { shares.push_back(progress.share); };
  Search search(model, "corn", settings);
  search.add_files({binary, missing, good});
  EXPECT_EQ(search.summary().documents, 1);
  ASSERT_EQ(search.summary().skipped.size(), 2u);
  EXPECT_EQ(search.summary().skipped[0].name, binary);
  EXPECT_EQ(search.summary().skipped[1].name, missing);
  EXPECT_FALSE(search.results().empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares.back(), 1.0, 1e-9);
}

TEST_F(SearchTest, LongDocumentsAreWindowedAndSaidSo) {
  TextModel model = load();
  SearchOptions settings = options(model);
  settings.context = Context::kDocument;
  settings.top = 1000;
  std::string text;
  for (int i = 0; i < 12; ++i) text += kText;
  Search search(model, "corn", settings);
  search.add("long", text);
  search.add("short", "The fox runs.");
  EXPECT_EQ(search.summary().windowed, 1);
  EXPECT_EQ(search.summary().documents, 2);
  EXPECT_EQ(search.summary().passages, static_cast<int64_t>(search.results().size()));
}

TEST_F(SearchTest, TheSameBitsForAnyNumberOfThreads) {
  std::vector<double> scores[2];
  for (int i = 0; i < 2; ++i) {
    TextModel model = load_text_model(directory_.path() / "model",
                                      {.load = {.threads = 1 + 2 * i}, .pooling = Pooling::kMean});
    SearchOptions settings = options(model);
    settings.context = Context::kBoth;
    Search search(model, "corn", settings);
    search.add("text", kText);
    for (const SearchResult& r : search.results()) scores[i].push_back(r.score);
  }
  EXPECT_EQ(scores[0], scores[1]);
}

TEST_F(SearchTest, QueriesAndOptionsThatCannotBeUsed) {
  TextModel model = load();
  for (const char* query : {"", "  \n", "\x01"}) {
    test::expect_error(ErrorCode::kInvalidArgument, {"query"},
                       [&] { Search(model, query, options(model)); });
  }
  SearchOptions none = options(model);
  none.top = 0;
  test::expect_error(ErrorCode::kInvalidArgument, {"top"}, [&] { Search(model, "fox", none); });
  SearchOptions wide = options(model);
  wide.passages.passage_tokens = 63;
  test::expect_error(ErrorCode::kInvalidArgument, {"passage tokens"},
                     [&] { Search(model, "fox", wide); });
  SearchOptions stopped = options(model);
  stopped.cancelled = [] { return true; };
  test::expect_error(ErrorCode::kCancelled, {}, [&] { Search(model, "fox", stopped); });
}

TEST_F(SearchTest, IdentifiersAndPhrasesComeFirst) {
  TextModel model = load();
  SearchOptions settings = options(model);
  settings.words_weight = 0;
  settings.top = 100;
  std::string text =
      kText + "\nThe road has max_rain in it, the old road by the river in the night.\n";
  for (const char* query : {"fox max_rain", "fox \"max_rain in it\""}) {
    Search search(model, query, settings);
    search.add("text", text);
    const std::vector<SearchResult> results = search.results();
    EXPECT_NE(results.at(0).passage.find("max_rain"), std::string::npos);
    EXPECT_EQ(results.at(0).verbatim, 1);
    EXPECT_EQ(results.at(1).verbatim, 0);
  }
}

TEST_F(SearchTest, PartsOfOneFileGoOn) {
  TextModel model = load();
  SearchOptions settings = options(model);
  settings.top = 100;
  Search search(model, "corn", settings);
  io::Document part;
  part.name = "large.txt";
  part.text = "The fox sleeps in the barn.\n\nThe hen runs.\n\n";
  part.last = false;
  search.add(part);
  part.first_byte = static_cast<int64_t>(part.text.size());
  part.first_line = 4;
  part.text = "Rain comes.\nThe old dog eats corn.\n";
  part.last = true;
  search.add(part);
  EXPECT_EQ(search.summary().documents, 1);
  EXPECT_EQ(search.summary().windowed, 1);
  bool found = false;
  for (const SearchResult& r : search.results()) {
    EXPECT_EQ(r.file, "large.txt");
    if (r.passage.find("Rain") == std::string::npos) continue;
    found = true;
    EXPECT_EQ(r.line_start, 5);
    EXPECT_EQ(r.line_end, 6);
    EXPECT_EQ(r.byte_start, part.first_byte);
  }
  EXPECT_TRUE(found);
}

TEST_F(SearchTest, PagesAndHeadingsAreCited) {
  TextModel model = load();
  Search search(model, "corn", options(model));
  io::Document document;
  document.name = "paper.html";
  document.kind = io::DocumentKind::kHtml;
  document.has_lines = false;
  document.text = "Animals\n\nThe old dog eats corn in the barn.";
  document.headings = {{0, 1, "Animals", "animals"}};
  document.pages = {{0, 4}};
  search.add(document);
  const SearchResult best = search.results().at(0);
  EXPECT_EQ(best.kind, "html");
  EXPECT_EQ(best.headings, std::vector<std::string>{"Animals"});
  EXPECT_EQ(best.anchor, "animals");
  EXPECT_EQ(best.page_start, 4);
  EXPECT_EQ(best.page_end, 4);
}

TEST_F(SearchTest, TextWithoutTokensIsNoResult) {
  TextModel model = load();
  Search search(model, "fox", options(model));
  search.add("invisible", "\x01\x02\x01");
  EXPECT_TRUE(search.results().empty());
  EXPECT_EQ(search.summary().documents, 1);
}

}  // namespace
}  // namespace longformer::tasks
