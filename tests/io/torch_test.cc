#include <chrono>

#include "io/checkpoint/torch_file.h"
#include "io/testing.h"
#include "io/torch_files.h"

namespace longformer::io {
namespace {

TorchFile parse(const std::string& bytes) { return parse_torch(storage_of(bytes), "m.bin"); }

void expect_refused(const std::string& bytes, const std::vector<std::string>& parts,
                    ErrorCode code = ErrorCode::kInvalidFile) {
  std::vector<std::string> with_file = parts;
  with_file.emplace_back("m.bin");
  const auto start = std::chrono::steady_clock::now();
  expect_error(code, with_file, [&] { parse(bytes); });
  // 100 ms on a free machine; wide enough here for sanitizers and busy machines.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

std::vector<float> values(const std::string& bytes) {
  const TorchFile file = parse(bytes);
  EXPECT_EQ(file.tensors.size(), 1u);
  return to_f32(file.tensors.at(0).read("m.bin"));
}

const Storages kSix = {{"0", floats({0, 1, 2, 3, 4, 5})}};

const TorchTensor& named(const TorchFile& file, const std::string& name) {
  for (const TorchTensor& tensor : file.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

// What tools/torch_goldens.py saved with PyTorch.
void expect_reference_values(const std::string& name) {
  const TorchFile file = read_torch(std::string(LONGFORMER_TEST_DATA) + "/io/" + name);
  EXPECT_EQ(file.tensors.size(), 18u);
  EXPECT_TRUE(file.refused.empty());
  const auto read = [&](const char* tensor) { return named(file, tensor).read(name); };
  std::vector<float> count(24);
  for (size_t i = 0; i < count.size(); ++i) count[i] = static_cast<float>(i);
  EXPECT_EQ(read("rows").shape, (Shape{4, 6}));
  EXPECT_EQ(to_f32(read("rows")), count);
  EXPECT_TRUE(named(file, "rows").is_view());
  EXPECT_EQ(read("columns").shape, (Shape{6, 4}));
  EXPECT_FALSE(named(file, "columns").is_view());
  const std::vector<float> columns = to_f32(read("columns"));
  const std::vector<float> grid = to_f32(read("grid"));
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(columns[i], static_cast<float>(i % 4 * 6 + i / 4));
  ASSERT_EQ(read("grid").shape, (Shape{2, 2, 3}));  // [k, i, j] of base[i, j, k + 1]
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(grid[i], static_cast<float>(i / 3 % 2 * 12 + i % 3 * 4 + i / 6 + 1));
  }
  EXPECT_TRUE(named(file, "part").is_view());
  EXPECT_EQ(to_f32(read("part")), (std::vector<float>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(to_f32(read("every_other")).back(), 22);
  EXPECT_EQ(read("scalar").shape, Shape{});
  EXPECT_EQ(to_f32(read("scalar")), std::vector<float>{7});
  EXPECT_EQ(read("empty").shape, (Shape{0, 4}));
  EXPECT_TRUE(to_f32(read("empty")).empty());
  EXPECT_EQ(to_f32(read("spread")), (std::vector<float>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(read("half").dtype, DType::kF16);
  EXPECT_EQ(read("bfloat").dtype, DType::kBF16);
  for (const char* const tensor : {"half", "bfloat"}) {
    EXPECT_EQ(to_f32(read(tensor)), (std::vector<float>{1.5f, -2})) << tensor;
  }
  EXPECT_EQ(to_f32(read("double")), std::vector<float>{0.1f});
  EXPECT_EQ(to_f32(read("parameter")), (std::vector<float>{9, 8}));
  EXPECT_EQ(read("truth").dtype, DType::kBool);
  EXPECT_EQ(to_i64(read("truth")), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(to_i64(read("longs")), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(to_i64(read("ints")), std::vector<int64_t>{3});
  EXPECT_EQ(to_i64(read("shorts")), std::vector<int64_t>{-4});
  EXPECT_EQ(to_i64(read("chars")), std::vector<int64_t>{-5});
  EXPECT_EQ(to_i64(read("bytes")), std::vector<int64_t>{250});
}

TEST(Torch, ReadsTheReferencesZipArchive) { expect_reference_values("torch_zip.bin"); }
TEST(Torch, ReadsTheReferencesOldContainer) {
  expect_reference_values("torch_legacy.bin");  // pickle protocol 2
  expect_reference_values("torch_legacy_1.bin");
  expect_reference_values("torch_legacy_4.bin");
}

TEST(Torch, FindsTheWeightsInsideATrainersFile) {
  const TorchFile file = read_torch(std::string(LONGFORMER_TEST_DATA) + "/io/torch_trainer.bin");
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(to_f32(named(file, "weight").read("")), (std::vector<float>{1, 2}));
  EXPECT_EQ(to_f32(named(file, "bias").read("")), std::vector<float>{3});
  EXPECT_EQ(file.refused, std::vector<std::string>{"argparse Namespace"});
}

TEST(Torch, UnwrapsNestedDictionariesWithTensorsOnly) {
  const std::string weights =
      dictionary({{"w", tensor(storage("FloatStorage", "0", 6), 0, tuple({6}), tuple({1}))}});
  const std::string no_weights = dictionary({{"type", text("bert")}});
  for (const std::string& program :
       {weights, dictionary({{"model", weights}}),
        dictionary({{"epoch", "K\x03"}, {"module", weights}}),
        dictionary({{"model", no_weights}, {"state_dict", dictionary({{"model", weights}})}})}) {
    EXPECT_EQ(values(torch_zip(finish(program), kSix)).size(), 6u) << program;
  }
  // A dictionary that holds itself does not end.
  expect_refused(torch_zip(finish("}q\x01" + text("model") + "h\x01s"), {}), {"nested deeper"});
}

TEST(Torch, ViewsOfOneStorage) {
  EXPECT_EQ(values(torch_zip(one_tensor(), kSix)), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values(torch_zip(one_tensor(2, {2}, {1}), kSix)), (std::vector<float>{2, 3}));
  EXPECT_EQ(values(torch_zip(one_tensor(1, {2, 2}, {1, 3}), kSix)),
            (std::vector<float>{1, 4, 2, 5}));
  EXPECT_EQ(values(torch_zip(one_tensor(5, {}, {}), kSix)), std::vector<float>{5});
  EXPECT_EQ(values(torch_zip(one_tensor(6, {0}, {1}), kSix)), std::vector<float>{});
  // The stride of a dimension of one is never used.
  EXPECT_EQ(values(torch_zip(one_tensor(0, {1, 2}, {INT64_MAX, 1}), kSix)),
            (std::vector<float>{0, 1}));
  EXPECT_EQ(values(torch_zip(one_tensor(0, {1, 2, 2}, {INT64_MAX, 1, 2}), kSix)),
            (std::vector<float>{0, 2, 1, 3}));
}

TEST(Torch, RowMajorTensorsAreViewsOfTheFile) {
  const auto storage = storage_of(torch_zip(one_tensor(), kSix));
  const TorchFile file = parse_torch(storage, "m.bin");
  EXPECT_EQ(file.tensors[0].read("m.bin").storage, storage);
}

TEST(Torch, BigEndianFiles) {
  std::string swapped = floats({1, 2, 3, 4, 5, 6});
  for (size_t i = 0; i < swapped.size(); i += 4) {
    std::reverse(swapped.begin() + i, swapped.begin() + i + 4);
  }
  EXPECT_EQ(values(torch_zip(one_tensor(), {{"0", swapped}}, "big")),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(torch_zip(one_tensor(0, {3}, {2}), {{"0", swapped}}, "big\n")),
            (std::vector<float>{1, 3, 5}));
  expect_refused(torch_zip(one_tensor(), kSix, "middle"), {"m/byteorder", "\"middle\""});
}

// --- malicious files ---

TEST(Torch, ObjectsThatAreNotWeightsFailOnlyWhenTheyAreWanted) {
  const std::string good = tensor(storage("FloatStorage", "0", 6), 0, tuple({6}), tuple({1}));
  const std::string call = global("torch._utils", "_rebuild_secret") + ")R";
  const TorchFile file = parse(torch_zip(
      finish(dictionary({{"w", good}, {"secret", call}, {"os", global("os", "system") + ")R"}})),
      kSix));
  ASSERT_EQ(file.tensors.size(), 2u);  // what os.system would give is no weight
  EXPECT_EQ(file.refused, (std::vector<std::string>{"torch._utils _rebuild_secret", "os system"}));
  EXPECT_EQ(to_f32(named(file, "w").read("m.bin")).size(), 6u);
  expect_error(ErrorCode::kInvalidFile,
               {"m.bin", "\"secret\"", "torch._utils _rebuild_secret", "not executed"},
               [&] { named(file, "secret").read("m.bin"); });
}

// Two tensors, of which the first has elements that are not read.
std::string with_unread(const std::string& type) {
  return finish(
      dictionary({{"c", tensor(storage(type, "c", 3), 0, tuple({3}), tuple({1}))},
                  {"w", tensor(storage("FloatStorage", "0", 6), 0, tuple({6}), tuple({1}))}}));
}

void expect_only_unread(const std::string& bytes, const std::string& type) {
  const TorchFile file = parse(bytes);
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(to_f32(named(file, "w").read("m.bin")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(named(file, "c").is_readable());
  expect_error(ErrorCode::kUnsupported, {"m.bin", "\"c\"", "torch " + type, "does not read"},
               [&] { named(file, "c").read("m.bin"); });
}

TEST(Torch, ElementTypesThatAreNotReadFailOnlyWhenTheyAreWanted) {
  const std::vector<std::pair<std::string, size_t>> types = {{"ComplexFloatStorage", 8},
                                                             {"ComplexDoubleStorage", 16},
                                                             {"QInt8Storage", 1},
                                                             {"QUInt8Storage", 1},
                                                             {"QInt32Storage", 4}};
  for (const auto& [type, size] : types) {
    const Storages storages = {{"c", std::string(3 * size, 'c')}, kSix[0]};
    expect_only_unread(torch_zip(with_unread(type), storages), type);
    std::string legacy = torch_legacy(with_unread(type), storages);
    // The helper counts elements of four bytes.
    legacy.replace(legacy.size() - (8 + 24) - (8 + 3 * size), 8, little_endian(3, 8));
    expect_only_unread(legacy, type);
    EXPECT_TRUE(parse(legacy).refused.empty());
    expect_refused(legacy.substr(0, legacy.size() - (8 + 24) - 1), {"storage \"c\"", "truncated"});
  }
  // In an archive no size is needed; in a stream nothing behind it can be found.
  const Storages storages = {{"c", "ccc"}, kSix[0]};
  expect_only_unread(torch_zip(with_unread("NewStorage"), storages), "NewStorage");
  expect_refused(torch_legacy(with_unread("NewStorage"), storages),
                 {"storage \"c\"", "torch NewStorage", "size is not known"},
                 ErrorCode::kUnsupported);
}

TEST(Torch, RefusesWhatIsNoDictionaryOfTensors) {
  expect_refused(torch_zip(finish(global("os", "system") + text("reboot") + "\x85R"), {}),
                 {"m/data.pkl", "os system", "state_dict"});
  expect_refused(torch_zip(finish(text("os") + text("system") + "\x93)R"), {}), {"os system"});
  expect_refused(torch_zip(finish("](NNe"), {}), {"a list"});
  expect_refused(torch_zip(finish("N"), {}), {"None"});
  expect_refused(torch_zip(finish(global("torch.nn", "Linear") + ")\x81"), {}),
                 {"torch.nn Linear", "not the model"});
  EXPECT_TRUE(parse(torch_zip(finish("}"), {})).tensors.empty());
}

TEST(Torch, RefusesBrokenViews) {
  const auto refused = [&](const std::string& program, const std::vector<std::string>& parts) {
    std::vector<std::string> with_name = parts;
    with_name.emplace_back("tensor \"w\"");
    expect_refused(torch_zip(program, kSix), with_name);
    expect_refused(torch_legacy(program, kSix), with_name);
  };
  refused(one_tensor(1), {"reach to 6", "6 of its storage"});
  refused(one_tensor(0, {7}, {1}), {"reach to 6"});
  refused(one_tensor(0, {2}, {6}), {"reach to 6"});
  refused(one_tensor(7, {0}, {1}), {"reach to 7"});
  refused(one_tensor(-1), {"offset", "negative: -1"});
  refused(one_tensor(0, {-2}, {1}), {"size", "negative"});
  refused(one_tensor(0, {2}, {-1}), {"stride", "negative"});
  refused(one_tensor(0, {2, 3}, {1}), {"strides as sizes"});
  refused(one_tensor(0, std::vector<int64_t>(9, 1), std::vector<int64_t>(9, 1)), {"9 dimensions"});
  refused(one_tensor(0, {INT64_MAX, 3}, {INT64_MAX, 1}), {"64 bits"});
  refused(one_tensor(0, {INT64_MAX, INT64_MAX}, {0, 0}), {"64 bits"});
  refused(one_tensor(0, {int64_t{1} << 40}, {0}), {"far more than the file has"});
}

TEST(Torch, RefusesTensorsThatAreNotDescribedAsSuch) {
  const auto program = [](const std::string& arguments) {
    return finish(
        dictionary({{"w", global("torch._utils", "_rebuild_tensor_v2") + "(" + arguments + "tR"}}));
  };
  const std::string of = storage("FloatStorage", "0", 6);
  for (const std::string& arguments :
       {std::string(), of, of + "K\x01", "NK\x01" + tuple({1}) + tuple({1}),
        of + "N" + tuple({1}) + tuple({1}), of + text("0") + tuple({1}) + tuple({1}),
        of + integer(0) + "K\x01" + tuple({1}), of + integer(0) + "(Nt" + tuple({1}),
        of + integer(0) + tuple({1}) + "(\x88t"}) {
    expect_refused(torch_zip(program(arguments), kSix), {"tensor \"w\""});
  }
  const auto with_storage = [&](const std::string& part) {
    return torch_zip(program(part + integer(0) + tuple({1}) + tuple({1})), kSix);
  };
  expect_refused(with_storage("(" + text("storage") + "tQ"), {"type, key and size"});
  expect_refused(with_storage("(" + text("storage") + global("torch", "FloatStorage") + "NN" +
                              integer(6) + "tQ"),
                 {"type, key and size"});
  expect_refused(with_storage(storage("FloatStorage", "0", -6)), {"negative"});
  expect_refused(
      with_storage("(" + text("storage") + "N" + text("0") + text("cpu") + integer(6) + "tQ"),
      {"None", "storage class"});
  expect_refused(with_storage("(" + text("storage") + global("torch", "Size") + text("0") +
                              text("cpu") + integer(6) + "tQ"),
                 {"torch Size", "storage class"});
}

TEST(Torch, RefusesNamesThatCannotBeNames) {
  const std::string good = tensor(storage("FloatStorage", "0", 6), 0, tuple({6}), tuple({1}));
  const auto refused = [&](const std::string& items, const std::vector<std::string>& parts) {
    expect_refused(torch_zip(finish("}(" + items + "u"), kSix), parts);
  };
  refused(integer(3) + good, {"no string"});
  refused(text(std::string(513, 'n')) + good, {"512 bytes"});
  refused(text("a\xFF") + good, {"UTF-8"});
  refused(text("\xED\xA0\x80") + good, {"UTF-8"});
  refused(text("w") + good + text("w") + good, {"\"w\"", "twice"});
}

TEST(TorchZip, RefusesStoragesThatAreMissingOrShort) {
  expect_refused(torch_zip(one_tensor(), {{"1", floats({1})}}),
                 {"entry \"m/data/0\"", "no such file"});
  expect_refused(torch_zip(one_tensor(), {{"0", floats({0, 1, 2, 3, 4})}}),
                 {"entry \"m/data/0\"", "20 bytes", "24"});
  expect_refused(torch_zip(one_tensor(0, {1}, {1}, "FloatStorage", INT64_MAX), kSix), {"64 bits"});
  // A key cannot lead anywhere else in the archive.
  const std::string program = finish(dictionary(
      {{"w", tensor(storage("FloatStorage", "../data.pkl", 1), 0, tuple({1}), tuple({1}))}}));
  expect_refused(torch_zip(program, kSix), {"no such file"});
}

TEST(TorchZip, RefusesArchivesOfOtherKinds) {
  expect_refused(zip_bytes({{"m/other", ""}}), {"without a file data.pkl"});
  expect_refused(zip_bytes({{"data.pkl", one_tensor()}}), {"without a file data.pkl"});
  expect_refused(zip_bytes({{"a/data.pkl", one_tensor()}, {"b/data.pkl", one_tensor()}}),
                 {"two files data.pkl"});
  expect_refused(zip_bytes({{"m/data.pkl", one_tensor()}, {"m/constants.pkl", ""}}),
                 {"TorchScript"}, ErrorCode::kUnsupported);
}

TEST(TorchZip, AcceptsWhatWritersDo) {
  for (const uint16_t flags : {uint16_t{0}, uint16_t{8}, uint16_t{0x808}}) {
    for (const bool wide : {false, true}) {
      for (const ZipOptions& options : {ZipOptions{}, {true, ""}, {true, "note"}, {false, "PK"}}) {
        ZipFile data{"x/y/data/0", kSix[0].second};
        data.flags = flags;
        data.wide = wide;
        EXPECT_EQ(values(zip_bytes({data, {"x/y/data.pkl", one_tensor()}}, options)),
                  (std::vector<float>{0, 1, 2, 3, 4, 5}));
      }
    }
  }
}

TEST(TorchZip, RefusesBrokenEntries) {
  const auto refused = [](const ZipFile& file, const std::vector<std::string>& parts) {
    std::vector<std::string> with_entry = parts;
    with_entry.emplace_back("entry \"m/data/0\"");
    expect_refused(zip_bytes({{"m/data.pkl", one_tensor()}, file}), with_entry);
  };
  const ZipFile good{"m/data/0", kSix[0].second};
  ZipFile file = good;
  file.method = 8;
  file.plain = 24'000;
  refused(file, {"compressed (method 8)"});
  file = good;
  file.flags = 1;
  refused(file, {"encrypted"});
  file = good;
  file.plain = 25;
  refused(file, {"two sizes differ"});
  for (const bool wide : {false, true}) {
    file = good;
    file.wide = wide;
    file.plain = file.packed = wide ? uint64_t{1} << 63 : 4000;
    refused(file, {"reach into the archive's directory"});
    file = good;
    file.wide = wide;
    file.local_size = 23;
    refused(file, {"23 in the local header and 24 in the directory"});
  }
  file = good;
  file.local_name = "m/data/1";
  refused(file, {"another name"});
  expect_refused(zip_bytes({good, {"m/data.pkl", one_tensor()}, good}), {"twice in the archive"});
}

TEST(TorchZip, RefusesBrokenDirectories) {
  const std::string good = torch_zip(one_tensor(), kSix);
  const size_t end = good.size() - 22;
  const auto changed = [&](size_t at, uint64_t value, size_t size) {
    std::string bytes = good;
    bytes.replace(at, size, little_endian(value, size));
    return bytes;
  };
  EXPECT_EQ(values(good).size(), 6u);
  expect_refused(good.substr(0, good.size() - 1), {"no end record", "truncated"});
  expect_refused(good + "x", {"no end record"});
  expect_refused(changed(end + 4, 1, 2), {"several files"});
  expect_refused(changed(end + 10, 2, 2), {"several files"});
  expect_refused(changed(end + 8, 0x00020002, 4), {"does not end where"});
  expect_refused(changed(end + 8, 0x00090009, 4), {"is not an entry"});
  expect_refused(changed(end + 12, 0x7FFFFFFF, 4), {"outside the file"});
  expect_refused(changed(end + 16, 0x7FFFFFFF, 4), {"outside the file"});
  expect_refused(changed(end + 16, 3, 4), {"is not an entry"});
  expect_refused(changed(end + 16, 0xFFFFFFFF, 4), {"Zip64"});
  const std::string wide = zip_bytes({{"m/data.pkl", finish("}")}}, {true, ""});
  EXPECT_TRUE(parse(wide).tensors.empty());
  const size_t record = wide.size() - 22 - 20 - 56;
  const auto wide_changed = [&](size_t at, uint64_t value, size_t size) {
    std::string bytes = wide;
    bytes.replace(at, size, little_endian(value, size));
    return bytes;
  };
  expect_refused(wide_changed(record, 0, 4), {"not a Zip64 end record"});
  expect_refused(wide_changed(record + 56 + 8, UINT64_MAX, 8), {"beyond the end"});
  expect_refused(wide_changed(record + 24, 2, 8), {"several files"});
  expect_refused(wide_changed(record + 40, UINT64_MAX, 8), {"outside the file"});
  expect_refused(wide_changed(record + 48, UINT64_MAX, 8), {"outside the file"});
  std::string many = wide_changed(record + 24, 200'001, 8);
  many.replace(record + 32, 8, little_endian(200'001, 8));
  expect_refused(many, {"more than 200000 files"});
  // The old end record has a value of its own that disagrees.
  expect_refused(wide_changed(wide.size() - 22 + 16, 5, 4), {"disagree"});
}

TEST(TorchZip, RefusesAProgramThatIsTooLong) {
  expect_refused(zip_bytes({{"m/data.pkl", std::string((64u << 20) + 1, '0')}}),
                 {"m/data.pkl", "larger than 67108864"});
}

TEST(TorchLegacy, ReadsWhatItSays) {
  EXPECT_EQ(values(torch_legacy(one_tensor(), kSix)), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values(torch_legacy(one_tensor(1, {2, 2}, {1, 3}), kSix)),
            (std::vector<float>{1, 4, 2, 5}));
  // A part of a storage: elements 2 to 4.
  const auto part = [](int64_t first, int64_t count) {
    return finish(
        dictionary({{"w", tensor(storage("FloatStorage", "0", 6,
                                         "(" + text("9") + integer(first) + integer(count) + "t"),
                                 1, tuple({2}), tuple({1}))}}));
  };
  EXPECT_EQ(values(torch_legacy(part(2, 3), kSix)), (std::vector<float>{3, 4}));
  expect_refused(torch_legacy(part(2, 2), kSix), {"beyond the 2 of its storage"});
  expect_refused(torch_legacy(part(2, 5), kSix), {"part of a storage", "beyond"});
  expect_refused(torch_legacy(part(7, 0), kSix), {"part of a storage", "beyond"});
}

TEST(TorchLegacy, RefusesBrokenFiles) {
  const std::string good = torch_legacy(one_tensor(), kSix);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(parse(good.substr(0, size)), Error) << size;
  }
  expect_refused(good.substr(0, good.size() - 1), {"storage \"0\"", "24 bytes", "truncated"});
  expect_refused(torch_legacy(one_tensor(), {{"0", floats({1, 2, 3, 4, 5, 6, 7})}}),
                 {"7 elements here and 6"});
  expect_refused(torch_legacy(one_tensor(), {}), {"no bytes for the storage \"0\""});
  expect_refused(torch_legacy(one_tensor(), {{"1", floats({1})}}), {"no tensor uses"});
  expect_refused(torch_legacy(one_tensor(), {kSix[0], kSix[0]}), {"listed twice"});
  expect_refused(torch_legacy(one_tensor(0, {1}, {1}, "FloatStorage", INT64_MAX), kSix),
                 {"64 bits"});
  const std::string both = finish(
      dictionary({{"a", tensor(storage("FloatStorage", "0", 6), 0, tuple({1}), tuple({1}))},
                  {"b", tensor(storage("LongStorage", "0", 3), 0, tuple({1}), tuple({1}))}}));
  expect_refused(torch_legacy(both, kSix), {"two ways"});
  std::string version = good;
  version.replace(version.find("M\xE9\x03"), 3, "M\xEA\x03");
  expect_refused(version, {"1001"}, ErrorCode::kUnsupported);
}

TEST(Torch, NamesOtherKindsOfFiles) {
  expect_refused("", {"is empty"});
  expect_refused("PK", {"byte 0", "not a PyTorch checkpoint"});
  expect_refused(finish("}"), {"not a PyTorch checkpoint"});
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:12\n", {"git lfs pull"});
  expect_refused(std::string(257, '\0') + "ustar" + std::string(250, '\0'), {"tar archive"},
                 ErrorCode::kUnsupported);
}

TEST(Torch, SurvivesSingleByteChanges) {
  for (const char* const name :
       {"torch_zip.bin", "torch_legacy.bin", "torch_legacy_4.bin", "torch_trainer.bin"}) {
    const std::string good = slurp(std::string(LONGFORMER_TEST_DATA) + "/io/" + name);
    ASSERT_FALSE(good.empty());
    for (size_t i = 0; i < good.size(); i += 3) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 7)));
      try {
        for (const TorchTensor& tensor : parse(changed).tensors) {
          const Tensor read = tensor.read(name);
          EXPECT_EQ(read.bytes().size(),
                    static_cast<size_t>(read.elements()) * dtype_size(read.dtype));
        }
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::kInvalidFile ||
                    error.code() == ErrorCode::kUnsupported)
            << error.what();
      }
    }
    for (size_t size = 0; size < good.size(); size += 11) {
      EXPECT_THROW(parse(good.substr(0, size)), Error) << size;
    }
  }
}

}  // namespace
}  // namespace longformer::io
