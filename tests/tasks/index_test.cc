#include "tasks/index.h"

#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "tasks/index_fixture.h"

namespace longformer::tasks {
namespace {

using test::expect_error;

class IndexTest : public IndexFixture {};

void expect_counts(const IndexSummary& summary, std::array<int64_t, 5> counts) {
  EXPECT_EQ(counts, (std::array<int64_t, 5>{summary.added, summary.changed, summary.moved,
                                            summary.removed, summary.unchanged}));
}

TEST_F(IndexTest, WhatIsNotChangedIsNotReadAgain) {
  TextModel model = load();
  const IndexSummary first = build(model, "x");
  expect_counts(first, {3, 0, 0, 0, 0});
  EXPECT_EQ(first.files, 3);
  EXPECT_GT(first.tokens, 0);
  EXPECT_EQ(first.passages, positions(path("x")));
  const IndexSummary second = build(model, "x");
  expect_counts(second, {0, 0, 0, 0, 3});
  EXPECT_EQ(second.tokens, 0);
  EXPECT_EQ(second.passages, first.passages);
}

TEST_F(IndexTest, TouchEditMoveDeleteAdd) {
  TextModel model = load();
  build(model, "x");
  const int64_t before = positions(path("x"));
  // Touched only: no new vectors.
  put("docs/a.txt", io::read_file(path("docs/a.txt"), 1000));
  expect_counts(build(model, "x"), {0, 0, 0, 0, 3});
  EXPECT_EQ(positions(path("x")), before);
  // Moved into another folder, under another name.
  std::filesystem::rename(path("docs/b.txt"), path("docs/sub/moved.txt"));
  const IndexSummary moved = build(model, "x");
  expect_counts(moved, {0, 0, 1, 0, 2});
  EXPECT_EQ(moved.tokens, 0);
  EXPECT_EQ(positions(path("x")), before);
  EXPECT_EQ(search(model, "x", "Rain comes in the night.", 1)[0].file,
            path("docs/sub/moved.txt").string());
  // Edited, deleted and added at once.
  put("docs/a.txt", "The moon comes in the deep night. One fox runs.\n");
  std::filesystem::remove(path("docs/sub/c.txt"));
  put("docs/d.txt", "Four dogs eat corn in the snow.\n");
  expect_counts(build(model, "x"), {1, 1, 0, 1, 1});
  build(model, "fresh");
  for (const char* query : {"the moon", "red hen", "rain in the night", "corn"}) {
    expect_same(search(model, "x", query), search(model, "fresh", query));
  }
}

TEST_F(IndexTest, TwoFilesMayChangePlaces) {
  TextModel model = load();
  build(model, "x");
  std::filesystem::rename(path("docs/a.txt"), path("docs/spare"));
  std::filesystem::rename(path("docs/b.txt"), path("docs/a.txt"));
  std::filesystem::rename(path("docs/spare"), path("docs/b.txt"));
  build(model, "x");
  build(model, "fresh");
  expect_same(search(model, "x", "the fox"), search(model, "fresh", "the fox"));
}

TEST_F(IndexTest, OnlyWhatWasNamedIsLookedAfter) {
  TextModel model = load();
  put("more/m.txt", "The moon comes.\n");
  put("more/n.txt", "The moon comes again.\n");
  build(model, "x", small(), {"docs", "more"});
  std::filesystem::remove(path("more/m.txt"));
  std::filesystem::remove(path("docs/a.txt"));
  // Only docs is named: what has gone elsewhere stays until its folder is.
  expect_counts(build(model, "x", small(), {"docs"}), {0, 0, 0, 1, 2});
  EXPECT_EQ(IndexReader(path("x")).files().size(), 4u);
  expect_counts(build(model, "x", small(), {"more"}), {0, 0, 0, 1, 1});
}

TEST_F(IndexTest, AnArgumentWithoutFilesRemovesNothing) {
  TextModel model = load();
  build(model, "x");
  std::filesystem::rename(path("docs"), path("away"));
  const auto kept = [&](const std::vector<std::string>& folders, int64_t files) {
    const IndexSummary summary = build(model, "x", small(), folders);
    EXPECT_EQ(summary.removed, 0);
    EXPECT_EQ(summary.files, 3);
    ASSERT_EQ(summary.kept.size(), 1u);
    EXPECT_EQ(summary.kept[0].argument, path(folders.back()).string());
    EXPECT_EQ(summary.kept[0].files, files);
  };
  kept({"docs"}, 3);  // not there: a typo, a disk that is not mounted
  kept({"docs/sub"}, 1);
  kept({"docs/a.txt"}, 1);
  std::filesystem::create_directories(path("docs/sub"));
  kept({"docs"}, 3);  // an empty mount point
  // With one file there again, the others are gone.
  std::filesystem::rename(path("away/a.txt"), path("docs/a.txt"));
  const IndexSummary some = build(model, "x");
  expect_counts(some, {0, 0, 0, 2, 1});
  EXPECT_TRUE(some.kept.empty());
}

TEST_F(IndexTest, AnArgumentOfCopiesIsThere) {
  TextModel model = load();
  build(model, "x", small(), {"docs", "docs/sub"});
  put("twin/t.txt", "The moon comes.\n");
  build(model, "x", small(), {"twin"});
  // Now a copy of a file that is listed before it.
  put("twin/t.txt", io::read_file(path("docs/a.txt"), 1000));
  IndexInput input;
  input.arguments = {path("docs").string(), path("twin").string()};
  const io::DocumentList list = io::list_documents(input.arguments);
  input.documents = list.names;
  for (const io::SkippedFile& copy : list.duplicates) input.copies.push_back(copy.name);
  IndexWriter writer(path("x"), IndexWriter::Mode::kUpdate);
  expect_counts(writer.update(model, model_directory(), small(), input), {0, 0, 0, 1, 3});
}

TEST_F(IndexTest, AFolderThatWasRenamedHasMoved) {
  TextModel model = load();
  build(model, "x");
  std::filesystem::rename(path("docs"), path("papers"));
  const IndexSummary summary = build(model, "x", small(), {"papers"});
  expect_counts(summary, {0, 0, 3, 0, 0});
  EXPECT_EQ(summary.tokens, 0);
  for (const SearchResult& result : search(model, "x", "the fox")) {
    EXPECT_EQ(result.file.rfind(path("papers").string(), 0), 0u) << result.file;
  }
  // A copy has not moved: the original is still there.
  std::filesystem::copy(path("papers/a.txt"), path("copies.txt"));
  expect_counts(build(model, "x", small(), {"copies.txt"}), {1, 0, 0, 0, 0});
}

TEST_F(IndexTest, AFaultOfTheMachineKeepsWhatWasRead) {
  TextModel model = load();
  build(model, "x");
  put("docs/a.txt", "The moon comes in the deep night.\n");
  IndexInput input;
  input.arguments = {path("docs").string()};
  input.documents = io::list_documents(input.arguments).names;
  const auto update = [&] {
    IndexWriter writer(path("x"), IndexWriter::Mode::kUpdate);
    return writer.update(model, model_directory(), small(), input);
  };
  input.read.converters = {io::parse_converter("**/a.txt=no-such-program-anywhere {}")};
  IndexSummary summary = update();
  expect_counts(summary, {0, 0, 0, 0, 2});
  ASSERT_EQ(summary.skipped.size(), 1u);
  EXPECT_EQ(summary.files, 3);
  EXPECT_EQ(search(model, "x", "The fox sleeps in the barn.", 1)[0].file,
            path("docs/a.txt").string());
  // When the machine is well again, it is read.
  input.read.converters.clear();
  expect_counts(update(), {0, 1, 0, 0, 2});
}

TEST_F(IndexTest, RowsFollowTheirVectorsToTheDisk) {
  TextModel model = load();
  put("blank/blank.txt", " \n\n");
  build(model, "x", small(), {"blank"});
  // The segment cannot be written: syncing it fails, and no document may be committed.
  std::filesystem::create_directory(path("x/vectors-1-0.bin"));
  EXPECT_THROW(build(model, "x"), Error);
  const io::Collection collection = io::Collection::read(path("x"));
  ASSERT_EQ(collection.files().size(), 1u);
  EXPECT_EQ(collection.files()[0].path, path("blank/blank.txt").string());
  EXPECT_EQ(collection.state().positions, 0);
}

TEST_F(IndexTest, DocumentsThatCannotBeReadAreSkipped) {
  TextModel model = load();
  put("docs/binary", std::string("a\0b\0\1\2", 6));
  put("docs/blank.txt", " \n\n");
  const IndexSummary summary = build(model, "x");
  ASSERT_EQ(summary.skipped.size(), 1u);
  EXPECT_EQ(summary.files, 4);  // a blank document has no passages, but is known
  expect_counts(build(model, "x"), {0, 0, 0, 0, 4});
  // A document that turns into something else leaves the index.
  put("docs/a.txt", std::string("a\0b\0\1\2 more", 11));
  const IndexSummary later = build(model, "x");
  EXPECT_EQ(later.removed, 1);
  EXPECT_EQ(later.files, 3);
  for (const SearchResult& result : search(model, "x", "the fox")) {
    EXPECT_EQ(result.file.find("a.txt"), std::string::npos);
  }
}

TEST_F(IndexTest, HolesAreCleared) {
  TextModel model = load();
  std::string text;
  for (int i = 0; i < 30; ++i) text += "The old dog eats corn in the barn. Rain comes.\n\n";
  put("docs/large.txt", text);
  build(model, "x");
  EXPECT_TRUE(std::filesystem::exists(io::segment_path(path("x"), 1, 0)));
  std::filesystem::remove(path("docs/large.txt"));
  const IndexSummary summary = build(model, "x");
  EXPECT_TRUE(summary.compacted);
  EXPECT_EQ(positions(path("x")), summary.passages);
  EXPECT_FALSE(std::filesystem::exists(io::segment_path(path("x"), 1, 0)));
  build(model, "fresh");
  expect_same(search(model, "x", "old dog"), search(model, "fresh", "old dog"));
  put("docs/n.txt", "The moon.\n");
  expect_counts(build(model, "x"), {1, 0, 0, 0, 3});
}

TEST_F(IndexTest, AnotherSettingIsRefusedByName) {
  TextModel model = load();
  build(model, "x");
  const auto refused = [&](const IndexChoices& choices, const std::vector<std::string>& says,
                           TextModel& with) {
    expect_error(ErrorCode::kInvalidArgument, says, [&] { build(with, "x", choices); });
  };
  IndexChoices choices = small();
  choices.passage_tokens = 20;
  refused(choices, {"passage_tokens 16 in the index, 20 asked for", "join_tokens", "--rebuild"},
          model);
  choices = small();
  choices.context = Context::kPassage;
  refused(choices, {"context document in the index, passage asked for"}, model);
  choices = small();
  choices.vectors = io::VectorKind::kF16;
  refused(choices, {"vectors int8 in the index, f16 asked for"}, model);
  choices = small();
  choices.dims = 8;
  refused(choices, {"dims 16 in the index, 8 asked for"}, model);
  choices = small();
  choices.shard = Shard{1, 2};
  refused(choices, {"shard none in the index, 1/2 asked for"}, model);
  TextModel max = load(Pooling::kMax);
  refused(small(), {"pooling mean in the index, max asked for"}, max);
  TextModelOptions narrow;
  narrow.load.threads = 1;
  narrow.load.attention_window = {4};
  narrow.pooling = Pooling::kMean;
  TextModel window = load_text_model(model_directory(), narrow);
  refused(small(), {"attention_window 8,8 in the index, 4,4 asked for"}, window);
  TextModelOptions prompted;
  prompted.load.threads = 1;
  prompted.document_prompt = "the fox ";
  prompted.pooling = Pooling::kMean;
  TextModel prompt = load_text_model(model_directory(), prompted);
  refused(small(), {"document_prompt none in the index, the fox"}, prompt);
  // Other weights of the same shape.
  std::string weights = io::read_file(model_directory() / "model.safetensors", 1 << 24);
  weights.back() ^= 1;
  put("model/model.safetensors", weights);
  TextModel other = load();
  refused(small(), {"differs: model "}, other);
  expect_error(ErrorCode::kInvalidArgument, {"differs: model ", "this model"},
               [&] { search(other, "x", "fox"); });
}

TEST_F(IndexTest, WhatIsLeftOpenIsAsTheIndexHasIt) {
  TextModel model = load();
  IndexChoices choices;
  choices.passage_tokens = 12;
  choices.context = Context::kBoth;
  choices.vectors = io::VectorKind::kF16;
  choices.dims = 8;
  build(model, "x", choices);
  put("docs/d.txt", "The moon.\n");
  expect_counts(build(model, "x", {}), {1, 0, 0, 0, 3});
  const io::VectorLayout layout = IndexReader(path("x")).vectors().layout();
  EXPECT_EQ(layout.dims, 8);
  EXPECT_EQ(layout.kind, io::VectorKind::kF16);
  choices.dims = 17;
  expect_error(ErrorCode::kInvalidArgument, {"dims", "1 to 16"},
               [&] { build(model, "y", choices); });
}

TEST_F(IndexTest, RebuildReplacesWhateverIsThere) {
  TextModel model = load();
  build(model, "x");
  IndexChoices choices = small();
  choices.vectors = io::VectorKind::kF32;
  const IndexReader old(path("x"));
  build(model, "x", choices, {"docs"}, IndexWriter::Mode::kRebuild);
  EXPECT_EQ(IndexReader(path("x")).vectors().layout().kind, io::VectorKind::kF32);
  EXPECT_EQ(old.collection().files().size(), 3u);  // who reads the old one goes on
  EXPECT_FALSE(std::filesystem::exists(path(".x.rebuild")));
  const std::string whole = io::read_file(path("x/index.sqlite"), 1 << 24);
  test::put(path("x/index.sqlite"), whole.substr(0, 100) + std::string(whole.size() - 100, 'x'));
  expect_error(ErrorCode::kInvalidFile, {"damaged", "--rebuild"},
               [&] { build(model, "x", choices); });
  build(model, "x", choices, {"docs"}, IndexWriter::Mode::kRebuild);
  EXPECT_EQ(search(model, "x", "fox", 1).size(), 1u);
  // Stopped in the middle: the old one stays.
  IndexHooks hooks;
  int calls = 0;
  hooks.cancelled = [&] { return ++calls > 4; };
  expect_error(ErrorCode::kCancelled, {},
               [&] { build(model, "x", small(), {"docs"}, IndexWriter::Mode::kRebuild, hooks); });
  EXPECT_EQ(IndexReader(path("x")).vectors().layout().kind, io::VectorKind::kF32);
  EXPECT_FALSE(std::filesystem::exists(path(".x.rebuild")));
}

TEST_F(IndexTest, RebuildReplacesNothingButAnIndex) {
  TextModel model = load();
  const auto refused = [&](const std::string& index, const std::string& file) {
    const std::string before = io::read_file(path(file), 1 << 24);
    expect_error(ErrorCode::kInvalidArgument, {path(file).string()},
                 [&] { build(model, index, small(), {"docs"}, IndexWriter::Mode::kRebuild); });
    EXPECT_EQ(io::read_file(path(file), 1 << 24), before);
  };
  build(model, "x");
  put("x/photo.jpg", "mine");
  refused("x", "x/photo.jpg");
  std::filesystem::remove(path("x/photo.jpg"));
  put("theirs/index.sqlite", "SQLite format 3" + std::string(5000, '\0'));
  refused("theirs", "theirs/index.sqlite");
  EXPECT_FALSE(std::filesystem::exists(path("theirs/lock")));
  put(".x.rebuild/photo.jpg", "mine");
  refused("x", ".x.rebuild/photo.jpg");
  put(".z.merge/photo.jpg", "mine");
  expect_error(ErrorCode::kInvalidArgument, {"photo.jpg"},
               [&] { merge_indexes({path("x")}, path("z")); });
  EXPECT_TRUE(std::filesystem::exists(path(".z.merge/photo.jpg")));
  // An index without a byte in its database, beside a file of somebody.
  put("half/index.sqlite", "");
  put("half/photo.jpg", "mine");
  expect_error(ErrorCode::kInvalidArgument, {"photo.jpg"},
               [&] { merge_indexes({path("x")}, path("half")); });
  EXPECT_TRUE(std::filesystem::exists(path("half/photo.jpg")));
  // What a killed rebuild leaves goes.
  std::filesystem::remove_all(path(".x.rebuild"));
  build(model, ".x.rebuild");
  build(model, "x", small(), {"docs"}, IndexWriter::Mode::kRebuild);
  EXPECT_FALSE(std::filesystem::exists(path(".x.rebuild")));
}

TEST_F(IndexTest, ALinkToAnIndexStaysOne) {
  TextModel model = load();
  build(model, "x");
  std::filesystem::create_directory_symlink(path("x"), path("link"));
  IndexChoices choices = small();
  choices.vectors = io::VectorKind::kF32;
  build(model, "link", choices, {"docs"}, IndexWriter::Mode::kRebuild);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(IndexReader(path("x")).vectors().layout().kind, io::VectorKind::kF32);
}

// A document that fills the calls of the encoder by itself.
std::string long_text(int sentences) {
  std::string text;
  for (int i = 0; i < sentences; ++i) text += "The old fox runs in the long night. ";
  return text;
}

TEST_F(IndexTest, AStoppedBuildGoesOn) {
  TextModel model = load();
  put("docs/sub/d.txt", long_text(700));
  IndexHooks hooks;
  bool stop = false;
  hooks.cancelled = [&] { return stop; };
  hooks.progress = [&](double share) { stop = share > 0.5; };
  expect_error(ErrorCode::kCancelled, {},
               [&] { build(model, "x", small(), {"docs"}, IndexWriter::Mode::kUpdate, hooks); });
  const size_t done = IndexReader(path("x")).files().size();
  EXPECT_GT(done, 0u);
  EXPECT_LT(done, 4u);
  EXPECT_EQ(search(model, "x", "fox", 1).size(), 1u);
  expect_counts(build(model, "x"),
                {4 - static_cast<int64_t>(done), 0, 0, 0, static_cast<int64_t>(done)});
  build(model, "fresh");
  expect_same(search(model, "x", "the fox"), search(model, "fresh", "the fox"));
}

TEST_F(IndexTest, OneWriterManyReaders) {
  TextModel model = load();
  build(model, "x");
  IndexWriter writer(path("x"), IndexWriter::Mode::kUpdate);
  expect_error(ErrorCode::kInvalidArgument, {"another process is writing"},
               [&] { IndexWriter second(path("x"), IndexWriter::Mode::kUpdate); });
  expect_error(ErrorCode::kInvalidArgument, {"another process is writing"},
               [&] { IndexWriter second(path("x"), IndexWriter::Mode::kRebuild); });
  // Readers in the middle of each document.
  for (int i = 0; i < 3; ++i) {
    put("docs/n" + std::to_string(i) + ".txt", std::string(i + 1, '.') + long_text(400));
  }
  TextModel other = load();
  size_t fewest = 1000;
  size_t most = 0;
  IndexHooks hooks;
  hooks.progress = [&](double) {
    const size_t found = search(other, "x", "the fox").size();
    fewest = std::min(fewest, found);
    most = std::max(most, found);
  };
  IndexInput input;
  input.arguments = {path("docs").string()};
  input.documents = io::list_documents(input.arguments).names;
  writer.update(model, model_directory(), small(), input, hooks);
  EXPECT_LT(fewest, most);
}

TEST_F(IndexTest, FilesThatAreReadTogetherHaveTheVectorsOfEachAlone) {
  for (const Context context : {Context::kPassage, Context::kDocument, Context::kBoth}) {
    TextModel model = load();
    IndexChoices choices = small();
    choices.context = context;
    choices.vectors = io::VectorKind::kF32;
    const std::string name = std::string(context_name(context));
    std::filesystem::remove_all(path("docs"));
    for (int i = 0; i < 9; ++i) {  // each build reads one file
      put("docs/n" + std::to_string(i) + ".txt",
          "Rain" + std::string(i, '.') + "\n\n" + long_text(i * i * 4));
      expect_counts(build(model, name + "-one", choices), {1, 0, 0, 0, i});
    }
    expect_counts(build(model, name, choices), {9, 0, 0, 0, 0});
    const IndexReader one(path(name + "-one"));
    const IndexReader together(path(name));
    ASSERT_EQ(one.vectors().rows(), together.vectors().rows());
    ASSERT_GT(one.vectors().rows(), 100);
    const auto bytes = static_cast<size_t>(one.vectors().layout().row_bytes());
    for (int64_t row = 0; row < one.vectors().rows(); ++row) {
      EXPECT_EQ(std::memcmp(one.vectors().data(row), together.vectors().data(row), bytes), 0)
          << row;
    }
    EXPECT_EQ(one.collection().passage(7).text, together.collection().passage(7).text);
  }
}

TEST_F(IndexTest, ShardsJoinToTheWhole) {
  TextModel model = load();
  for (int i = 0; i < 9; ++i) {
    put("docs/n" + std::to_string(i) + ".txt", "The " +
                                                   test::tiny_words()[static_cast<size_t>(8 + i)] +
                                                   " comes in the night.\n\nRain.\n");
  }
  const IndexSummary whole = build(model, "whole");
  int64_t files = 0;
  std::vector<std::filesystem::path> parts;
  for (int64_t i = 1; i <= 3; ++i) {
    IndexChoices choices = small();
    choices.shard = Shard{i, 3};
    const std::string name = "part" + std::to_string(i);
    const IndexSummary part = build(model, name, choices);
    files += part.files;
    EXPECT_LT(part.files, whole.files);
    // Again: nothing to do, and nothing of the others comes in.
    expect_counts(build(model, name), {0, 0, 0, 0, part.files});
    parts.push_back(path(name));
  }
  EXPECT_EQ(files, whole.files);
  const IndexSummary merged = merge_indexes(parts, path("merged"));
  EXPECT_EQ(merged.files, whole.files);
  EXPECT_EQ(merged.passages, whole.passages);
  for (const char* query : {"the fox", "rain in the night", "\"comes in\" moon"}) {
    expect_same(search(model, "merged", query), search(model, "whole", query));
  }
  // The result is an index like any other.
  expect_counts(build(model, "merged"), {0, 0, 0, 0, whole.files});
}

TEST_F(IndexTest, MergeNeedsTheSameSettings) {
  TextModel model = load();
  build(model, "x");
  IndexChoices choices = small();
  choices.vectors = io::VectorKind::kF16;
  build(model, "y", choices);
  expect_error(ErrorCode::kInvalidArgument, {"vectors f16 in the index, int8 in"}, [&] {
    merge_indexes({path("x"), path("y")}, path("z"));
  });
  EXPECT_FALSE(std::filesystem::exists(path("z")));
  expect_error(ErrorCode::kInvalidArgument, {"is an index already"},
               [&] { merge_indexes({path("x")}, path("y")); });
  expect_error(ErrorCode::kNotFound, {"no such index"}, [&] {
    merge_indexes({path("x"), path("absent")}, path("z"));
  });
  // The same files twice count once.
  build(model, "x2");
  EXPECT_EQ(merge_indexes({path("x"), path("x2")}, path("z")).files, 3);
}

TEST_F(IndexTest, ShardTexts) {
  EXPECT_EQ(parse_shard("2/5").index, 2);
  EXPECT_EQ(parse_shard("2/5").count, 5);
  for (const char* text : {"", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1/2x", "/",
                           "1/99999999999999999999"}) {
    expect_error(ErrorCode::kInvalidArgument, {"--shard", std::string("got ") + text, "i/n", "2/5"},
                 [&] { parse_shard(text); });
  }
}

TEST_F(IndexTest, NamesThatAreNotUtf8) {
  TextModel model = load();
  put("docs/odd\xFF\n.txt", "The moon comes in the deep night.\n");
  build(model, "x");
  EXPECT_EQ(search(model, "x", "the moon comes in the deep night", 1)[0].file,
            path("docs/odd\xFF\n.txt").string());
  expect_counts(build(model, "x"), {0, 0, 0, 0, 4});
}

TEST_F(IndexTest, TheModelIsHashedAgainOnlyWhenItsFilesChange) {
  TextModel model = load();
  const ModelFingerprint first = fingerprint(model_directory(), model.modules);
  EXPECT_EQ(first.sha256.size(), 64u);
  EXPECT_NE(first.files.find("model.safetensors"), std::string::npos);
  EXPECT_NE(first.files.find("vocab.txt"), std::string::npos);
  // Believed as long as sizes and times are the same.
  EXPECT_EQ(fingerprint(model_directory(), model.modules, {"believed", first.files}).sha256,
            "believed");
  put("model/vocab.txt", io::read_file(path("model/vocab.txt"), 10000));
  EXPECT_EQ(fingerprint(model_directory(), model.modules, {"x", first.files}).sha256, first.sha256);
  for (const char* name : kSentencePieceNames) {
    const std::filesystem::path file = model_directory() / name;
    test::put(file, "pieces");
    EXPECT_NE(fingerprint(model_directory(), model.modules).sha256, first.sha256) << name;
    std::filesystem::remove(file);
  }
  put("model/README.md", "no part of the model");
  EXPECT_EQ(fingerprint(model_directory(), model.modules).sha256, first.sha256);
  put("model/vocab.txt", io::read_file(path("model/vocab.txt"), 10000) + "more\n");
  EXPECT_NE(fingerprint(model_directory(), model.modules).sha256, first.sha256);
}

}  // namespace
}  // namespace longformer::tasks
