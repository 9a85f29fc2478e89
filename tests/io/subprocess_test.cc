#include "io/documents/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "io/posix.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

using namespace std::chrono_literals;

class Subprocess : public DirectoryTest {
 protected:
  static Program shell(const std::string& script) {
    Program program;
    program.command = {"sh", "-c", script};
    program.limits = {20s, 1 << 20, 0};
    return program;
  }
};

// Ends within two seconds. Whoever adopts it may take longer to notice: a dead one counts.
void expect_ended(pid_t id) {
  std::string state;
  for (int i = 0; i < 100; ++i) {
    state = slurp("/proc/" + std::to_string(id) + "/stat");
    if (state.empty() || state.find(") Z") != std::string::npos) return;
    std::this_thread::sleep_for(20ms);
  }
  ADD_FAILURE() << "still there: " << state;
}

TEST_F(Subprocess, GivesOutputErrorsAndStatus) {
  const ProgramResult result = run_program(shell("printf out; printf wrong >&2; exit 7"));
  EXPECT_EQ(result.end, ProgramEnd::kExited);
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.output, "out");
  EXPECT_EQ(result.errors, "wrong");
}

TEST_F(Subprocess, ReadsItsInputFromADescriptor) {
  const FileDescriptor file = open_for_reading(put("input", "12345"));
  lseek(file.get(), 2, SEEK_SET);
  Program program = shell("cat");
  program.standard_input = file.get();
  EXPECT_EQ(run_program(program).output, "345");
  program.standard_input = -1;
  EXPECT_EQ(run_program(program).output, "");
}

TEST_F(Subprocess, TakesLongOutputOnBothSides) {
  Program program = shell("head -c 900000 /dev/zero; head -c 900000 /dev/zero >&2");
  const ProgramResult result = run_program(program);
  EXPECT_EQ(result.output.size(), 900'000u);
  EXPECT_EQ(result.errors.size(), 4096u);
}

TEST_F(Subprocess, StopsAtTheOutputLimit) {
  Program program = shell("yes");
  EXPECT_EQ(run_program(program).end, ProgramEnd::kOverOutput);
  program = shell("printf 12345");
  program.limits.output_bytes = 5;
  EXPECT_EQ(run_program(program).end, ProgramEnd::kExited);
  program.limits.output_bytes = 4;
  EXPECT_EQ(run_program(program).end, ProgramEnd::kOverOutput);
}

TEST_F(Subprocess, KillsTheWholeGroupAtTheTimeLimit) {
  for (const std::string script : {"sleep 100 & echo $!; trap '' TERM; sleep 100",
                                   "sleep 100 & echo $!; exec >&- 2>&-; sleep 100",
                                   "sleep 100 & echo $!; while :; do echo x >&2; done"}) {
    Program program = shell(script);
    program.limits.time = 300ms;
    const auto begin = std::chrono::steady_clock::now();
    const ProgramResult result = run_program(program);
    EXPECT_EQ(result.end, ProgramEnd::kOverTime) << script;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    expect_ended(std::stoi(result.output));
  }
}

TEST_F(Subprocess, EndsWhatIsLeftBehind) {
  const ProgramResult result = run_program(shell("sleep 100 >&- 2>&- & echo $!"));
  EXPECT_EQ(result.end, ProgramEnd::kExited);
  expect_ended(std::stoi(result.output));
}

TEST_F(Subprocess, GoesOnASecondAfterTheProgramHasEnded) {
  for (const std::string script : {"trap '' TERM; sleep 79 & echo $!; exit 3",
                                   "(while :; do echo x >&2; done) & echo $!; exit 3"}) {
    const auto begin = std::chrono::steady_clock::now();
    const ProgramResult result = run_program(shell(script));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << script;  // its time limit is 20 s
    EXPECT_EQ(result.end, ProgramEnd::kExited) << script;
    EXPECT_EQ(result.status, 3) << script;
    expect_ended(std::stoi(result.output));
  }
  // What comes late, but within that second, still counts.
  EXPECT_EQ(run_program(shell("(sleep 0.2; echo late) & echo early")).output, "early\nlate\n");
}

TEST_F(Subprocess, ProgramEndsWithItsStarter) {
  const std::string file = path("id");
  for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
    std::filesystem::remove(file);
    const pid_t starter = fork();
    ASSERT_GE(starter, 0);
    if (starter == 0) {
      signal(number, SIG_DFL);
      run_program(shell("trap '' INT TERM; echo $$ >" + file + ".new; mv " + file + ".new " + file +
                        "; while :; do sleep 0.1; done"));
      _exit(0);
    }
    for (int i = 0; i < 500 && !std::filesystem::exists(file); ++i) {
      std::this_thread::sleep_for(20ms);
    }
    kill(starter, number);
    int status = 0;
    ASSERT_EQ(waitpid(starter, &status, 0), starter);
    EXPECT_TRUE(WIFSIGNALED(status)) << number;
    expect_ended(std::stoi(slurp(file)));
  }
}

TEST_F(Subprocess, ReportsSignals) {
  const ProgramResult result = run_program(shell("kill -SEGV $$"));
  EXPECT_EQ(result.end, ProgramEnd::kSignalled);
  EXPECT_EQ(result.status, SIGSEGV);
}

TEST_F(Subprocess, LimitsTheAddressSpace) {
  Program program = shell("ulimit -v");
  program.limits.address_space_bytes = uint64_t{512} << 20;
  EXPECT_EQ(run_program(program).output, std::to_string(512 << 10) + "\n");
}

TEST_F(Subprocess, ReducesTheEnvironment) {
  setenv("LONGFORMER_TEST_SECRET", "secret", 1);
  Program program = shell("env");
  EXPECT_NE(run_program(program).output.find("SECRET"), std::string::npos);
  program.environment = ProgramEnvironment::kReduced;
  const std::string reduced = run_program(program).output;
  EXPECT_EQ(reduced.find("SECRET"), std::string::npos);
  EXPECT_NE(reduced.find("PATH="), std::string::npos);
  EXPECT_NE(reduced.find("LC_ALL=C.UTF-8"), std::string::npos);
  unsetenv("LONGFORMER_TEST_SECRET");
}

TEST_F(Subprocess, GivesNoOtherDescriptorsAndNoBlockedSignals) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const FileDescriptor open_here = open_for_reading(put("secret", "x"));
  const ProgramResult result =
      run_program(shell("ls /proc/self/fd | tr '\\n' ' '; grep SigBlk /proc/self/status"));
  sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(result.output, "0 1 2 3 SigBlk:\t0000000000000000\n");  // 3: the directory itself
}

TEST_F(Subprocess, NamesMissingPrograms) {
  Program program;
  program.command = {"no-such-program-anywhere"};
  expect_error(ErrorCode::kNotFound, {"no-such-program-anywhere", "PATH"},
               [&] { run_program(program); });
  program.command = {put("not-executable", "text")};
  expect_error(ErrorCode::kNotFound, {"no such program"}, [&] { run_program(program); });
  // Found and refused by the system.
  const std::string broken = put("broken", "#!/nowhere/interpreter\n");
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  program.command = {broken};
  expect_error(ErrorCode::kNotFound, {"broken"}, [&] { run_program(program); });
}

}  // namespace
}  // namespace longformer::io
