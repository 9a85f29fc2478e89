// Runs the command as a program in a directory of its own, with a tiny model and a text.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/files.h"
#include "tasks/tiny_model.h"

namespace longformer {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::put;

struct Outcome {
  int code = -1;  // 128 + signal where one ended it
  std::string out;
  std::string err;
};

inline std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(Json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

class Command : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(model(), "longformer", 64);
    test::put_pooling(model(), R"({"pooling_mode_mean_tokens": true})", true);
    test::write_tiny_model(directory_.path() / "bert", "bert", 64);
    put(text(),
        "The fox sleeps in the barn. The hen runs.\n\nThe old dog eats corn. Rain comes in the "
        "night.\n");
  }

  fs::path model() const { return directory_.path() / "model"; }
  fs::path text() const { return directory_.path() / "text.txt"; }
  fs::path path(const std::string& name) const { return directory_.path() / name; }

  // Arguments as a shell reads them; `input` becomes standard input.
  Outcome run(const std::string& arguments, const std::string& environment = "",
              const std::string& input = "/dev/null", const std::string& reader = "") {
    const fs::path err = path("stderr.txt");
    const std::string command = "cd " + directory_.path().string() + " && " + environment +
                                " LONGFORMER_THREADS=2 " + LONGFORMER_BINARY + " " + arguments +
                                " <" + input + " 2>" + err.string() + " " + reader;
    FILE* pipe = popen(command.c_str(), "r");
    Outcome result;
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      result.out.append(buffer, got);
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.err = io::read_file(err, 1 << 20);
    return result;
  }

  // Bad input: this exit code, one line that holds `says`, nothing on standard output.
  void expect_refused(const std::string& arguments, const std::string& says, int code = 2) {
    const Outcome result = run(arguments);
    EXPECT_EQ(result.code, code) << arguments << "\n" << result.err;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_NE(result.err.find(says), std::string::npos) << arguments << "\n" << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << arguments << "\n"
                                                                         << result.err;
  }

  void write_inputs(const std::vector<io::NamedTensor>& tensors) {
    io::write_safetensors(path("in"), tensors);
  }

  static io::NamedTensor integers(const std::string& name, const Shape& shape,
                                  const std::vector<int64_t>& values) {
    return {name, make_tensor(shape, std::span<const int64_t>(values))};
  }

  test::TemporaryDirectory directory_;
};

}  // namespace longformer
