// Models by name: pull against a server that plays the hub, --model NAME from the cache, and that
// no other command ever opens a connection.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "cli/command_fixture.h"
#include "hub/hub_server.h"

namespace longformer {
namespace {

class Pull : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    server_ = std::make_unique<test::HubServer>(directory_.path());
    fs::create_directories(server_->models() / "org");
    fs::copy(model(), server_->models() / "org" / "tiny", fs::copy_options::recursive);
    server_->start();
    environment_ =
        "no_proxy=127.0.0.1 HF_ENDPOINT=" + server_->hub() + " HF_HOME=" + path("hf").string();
  }
  void TearDown() override { server_.reset(); }

  Outcome hub(const std::string& arguments, const std::string& more = "") {
    return run(arguments, "env " + environment_ + " " + more);
  }
  fs::path weights_in_part() const {
    std::error_code error;
    for (fs::directory_iterator entry(path("hf/hub/models--org--tiny/blobs"), error), end;
         !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".incomplete") return entry->path();
    }
    return {};
  }
  // Starts a pull, waits until `bytes` of the weights have arrived, sends a signal, returns how it
  // ended.
  int pull_and_signal(int signal, uint64_t bytes) {
    const pid_t child = fork();
    if (child == 0) {
      for (const std::string name : {"HF_ENDPOINT", "HF_HOME"}) {
        const std::string value =
            name == "HF_HOME" ? path("hf").string() : std::string(server_->hub());
        setenv(name.c_str(), value.c_str(), 1);
      }
      setenv("no_proxy", "127.0.0.1", 1);
      execl(LONGFORMER_BINARY, "longformer", "pull", "org/tiny", static_cast<char*>(nullptr));
      _exit(127);
    }
    for (int tries = 0; tries < 2000; ++tries) {
      std::error_code error;
      const fs::path part = weights_in_part();
      if (!part.empty() && fs::file_size(part, error) >= bytes && !error) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::unique_ptr<test::HubServer> server_;
  std::string environment_;
};

TEST_F(Pull, ThenTheNameIsAModel) {
  const Outcome before = hub("embed --model org/tiny text.txt");
  EXPECT_EQ(before.code, 2);
  EXPECT_NE(before.err.find("longformer pull org/tiny"), std::string::npos) << before.err;

  const Outcome pulled = hub("pull org/tiny --json");
  ASSERT_EQ(pulled.code, 0) << pulled.err;
  EXPECT_EQ(pulled.err, "");
  const Json record = json_lines(pulled.out).at(0);
  EXPECT_EQ(record["model"], "org/tiny");
  EXPECT_EQ(record["revision"], "main");
  EXPECT_EQ(record["files"], record["downloaded_files"]);
  EXPECT_EQ(record["bytes"], record["downloaded_bytes"]);
  const std::string directory = record["directory"];
  EXPECT_TRUE(fs::exists(fs::path(directory) / "1_Pooling" / "config.json"));

  const Outcome again = hub("pull org/tiny");
  EXPECT_EQ(again.out, directory + "\n");
  EXPECT_NE(again.err.find("all there already"), std::string::npos) << again.err;

  server_->stop();
  const std::string by_directory = run("embed --model model text.txt").out;
  ASSERT_NE(by_directory, "");
  EXPECT_EQ(hub("embed --model org/tiny text.txt").out, by_directory);
  EXPECT_EQ(hub("embed --model org/tiny --offline text.txt").out, by_directory);
  const std::string commit = record["commit"];
  EXPECT_EQ(hub("embed --model org/tiny --revision " + commit + " text.txt").out, by_directory);
  EXPECT_EQ(hub("info --json --model org/tiny").code, 0);
  const Outcome other = hub("embed --model org/tiny --revision v2 text.txt");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("--revision v2"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find(commit), std::string::npos) << other.err;

  // A directory of that name comes first, and has no revisions.
  fs::create_directories(path("org"));
  fs::copy(path("bert"), path("org/tiny"), fs::copy_options::recursive);
  EXPECT_NE(hub("embed --model org/tiny text.txt").out, by_directory);
  const Outcome revision = hub("embed --model org/tiny --revision main text.txt");
  EXPECT_EQ(revision.code, 2);
  EXPECT_NE(revision.err.find("--revision"), std::string::npos) << revision.err;
}

TEST_F(Pull, HostileNames) {
  for (const std::string name : {"../model/..", "a/b/c", "'a b'", "a--b", "/nowhere"}) {
    const Outcome model = hub("embed --model " + name + "x text.txt");
    EXPECT_EQ(model.code, 2) << name;
    const Outcome pulled = hub("pull " + name);
    EXPECT_EQ(pulled.code, 2) << name;
    EXPECT_NE(pulled.err.find("no name of a model"), std::string::npos) << pulled.err;
  }
  EXPECT_EQ(hub("pull org/tiny --revision ../../x").code, 2);
  EXPECT_EQ(hub("pull").code, 2);
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(Pull, OfflineRefusesToPull) {
  for (const std::string& way :
       {std::string("HF_HUB_OFFLINE=1 "), std::string("TRANSFORMERS_OFFLINE=yes ")}) {
    const Outcome result = hub("pull org/tiny", way);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("needs the network"), std::string::npos) << result.err;
  }
  EXPECT_EQ(hub("pull org/tiny --offline").code, 2);
  EXPECT_TRUE(server_->requests().empty());
  const Outcome missing = hub("embed --offline --model org/tiny text.txt");
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("longformer pull org/tiny"), std::string::npos);
  EXPECT_NE(missing.err.find("not while offline"), std::string::npos) << missing.err;
}

