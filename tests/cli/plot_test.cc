// plot: what the picture holds, and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "cli/command_fixture.h"
#include "cli/loss_plot.h"

namespace longformer {
namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class Plot : public Command {
 protected:
  void put_run(const std::string& name, const std::string& lines) {
    fs::create_directories(path(name));
    std::ofstream(path(name) / "metrics.jsonl") << lines;
  }
  static std::string falling(int64_t steps) {
    std::string lines;
    for (int64_t step = 10; step <= steps; step += 10) {
      const auto x = static_cast<double>(step);
      lines += Json({{"step", step}, {"loss", 3 * std::exp(-x / 500)}, {"learning_rate", x * 1e-7}})
                   .dump() +
               "\n";
      if (step % 100 == 0) lines += Json({{"step", step}, {"eval_loss", 2.0}}).dump() + "\n";
    }
    return lines;
  }
  std::string draw(const std::string& runs) {
    const Outcome result = run("plot " + runs + " --output curves.svg");
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    return io::read_file(path("curves.svg"), 1 << 22);
  }
  // Well-formed, by another reader.
  void expect_xml() {
    EXPECT_EQ(std::system(("python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' " +
                           path("curves.svg").string())
                              .c_str()),
              0);
  }
};

TEST_F(Plot, CurvesOfTwoRuns) {
  put_run("first", falling(1000));
  put_run("a<b>&\"c", "{\"step\":20,\"loss\":1.5,\"learning_rate\":1e-5}\n");
  const std::string svg = draw("first 'a<b>&\"c'");
  expect_xml();
  // Training, evaluation and rate of the first; training and rate of the second.
  EXPECT_EQ(count_of(svg, "<polyline"), 5u);
  EXPECT_NE(svg.find("first: training"), std::string::npos);
  EXPECT_NE(svg.find("first: evaluation"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;\"c: training"), std::string::npos);
  EXPECT_EQ(svg.find(": evaluation", svg.find(": evaluation") + 1), std::string::npos);
  EXPECT_NE(svg.find(">2 trainings<"), std::string::npos);
  EXPECT_NE(svg.find(">1000<"), std::string::npos) << "the last step has a tick";
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST_F(Plot, OnePointAndManyPoints) {
  put_run("one", "{\"step\":5,\"eval_loss\":0}\n");
  std::string svg = draw("one");
  expect_xml();
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(count_of(svg, "<circle"), 1u);
  put_run("many", falling(200'000));
  svg = draw("many/metrics.jsonl");
  expect_xml();
  EXPECT_LT(svg.size(), 60'000u);
  EXPECT_EQ(count_of(svg, "many: training"), 1u);
}

TEST_F(Plot, Refusals) {
  put_run("empty", "");
  put_run("broken", "{\"step\":5,\"loss\":1}\nnonsense\n");
  put_run("good", "{\"step\":5,\"loss\":1}\n");
  expect_refused("plot empty --output x.svg", "empty: has no loss to draw yet");
  expect_refused("plot broken --output x.svg", "broken/metrics.jsonl: line 2");
  expect_refused("plot nowhere --output x.svg", "nowhere");
  expect_refused("plot good --output x.png", "--output: a picture is written as NAME.svg");
  EXPECT_FALSE(fs::exists(path("x.svg")));
}

TEST(Ticks, AreRoundAndFew) {
  using cli::linear_ticks;
  EXPECT_EQ(linear_ticks(0, 1000).labels,
            (std::vector<std::string>{"0", "200", "400", "600", "800", "1000"}));
  EXPECT_EQ(linear_ticks(0.31, 2.6).labels,
            (std::vector<std::string>{"0.5", "1", "1.5", "2", "2.5"}));
  EXPECT_EQ(linear_ticks(0, 5e-5).labels,
            (std::vector<std::string>{"0", "1e-05", "2e-05", "3e-05", "4e-05", "5e-05"}));
  EXPECT_EQ(linear_ticks(0, 130'000).labels, (std::vector<std::string>{"0", "50,000", "100,000"}));
  for (double low = -3; low < 3; low += 0.37) {
    for (double size = 1e-6; size < 1e7; size *= 3.3) {
      const auto ticks = linear_ticks(low, low + size);
      EXPECT_GE(ticks.values.size(), 2u) << low << " " << size;
      EXPECT_LE(ticks.values.size(), 7u) << low << " " << size;
      for (const double value : ticks.values) {
        EXPECT_GE(value, low - size * 1e-6);
        EXPECT_LE(value, low + size * (1 + 1e-6));
      }
    }
  }
}

}  // namespace
}  // namespace longformer
