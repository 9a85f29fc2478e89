#include "tensor/tensor.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>

#include "longformer/error.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

template <typename T>
Tensor typed(DType dtype, const Shape& shape, const std::vector<T>& values, size_t offset = 0) {
  std::vector<std::byte> bytes(offset + values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data() + offset, values.data(), values.size() * sizeof(T));
  return {dtype, shape, own_bytes(std::move(bytes)), offset};
}

template <typename Call>
void expect_error(ErrorCode code, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
  }
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 4, 5}), 60);
  EXPECT_EQ(element_count({3, 0, 5}), 0);
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(Shape{}), "[]");
  expect_error(ErrorCode::kInvalidFile, [] { element_count({2, -1}); });
  expect_error(ErrorCode::kInvalidFile, [] {
    element_count({int64_t{1} << 40, int64_t{1} << 40});
  });
  expect_error(ErrorCode::kInvalidFile, [] {
    element_count({int64_t{1} << 32, int64_t{1} << 31});
  });
}

TEST(Tensor, MakesAndReadsBack) {
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const Tensor tensor = make_tensor({2, 3}, floats);
  EXPECT_EQ(tensor.elements(), 6);
  EXPECT_EQ(to_f32(tensor), floats);
  const std::vector<int64_t> ids = {-1, std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(to_i64(make_tensor({2}, ids)), ids);
  EXPECT_TRUE(to_f32(make_tensor({0, 3}, std::vector<float>())).empty());
  EXPECT_EQ(to_f32(make_tensor({}, std::vector<float>{7})), std::vector<float>{7});
  expect_error(ErrorCode::kInternal, [&] { make_tensor({4}, floats); });
}

TEST(Tensor, RefusesToReachBeyondItsStorage) {
  Tensor tensor = make_tensor({4}, std::vector<float>{1, 2, 3, 4});
  tensor.offset = 4;
  expect_error(ErrorCode::kInternal, [&] { tensor.bytes(); });
  tensor.offset = 100;
  expect_error(ErrorCode::kInternal, [&] { tensor.bytes(); });
  expect_error(ErrorCode::kInternal,
               [] { Tensor{}.bytes(); });  // [] is one element, without storage
}

// 131 elements: two whole conversion blocks and a tail; offset 1: unaligned.
TEST(ToF32, WidensEachFloatingTypeAtAnyOffset) {
  std::vector<float> values(131);
  std::iota(values.begin(), values.end(), -65.0f);
  std::vector<uint16_t> half, brain;
  std::vector<double> wide;
  for (const float value : values) {
    half.push_back(f32_to_f16(value));
    brain.push_back(f32_to_bf16(value));
    wide.push_back(value);
  }
  for (const size_t offset : {size_t{0}, size_t{1}}) {
    EXPECT_EQ(to_f32(typed(DType::kF32, {131}, values, offset)), values);
    EXPECT_EQ(to_f32(typed(DType::kF16, {131}, half, offset)), values);
    EXPECT_EQ(to_f32(typed(DType::kBF16, {131}, brain, offset)), values);
    EXPECT_EQ(to_f32(typed(DType::kF64, {131}, wide, offset)), values);
  }
}

TEST(ToF32, RefusesIntegersAndWrongSizes) {
  expect_error(ErrorCode::kInvalidFile, [] { to_f32(typed<int64_t>(DType::kI64, {1}, {1})); });
  std::vector<float> out(3);
  expect_error(ErrorCode::kInternal, [&] {
    to_f32(make_tensor({2}, std::vector<float>{1, 2}), out);
  });
}

TEST(ToI64, WidensEachIntegerTypeWithItsSign) {
  const auto check = [](const Tensor& tensor, const std::vector<int64_t>& expected) {
    EXPECT_EQ(to_i64(tensor), expected) << dtype_name(tensor.dtype);
  };
  check(typed<uint8_t>(DType::kBool, {3}, {0, 1, 255}), {0, 1, 1});
  check(typed<uint8_t>(DType::kU8, {2}, {0, 255}), {0, 255});
  check(typed<int8_t>(DType::kI8, {2}, {-128, 127}), {-128, 127});
  check(typed<uint16_t>(DType::kU16, {1}, {65535}), {65535});
  check(typed<int16_t>(DType::kI16, {1}, {-32768}, 1), {-32768});
  check(typed<uint32_t>(DType::kU32, {1}, {4294967295u}, 3), {4294967295});
  check(typed<int32_t>(DType::kI32, {1}, {-2147483647}), {-2147483647});
  check(typed<uint64_t>(DType::kU64, {1}, {uint64_t{1} << 62}), {int64_t{1} << 62});
  expect_error(ErrorCode::kInvalidFile,
               [] { to_i64(typed<uint64_t>(DType::kU64, {1}, {uint64_t{1} << 63})); });
  expect_error(ErrorCode::kInvalidFile, [] { to_i64(typed<float>(DType::kF32, {1}, {1})); });
}

TEST(Cast, StoresTheSameValuesAsAnotherType) {
  const std::vector<float> values = {0, 1, -2.5f, 1024, 0.15625f};  // exact in all four types
  const Tensor source = make_tensor({5}, values);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const Tensor result = cast(source, dtype);
    EXPECT_EQ(result.dtype, dtype);
    EXPECT_EQ(result.shape, source.shape);
    EXPECT_EQ(result.bytes().size(), 5 * dtype_size(dtype));
    EXPECT_EQ(to_f32(result), values) << dtype_name(dtype);
  }
  // pi rounds to 3.140625 in bfloat16 and half alike.
  EXPECT_EQ(to_f32(cast(make_tensor({1}, std::vector<float>{3.14159265f}), DType::kBF16))[0],
            3.140625f);
  expect_error(ErrorCode::kInvalidFile,
               [] { cast(typed<int64_t>(DType::kI64, {1}, {1}), DType::kF32); });
  expect_error(ErrorCode::kInternal, [&] { cast(source, DType::kI64); });
}

class MapFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "longformer-map-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }
  fs::path directory_;
};

TEST_F(MapFile, SeesTheBytesAndReadsThemAgainAfterRelease) {
  const fs::path path = directory_ / "data";
  std::vector<float> values(5000);
  std::iota(values.begin(), values.end(), 0.0f);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), 5000 * sizeof(float));
  const Tensor tensor{DType::kF32, {5000}, map_file(path), 0};
  EXPECT_EQ(to_f32(tensor), values);
  tensor.release_pages();
  EXPECT_EQ(to_f32(tensor), values);
  const Tensor part{DType::kF32, {2}, tensor.storage, 4 * 4999};
  EXPECT_NO_THROW(part.release_pages());  // beyond the end: ignored
}

TEST_F(MapFile, EmptyFileIsAnEmptySpan) {
  std::ofstream(directory_ / "empty");
  EXPECT_TRUE(map_file(directory_ / "empty")->bytes().empty());
}

TEST_F(MapFile, SaysWhyNot) {
  expect_error(ErrorCode::kNotFound, [&] { map_file(directory_ / "absent"); });
  expect_error(ErrorCode::kInvalidFile, [&] { map_file(directory_); });
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::kInvalidFile,
               [&] { map_file(directory_ / "pipe"); });  // and does not wait
}

}  // namespace
}  // namespace longformer
