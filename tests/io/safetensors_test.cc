#include "io/checkpoint/safetensors.h"

#include <chrono>

#include "io/testing.h"

namespace longformer::io {
namespace {

SafetensorsFile parse(const std::string& bytes) {
  return parse_safetensors(storage_of(bytes), "m.safetensors");
}

// What one tensor called "a" looks like.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}}";
}

void expect_refused(const std::string& bytes, const std::vector<std::string>& parts,
                    ErrorCode code = ErrorCode::kInvalidFile) {
  std::vector<std::string> with_file = parts;
  with_file.emplace_back("m.safetensors");
  const auto start = std::chrono::steady_clock::now();
  expect_error(code, with_file, [&] { parse(bytes); });
  // 100 ms on a free machine; wide enough here for sanitizers and busy machines.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(SafetensorsReader, ReadsTensorsInDataOrderWhateverTheKeyOrder) {
  const std::string header =
      "{\"b\":{\"shape\":[2],\"data_offsets\":[1,5],\"dtype\":\"I16\"},"
      "\"__metadata__\":{\"format\":\"pt\",\"k\":\"\"},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"extra\":[{\"x\":[null,1.5]}],"
      "\"more\":true}}";
  const SafetensorsFile file =
      parse(safetensors_bytes(header, std::string("\x07\x01\x00\xFF\xFF", 5)));
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(to_i64(file.tensors[0].tensor), std::vector<int64_t>{7});
  EXPECT_EQ(file.tensors[1].name, "b");  // its data is not aligned for its type
  EXPECT_EQ(to_i64(file.tensors[1].tensor), (std::vector<int64_t>{1, -1}));
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"k", ""}}));
}

TEST(SafetensorsReader, AcceptsTheSmallestFilesScalarsAndEmptyTensors) {
  EXPECT_TRUE(parse(safetensors_bytes("{}")).tensors.empty());
  EXPECT_TRUE(parse(safetensors_bytes("  {}  \n")).tensors.empty());
  const SafetensorsFile scalar =
      parse(safetensors_bytes(one("F32", "[]", "[0,4]"), std::string("\0\0\x80\x3F", 4)));
  EXPECT_EQ(to_f32(scalar.tensors[0].tensor), std::vector<float>{1});
  const SafetensorsFile empty = parse(safetensors_bytes(one("F32", "[0,4]", "[0,0]")));
  EXPECT_EQ(empty.tensors[0].tensor.shape, (Shape{0, 4}));
  EXPECT_TRUE(to_f32(empty.tensors[0].tensor).empty());
}

TEST(SafetensorsReader, EmptyTensorBesideOneThatBeginsAtTheSamePlace) {
  const std::string header =
      "{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
      "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
      "\"f\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}";
  EXPECT_EQ(parse(safetensors_bytes(header, "ab")).tensors.size(), 3u);
}

TEST(SafetensorsReader, ReadsTheReferenceLibrarysFile) {
  const SafetensorsFile file =
      read_safetensors(std::string(LONGFORMER_TEST_DATA) + "/io/reference.safetensors");
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(file.tensors.size(), 17u);
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "scalar") {
      EXPECT_TRUE(tensor.shape.empty());
      EXPECT_EQ(to_f32(tensor), std::vector<float>{7});
    } else if (name == "empty") {
      EXPECT_EQ(tensor.shape, (Shape{0, 4}));
    } else if (name == "matrix") {
      EXPECT_EQ(to_f32(tensor), (std::vector<float>{1, -2, 0.5f, 3}));
    } else if (name == "t_bool") {
      EXPECT_EQ(to_i64(tensor), (std::vector<int64_t>{0, 1, 1}));
    } else if (name.starts_with("t_")) {
      const bool floating = name.find('f') != std::string::npos;
      EXPECT_EQ(is_floating(tensor.dtype), floating) << name;
      if (floating) {
        EXPECT_EQ(to_f32(tensor), (std::vector<float>{0, 1, 2})) << name;
      } else {
        EXPECT_EQ(to_i64(tensor), (std::vector<int64_t>{0, 1, 2})) << name;
      }
    } else {
      EXPECT_EQ(name, "a\"q\\\n\x01\xC3\xA9\x7F/");
      EXPECT_EQ(to_f32(tensor), std::vector<float>{1.5f});
    }
  }
}

TEST(SafetensorsReader, RefusesBrokenLengths) {
  expect_refused("", {"0 bytes long"});
  expect_refused("1234567", {"7 bytes long"});
  expect_refused(std::string(8, '\xFF') + "{}", {"byte 0", "18446744073709551615", "limit"});
  std::string over_limit = safetensors_bytes("{}", std::string(1000, ' '));
  const uint64_t length = 101'000'000;
  std::memcpy(over_limit.data(), &length, 8);
  expect_refused(over_limit, {"101000000", "limit"});
  expect_refused(safetensors_bytes("{}").substr(0, 9), {"byte 0", "beyond the end", "truncated"});
  expect_refused(std::string(8, '\0'), {"begins with '{'"});
}