TEST_F(Pull, FailuresAreOneLineWithAnExitCode) {
  const struct {
    nlohmann::json fault;
    int code;
    std::string says;
  } cases[] = {
      {{{"match", "/api/"}, {"status", 404}}, 2, "no such model"},
      {{{"match", "/api/"}, {"status", 403}, {"headers", {{"X-Error-Code", "GatedRepo"}}}},
       1,
       "ask on"},
      {{{"match", "/api/"}, {"text", "<html>"}}, 2, "JSON"},
      {{{"match", "cdn GET"}, {"flip", 9}}, 1, "another hash"},
  };
  for (const auto& [fault, code, says] : cases) {
    server_->set_faults(fault);
    const Outcome result = hub("pull org/tiny --json", "HF_TOKEN=hf_secret");
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.err.find("hf_secret"), std::string::npos) << result.err;
  }
  EXPECT_EQ(hub("embed --model org/tiny text.txt").code, 2);
  const Outcome token = hub("pull org/tiny", "HF_TOKEN='a b'");
  EXPECT_EQ(token.code, 2);
  EXPECT_NE(token.err.find("HF_TOKEN"), std::string::npos) << token.err;
}

// kill -9 and SIGTERM in the middle of the weights: what arrived stays, and nobody sees the model.
TEST_F(Pull, KilledInTheMiddleItGoesOn) {
  const std::string blob = server_->models() / "org" / "tiny" / "model.safetensors";
  const uint64_t size = fs::file_size(blob);
  const uint64_t half = size / 2;
  server_->set_faults({{{"match", "cdn GET"}, {"times", 1}, {"stall", half}},
                       {{"match", "cdn GET"}, {"times", 1}, {"stall", 100}, {"seconds", 31}}});
  EXPECT_EQ(pull_and_signal(SIGKILL, half), 128 + SIGKILL);
  EXPECT_EQ(fs::file_size(weights_in_part()), half);
  EXPECT_EQ(hub("embed --model org/tiny text.txt").code, 2);
  EXPECT_EQ(pull_and_signal(SIGTERM, half + 100), 128 + SIGTERM);
  EXPECT_EQ(fs::file_size(weights_in_part()), half + 100);
  const Outcome rest = hub("pull org/tiny --json");
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json_lines(rest.out).at(0)["downloaded_bytes"], size - half - 100);
  EXPECT_EQ(weights_in_part(), "");
  EXPECT_EQ(hub("embed --model org/tiny text.txt").out, run("embed --model model text.txt").out);
}

TEST_F(Pull, TwoAtOnceDownloadOnce) {
  server_->set_faults({{"match", "cdn GET"}, {"delay", 0.5}});
  Outcome first;
  std::thread other([&] { first = hub("pull org/tiny", "LONGFORMER_ISA=native"); });
  const std::string command = "cd " + directory_.path().string() + " && env " + environment_ + " " +
                              LONGFORMER_BINARY + " pull org/tiny >second.txt 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  other.join();
  EXPECT_EQ(first.code, 0) << first.err;
  int bodies = 0;
  for (const std::string& line : server_->request_lines()) bodies += line.starts_with("cdn GET");
  EXPECT_EQ(bodies, 1);
}

// Ends the process at its first socket of the internet.
bool forbid_network() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int kNoFilter = 126;

int run_without_network(const std::string& shell_command) {
  const pid_t child = fork();
  if (child == 0) {
    if (!forbid_network()) _exit(kNoFilter);
    execl("/bin/sh", "sh", "-c", ("exec " + shell_command).c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(Pull, NothingButPullOpensAConnection) {
  const std::string before = "env " + environment_ + " LONGFORMER_THREADS=2 " + LONGFORMER_BINARY;
  const std::string quiet = " >/dev/null 2>&1 </dev/null";
  const auto code = [&](const std::string& arguments) {
    return run_without_network(before + " " + arguments + quiet);
  };
  const int pulled = code("pull org/tiny");
  if (pulled == kNoFilter) GTEST_SKIP() << "the system has no seccomp filters";
  ASSERT_EQ(pulled, 128 + SIGSYS) << "the filter does not see pull's connection";
  EXPECT_TRUE(server_->requests().empty());
  EXPECT_EQ(code("pull org/tiny --offline"), 2);
  EXPECT_EQ(code("search --model org/tiny 'the fox' " + text().string()), 2) << "not in the cache";

  ASSERT_EQ(hub("pull org/tiny").code, 0);
  server_->forget_requests();
  const std::string name = " --model org/tiny ";
  const std::string document = text().string();
  EXPECT_EQ(code("search" + name + "'the fox' " + document), 0);
  EXPECT_EQ(code("embed" + name + document), 0);
  EXPECT_EQ(code("tokenize" + name + document), 0);
  EXPECT_EQ(code("info" + name), 0);
  EXPECT_EQ(code("search --offline" + name + "'the fox' " + document), 0);
  write_inputs({integers("input_ids", {1, 3}, {2, 8, 3})});
  EXPECT_EQ(code("forward" + name + "--inputs " + path("in").string() + " --outputs " +
                 path("out").string()),
            0);
  EXPECT_TRUE(server_->requests().empty());
}

}  // namespace
}  // namespace longformer
