// Starts tests/hub/server.py, which plays the hub, and tells it how to misbehave.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace longformer::test {

class HubServer {
 public:
  // Files below `directory`/models are the models; `directory`/state belongs to the server.
  explicit HubServer(std::filesystem::path directory) : directory_(std::move(directory)) {
    std::filesystem::create_directories(models());
    std::filesystem::create_directories(state());
  }
  ~HubServer() { stop(); }
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  std::filesystem::path models() const { return directory_ / "models"; }
  std::filesystem::path state() const { return directory_ / "state"; }

  // Returns once both ports listen.
  void start(const std::string& scheme = "http") {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const std::string program = LONGFORMER_TEST_DATA "/../hub/server.py";
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[0], STDIN_FILENO);
      execlp("python3", "python3", program.c_str(), "--models", models().c_str(), "--state",
             state().c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[0]);
    input_ = ends[1];
    std::string hub;
    std::string cdn;
    for (int tries = 0; tries < 2000 && cdn.empty(); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::ifstream(state() / "ports") >> hub >> cdn;
    }
    ASSERT_FALSE(cdn.empty()) << "tests/hub/server.py (Python 3.9 or newer) does not start";
    hub_ = scheme + "://127.0.0.1:" + hub;
    cdn_ = scheme + "://127.0.0.1:" + cdn;
  }

  void stop() {
    if (child_ <= 0) return;
    close(input_);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

  const std::string& hub() const { return hub_; }
  const std::string& cdn() const { return cdn_; }

  void put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((models() / name).parent_path());
    std::ofstream(models() / name, std::ios::binary) << bytes;
  }

  // One or an array; see Fault in server.py.
  void set_faults(const nlohmann::json& faults) const {
    std::ofstream(state() / "faults.json")
        << (faults.is_array() ? faults : nlohmann::json::array({faults})).dump();
  }

  // The requests so far.
  std::vector<nlohmann::json> requests() const {
    std::ifstream log(state() / "log");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(log, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  // "hub GET /api/…", one a request.
  std::vector<std::string> request_lines() const {
    std::vector<std::string> lines;
    for (const nlohmann::json& request : requests()) {
      lines.push_back(request["origin"].get<std::string>() + " " +
                      request["method"].get<std::string>() + " " +
                      request["path"].get<std::string>());
    }
    return lines;
  }
  void forget_requests() const { std::filesystem::remove(state() / "log"); }

 private:
  std::filesystem::path directory_;
  pid_t child_ = 0;
  int input_ = -1;
  std::string hub_;
  std::string cdn_;
};

}  // namespace longformer::test