TEST(SafetensorsReader, RefusesBrokenJson) {
  expect_refused(safetensors_bytes("[1,2]"), {"begins with '{'"});
  expect_refused(safetensors_bytes("\xEF\xBB\xBF{}"), {"begins with '{'"});
  expect_refused(safetensors_bytes("{\"a\xFF\":1}"), {"UTF-8", "byte 11"});
  expect_refused(safetensors_bytes("{\"\\ud800\":1}"), {"not valid JSON"});
  expect_refused(safetensors_bytes("{\"a\":"), {"not valid JSON"});
  expect_refused(safetensors_bytes("{}x"), {"not valid JSON", "byte 10"});
  expect_refused(safetensors_bytes(std::string("{}\0", 3)), {"not valid JSON"});
  expect_refused(safetensors_bytes("{\"a\":1}"), {"\"a\"", "must be an object"});
  expect_refused(safetensors_bytes("{\"a\":[]}"), {"\"a\"", "must be an object"});
}

TEST(SafetensorsReader, RefusesDeepNestingWithoutRecursion) {
  const std::string deep(100'000, '[');
  expect_refused(safetensors_bytes("{\"a\":{\"x\":" + deep), {"deeper than 64", "byte"});
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  expect_refused(safetensors_bytes(objects), {"deeper than 64"});
}

TEST(SafetensorsReader, RefusesBrokenEntries) {
  const std::string data(8, '\0');
  const auto refused = [&](const std::string& entry, const std::vector<std::string>& parts) {
    expect_refused(safetensors_bytes("{\"a\":" + entry + "}", data), parts);
  };
  refused("{\"shape\":[2],\"data_offsets\":[0,8]}", {"tensor \"a\"", "no dtype"});
  refused("{\"dtype\":\"F32\",\"data_offsets\":[0,8]}", {"no shape"});
  refused("{\"dtype\":\"F32\",\"shape\":[2]}", {"no data_offsets"});
  refused("{\"dtype\":3,\"shape\":[2],\"data_offsets\":[0,8]}", {"dtype is a number"});
  refused("{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}", {"shape holds a number"});
  refused("{\"dtype\":\"F32\",\"shape\":[[2]],\"data_offsets\":[0,8]}", {"shape holds a list"});
  refused("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}", {"two numbers"});
  refused("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]}", {"two numbers"});
  refused("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-1,8]}",
          {"data_offsets", "negative"});
  refused("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":{}}",
          {"data_offsets holds an object"});
}

TEST(SafetensorsReader, RefusesBrokenDimensions) {
  const std::string data(8, '\0');
  const auto refused = [&](const std::string& shape, const std::vector<std::string>& parts) {
    expect_refused(safetensors_bytes(one("F32", shape, "[0,8]"), data), parts);
  };
  refused("[-2]", {"tensor \"a\"", "negative"});
  refused("[2.0]", {"fraction"});
  refused("[1e400]", {"number is too large"});
  refused("[2e0]", {"fraction"});
  refused("[99999999999999999999]", {"fraction"});      // beyond 64 bits
  refused("[9223372036854775808]", {"signed 64-bit"});  // 2^63
  refused("[4294967296,4294967296,2]", {"64 bits"});    // the product wraps to 0
  refused("[4611686018427387906]", {"64 bits"});        // times 4 bytes wraps to 8
  refused("[null]", {"null"});
  refused("[\"2\"]", {"a string"});
  refused("[1,1,1,1,1,1,1,1,2]", {"more than 8 dimensions"});
  refused("[3]", {"takes 12 bytes", "give 8"});
}

TEST(SafetensorsReader, RefusesRangesThatDoNotTileTheData) {
  const auto two = [](const std::string& a, const std::string& b) {
    return "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + a +
           "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + b + "}}";
  };
  const std::string data(8, '\0');
  EXPECT_NO_THROW(parse(safetensors_bytes(two("[4,8]", "[0,4]"), data)));
  expect_refused(safetensors_bytes(two("[0,4]", "[8,4]"), data), {"\"b\"", "reversed"});
  expect_refused(safetensors_bytes(two("[0,4]", "[2,6]"), data), {"\"b\"", "overlap"});
  expect_refused(safetensors_bytes(two("[0,4]", "[0,4]"), data), {"\"b\"", "overlap"});
  expect_refused(safetensors_bytes(two("[0,4]", "[5,9]"), data + " "), {"\"b\"", "hole"});
  expect_refused(safetensors_bytes(two("[1,5]", "[5,9]"), data + " "), {"\"a\"", "hole"});
  expect_refused(safetensors_bytes(two("[0,4]", "[4,8]"), data + "xyz"), {"3 bytes after"});
  expect_refused(safetensors_bytes(two("[0,4]", "[4,8]"), "1234567"),
                 {"\"b\"", "beyond", "truncated"});
  expect_refused(safetensors_bytes("{}", "x"), {"1 bytes after"});
  const std::string huge = "[18446744073709551612,18446744073709551616]";
  expect_refused(safetensors_bytes(two("[0,4]", huge), data), {"data_offsets"});
  expect_refused(safetensors_bytes(one("U8", "[4]", "[18446744073709551611,18446744073709551615]")),
                 {"hole"});
}

