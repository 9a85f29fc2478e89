#include "tasks/index_search.h"

#include <cmath>
#include <cstring>

#include "base/thread_pool.h"
#include "tasks/index_fixture.h"
#include "tasks/index_settings.h"

namespace longformer::tasks {
namespace {

using test::expect_error;

class IndexSearchTest : public IndexFixture {};

// The same query over the files as they are.
std::vector<SearchResult> search_files(TextModel& model, const std::vector<std::string>& names,
                                       const std::string& query, Context context) {
  SearchOptions options;
  options.context = context;
  options.top = 100;
  options.passages = passage_options(model, 16);
  Search search(model, query, options);
  search.add_files(names);
  return search.results();
}

TEST_F(IndexSearchTest, FindsWhatReadingTheFilesFinds) {
  TextModel model = load();
  const std::vector<std::string> names = io::list_documents({path("docs").string()}).names;
  for (const Context context : {Context::kPassage, Context::kDocument, Context::kBoth}) {
    IndexChoices choices = small();
    choices.context = context;
    choices.vectors = io::VectorKind::kF32;
    const std::string index(context_name(context));
    build(model, index, choices);
    for (const char* query : {"The old dog eats corn.", "rain", "\"in the night\" hens"}) {
      expect_same(search(model, index, query), search_files(model, names, query, context), 1e-6);
    }
  }
}

TEST_F(IndexSearchTest, SmallerVectorsAreNear) {
  TextModel model = load();
  IndexChoices choices = small();
  choices.vectors = io::VectorKind::kF32;
  build(model, "f32", choices);
  std::map<std::string, double> exact;
  for (const SearchResult& r : search(model, "f32", "the fox")) exact[r.passage] = r.cosine;
  for (const io::VectorKind kind : {io::VectorKind::kF16, io::VectorKind::kInt8}) {
    choices.vectors = kind;
    const std::string index(io::vector_kind_name(kind));
    build(model, index, choices);
    const std::vector<SearchResult> results = search(model, index, "the fox");
    ASSERT_EQ(results.size(), exact.size());
    const double tolerance = kind == io::VectorKind::kF16 ? 1e-3 : 0.02;
    for (const SearchResult& r : results) EXPECT_NEAR(r.cosine, exact.at(r.passage), tolerance);
  }
}

TEST_F(IndexSearchTest, TheBestSentenceIsInThePassage) {
  TextModel model = load();
  IndexChoices choices;
  choices.passage_tokens = 40;
  build(model, "x", choices);
  for (const SearchResult& r : search(model, "x", "Two hens eat corn.")) {
    EXPECT_EQ(r.best_sentence,
              r.passage.substr(static_cast<size_t>(r.best_sentence_start),
                               static_cast<size_t>(r.best_sentence_end - r.best_sentence_start)));
    EXPECT_EQ(r.best_sentence.back(), '.');
  }
  const std::string text =
      "One old dog sleeps. Two red hens eat corn. The river runs deep in the night.";
  const QueryVector query = read_query(model, "Two red hens eat corn.", {});
  const ByteRange best = best_sentence(model, text, query.values, {});
  EXPECT_EQ(best, (ByteRange{20, 42}));
}

TEST_F(IndexSearchTest, PathsChooseFiles) {
  TextModel model = load();
  build(model, "x");
  const IndexReader index(path("x"));
  const auto files = [&](const std::vector<std::string>& globs) {
    IndexSearchOptions options;
    options.top = 100;
    options.paths = globs;
    std::set<std::string> names;
    for (const SearchResult& r :
         search_index(model, model_directory(), index, "fox", options).results) {
      names.insert(std::filesystem::path(r.file).filename().string());
    }
    return names;
  };
  EXPECT_EQ(files({}), (std::set<std::string>{"a.txt", "b.txt", "c.txt"}));
  EXPECT_EQ(files({"a.txt"}), std::set<std::string>{"a.txt"});
  EXPECT_EQ(files({"a*", "c.*"}), (std::set<std::string>{"a.txt", "c.txt"}));
  EXPECT_EQ(files({"**/sub/*"}), std::set<std::string>{"c.txt"});
  const std::string folder = path("docs").string();
  EXPECT_EQ(files({folder + "/*.txt"}), (std::set<std::string>{"a.txt", "b.txt"}));
  EXPECT_EQ(files({folder + "/**"}), (std::set<std::string>{"a.txt", "b.txt", "c.txt"}));
  // Directories by their name or path.
  for (const std::string& name :
       {std::string("sub"), std::string("sub/"), folder + "/sub", folder + "/sub/"}) {
    EXPECT_EQ(files({name}), std::set<std::string>{"c.txt"}) << name;
  }
  EXPECT_EQ(files({"sub", "a.txt"}), (std::set<std::string>{"a.txt", "c.txt"}));
  for (const std::string& name :
       {std::string("nothing"), std::string("su"), folder + "/su", folder + "/*.pdf"}) {
    expect_error(ErrorCode::kInvalidArgument, {"no file of the index matches --path " + name}, [&] {
      files({"a.txt", name});
    });
  }
}

TEST_F(IndexSearchTest, VectorsThatAreNoneAreDamage) {
  TextModel model = load();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const io::VectorKind kind : {io::VectorKind::kF32, io::VectorKind::kInt8}) {
    IndexChoices choices = small();
    choices.vectors = kind;
    const std::string index(io::vector_kind_name(kind));
    build(model, index, choices);
    const std::string name = index + "/vectors-1-0.bin";
    const std::string whole = io::read_file(path(name), 1 << 20);
    for (const float bad : {kNan, kInfinity, -kInfinity, -0.5f}) {
      if (kind == io::VectorKind::kF32 && bad == -0.5f) continue;  // a number like any other
      std::string broken = whole;
      std::memcpy(broken.data() + io::kSegmentHeaderBytes, &bad, sizeof bad);
      put(name, broken);
      expect_error(ErrorCode::kInvalidFile, {path(index).string(), "--rebuild"},
                   [&] { search(model, index, "fox"); });
    }
  }
}

TEST_F(IndexSearchTest, PassagesOfImpossibleLength) {
  TextModel model = load();
  // A word of two megabytes is one token: its passage is kept in part, and found.
  put("docs/long.txt", "The fox " + std::string(2 << 20, 'x') + " runs.\n");
  build(model, "x");
  const std::vector<SearchResult> results = search(model, "x", "the fox");
  const auto longest = std::max_element(
      results.begin(), results.end(),
      [](const auto& a, const auto& b) { return a.passage.size() < b.passage.size(); });
  ASSERT_NE(longest, results.end());
  EXPECT_EQ(longest->passage.size(), size_t{1} << 20);
  // What is longer has not been written by us.
  io::CollectionPassage passage;
  const io::Settings settings = {{"passage_tokens", "16"}};
  const int64_t limit = longest_kept_text(settings, "x");
  passage.text.assign(static_cast<size_t>(limit), 'x');
  check_kept_text(passage, limit, "x");
  passage.text += 'x';
  expect_error(ErrorCode::kInvalidFile, {"impossibly long", "--rebuild"},
               [&] { check_kept_text(passage, limit, "x"); });
  EXPECT_EQ(longest_kept_text({{"passage_tokens", "100000"}}, "x"), 51'200'000);
}

TEST_F(IndexSearchTest, TheSameBitsForAnyNumberOfThreads) {
  TextModel model = load();
  std::string text;
  for (int i = 0; i < 50; ++i) text += "The old dog number " + std::to_string(i) + " eats.\n\n";
  put("docs/long.txt", text);
  for (const io::VectorKind kind :
       {io::VectorKind::kF32, io::VectorKind::kF16, io::VectorKind::kInt8}) {
    IndexChoices choices = small();
    choices.vectors = kind;
    const std::string name(io::vector_kind_name(kind));
    build(model, name, choices);
    const IndexReader index(path(name));
    std::vector<PassageRun> runs;
    for (const io::CollectionFile& file : index.files()) {
      runs.push_back({file.first_passage, file.first_position, file.passages, 0});
    }
    std::vector<float> query(16);
    for (size_t i = 0; i < query.size(); ++i) query[i] = std::sin(static_cast<float>(i));
    ThreadPool one(1);
    ThreadPool three(3);
    EXPECT_EQ(scan_vectors(index.vectors(), runs, query, one),
              scan_vectors(index.vectors(), runs, query, three));
  }
}

TEST_F(IndexSearchTest, ScanningIsTheProductWithEveryRow) {
  const io::VectorLayout layout{io::VectorKind::kInt8, 5, 40};  // three rows a segment
  std::filesystem::create_directory(path("v"));
  io::VectorWriter writer(path("v"), layout, 1, 0);
  for (int i = 0; i < 20; ++i) {
    writer.append(
        std::vector<float>{1, static_cast<float>(i), -2, 0.5f, static_cast<float>(i % 3)});
  }
  writer.sync();
  const io::VectorReader reader(path("v"), layout, 1, 20);
  const std::vector<float> query = {0.5f, -1, 0.25f, 2, 1};
  ThreadPool pool(2);
  const std::vector<double> cosines = scan_vectors(
      reader, {{1, 0, 4, 0}, {5, 6, 10, 0}, {15, 4, 2, 0}, {30, 19, 1, 0}}, query, pool);
  for (int64_t i = 0; i < 20; ++i) {
    const bool scanned = i < 16 || i == 19;
    if (!scanned) {
      EXPECT_EQ(cosines[static_cast<size_t>(i)], -std::numeric_limits<double>::infinity());
      continue;
    }
    std::vector<float> row(5);
    decode_vector(layout, reader.row(i), row);
    double expected = 0;
    double size = 0;
    for (size_t c = 0; c < 5; ++c) {
      expected += static_cast<double>(row[c]) * static_cast<double>(query[c]);
      size += std::abs(static_cast<double>(row[c]) * static_cast<double>(query[c]));
    }
    EXPECT_NEAR(cosines[static_cast<size_t>(i)], expected, 1e-4 * size);
  }
}

TEST_F(IndexSearchTest, BrokenIndexesAreRefused) {
  TextModel model = load();
  expect_error(ErrorCode::kNotFound, {"no such index"}, [&] { IndexReader(path("absent")); });
  expect_error(ErrorCode::kNotFound, {"holds no index"}, [&] { IndexReader(path("docs")); });
  build(model, "x");
  const std::filesystem::path segment = io::segment_path(path("x"), 1, 0);
  const std::string whole = io::read_file(segment, 1 << 20);
  put("x/vectors-1-0.bin", whole.substr(0, whole.size() - 1));
  expect_error(ErrorCode::kInvalidFile, {"cut short"}, [&] { IndexReader(path("x")); });
  std::filesystem::remove(segment);
  expect_error(ErrorCode::kInvalidFile, {"lacks a part"}, [&] { IndexReader(path("x")); });
  put("x/vectors-1-0.bin", whole);
  IndexSearchOptions options;
  options.top = 0;
  expect_error(ErrorCode::kInvalidArgument, {"top"}, [&] {
    search_index(model, model_directory(), IndexReader(path("x")), "fox", options);
  });
  expect_error(ErrorCode::kInvalidArgument, {"query"}, [&] { search(model, "x", " "); });
}

// Indexes of the time before --compute were made in f32.
TEST(IndexSettings, WithoutArithmeticMeansF32) {
  const io::Settings old = {{"model", "m"}};
  EXPECT_EQ(setting(old, kComputeSetting), "f32");
  EXPECT_EQ(setting({}, kComputeSetting), "");
  check_settings(old, {{"compute", "f32"}}, Compare::kModel, "index", "wanted");
  test::expect_error(ErrorCode::kInvalidArgument, {"compute f32 in the index, int8 wanted"}, [&] {
    check_settings(old, {{"compute", "int8"}}, Compare::kModel, "index", "wanted");
  });
}

}  // namespace
}  // namespace longformer::tasks