TEST(SafetensorsReader, RefusesUnknownAndUnreadTypes) {
  const std::string data(4, '\0');
  for (const char* const name : {"f32", "FLOAT", ""}) {
    expect_refused(safetensors_bytes(one(name, "[1]", "[0,4]"), data), {"unknown type"});
  }
  for (const char* const name : {"F8_E4M3", "F8_E5M2", "C64", "F4"}) {
    expect_refused(safetensors_bytes(one(name, "[1]", "[0,4]"), data), {name, "does not read"},
                   ErrorCode::kUnsupported);
  }
}

TEST(SafetensorsReader, RefusesBrokenMetadata) {
  expect_refused(safetensors_bytes("{\"__metadata__\":{\"format\":1}}"),
                 {"__metadata__", "\"format\"", "must be a string"});
  expect_refused(safetensors_bytes("{\"__metadata__\":{\"format\":{\"a\":\"b\"}}}"),
                 {"must be a string"});
  expect_refused(safetensors_bytes("{\"__metadata__\":\"pt\"}"),
                 {"__metadata__", "must be an object"});
}

TEST(SafetensorsReader, RefusesDuplicateKeys) {
  const std::string entry = "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  expect_refused(safetensors_bytes("{\"a\":" + entry + ",\"a\":" + entry + "}"),
                 {"\"a\"", "twice"});
  expect_refused(safetensors_bytes("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}"),
                 {"\"k\"", "twice"});
  expect_refused(
      safetensors_bytes(
          "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"shape\":[0],\"data_offsets\":[0,0]}}"),
      {"\"shape\"", "twice"});
}

TEST(SafetensorsReader, RefusesLongNamesAndShowsThemShort) {
  const std::string name(513, 'n');
  expect_refused(safetensors_bytes("{\"" + name +
                                   "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"),
                 {"512 bytes", "..."});
}

// Every prefix of a good file, and the good file with any one byte changed, is either refused or
// has its tensors inside the file; nothing else may happen.
TEST(SafetensorsReader, SurvivesTruncationAndSingleByteChanges) {
  const std::string good = slurp(std::string(LONGFORMER_TEST_DATA) + "/io/reference.safetensors");
  ASSERT_FALSE(good.empty());
  for (size_t size = 0; size < good.size(); size += 3) {
    EXPECT_THROW(parse(good.substr(0, size)), Error) << size;
  }
  for (size_t i = 0; i < good.size(); i += 2) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 7)));
    try {
      for (const NamedTensor& item : parse(changed).tensors) item.tensor.bytes();
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << i << error.what();
    }
  }
}

class SafetensorsWriter : public DirectoryTest {};

TEST_F(SafetensorsWriter, GivesTheReferenceLibrarysBytes) {
  const std::string golden = std::string(LONGFORMER_TEST_DATA) + "/io/reference.safetensors";
  SafetensorsFile file = read_safetensors(golden);
  std::reverse(file.tensors.begin(), file.tensors.end());  // the order given must not matter
  write_safetensors(path("out.safetensors"), file.tensors);
  EXPECT_EQ(slurp(path("out.safetensors")), slurp(golden));
}

TEST_F(SafetensorsWriter, WritesNoMetadataWhenThereIsNone) {
  write_safetensors(path("none"), {}, {});
  EXPECT_EQ(slurp(path("none")), safetensors_bytes("{}      "));
}

TEST_F(SafetensorsWriter, RefusesNamesTheFormatCannotHoldAndLeavesNothingBehind) {
  const Tensor tensor = make_tensor({1}, std::vector<float>{1});
  for (const std::vector<NamedTensor>& tensors :
       std::vector<std::vector<NamedTensor>>{{{"__metadata__", tensor}},
                                             {{"a", tensor}, {"a", tensor}},
                                             {{std::string(513, 'x'), tensor}}}) {
    expect_error(ErrorCode::kInvalidArgument, {"out"},
                 [&] { write_safetensors(path("out"), tensors); });
  }
  EXPECT_TRUE(names().empty());
  expect_error(ErrorCode::kNotFound, {"No such file or directory"}, [&] {
    write_safetensors(path("absent/out"), std::vector<NamedTensor>{{"a", tensor}});
  });
}

TEST_F(SafetensorsWriter, MayReplaceTheFileItReadsFrom) {
  const std::string file = put("m", zeros_file({{"w", {3}}}));
  const SafetensorsFile old = read_safetensors(file);
  write_safetensors(file, old.tensors, {});
  EXPECT_EQ(to_f32(read_safetensors(file).tensors[0].tensor), (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace longformer::io
