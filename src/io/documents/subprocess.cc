#include "io/documents/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "io/posix.h"
#include "longformer/error.h"

extern char** environ;

namespace longformer::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxErrorBytes = 4096;
constexpr Clock::duration kGraceTime = std::chrono::seconds(1);
constexpr int kLookMilliseconds = 50;  // between looks whether the program has ended

// The file that execvp would run. Searched before the fork: the child may allocate nothing.
std::string find_program(const std::string& name) {
  const auto runnable = [](const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runnable(name)) return name;
    throw Error(ErrorCode::kNotFound, "no such program", name);
  }
  const char* const variable = std::getenv("PATH");
  std::string_view path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!path.empty()) {
    const size_t colon = std::min(path.find(':'), path.size());
    const std::string candidate = std::string(path.substr(0, colon)) + "/" + name;
    // An empty entry means the current directory, where documents lie: not taken.
    if (colon != 0 && runnable(candidate)) return candidate;
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  throw Error(ErrorCode::kNotFound, "no such program in PATH", name);
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

// Both ends above 2, so that the child can put its own 0, 1 and 2 in place in any order.
Pipe make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_system(errno, "pipe");
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  for (FileDescriptor* const end : {&pipe.read, &pipe.write}) {
    if (end->get() > 2) continue;
    FileDescriptor moved(fcntl(end->get(), F_DUPFD_CLOEXEC, 3));
    if (moved.get() < 0) throw_system(errno, "pipe");
    *end = std::move(moved);
  }
  return pipe;
}

// Everything that the child needs, made before the fork.
struct Start {
  std::string path;
  std::vector<char*> arguments;
  std::vector<std::string> environment_words;
  std::vector<char*> environment;
  FileDescriptor input;
  Pipe output;
  Pipe errors;
  Pipe failure;  // an errno value where the program could not be started
  pid_t parent = 0;
};

Start prepare(const Program& program) {
  Start start;
  start.path = find_program(program.command.at(0));
  for (const std::string& word : program.command) {
    start.arguments.push_back(const_cast<char*>(word.c_str()));
  }
  start.arguments.push_back(nullptr);
  if (program.environment == ProgramEnvironment::kReduced) {
    const char* const path = std::getenv("PATH");
    start.environment_words = {std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"),
                               "LC_ALL=C.UTF-8"};
    for (std::string& word : start.environment_words) start.environment.push_back(word.data());
    start.environment.push_back(nullptr);
  }
  FileDescriptor nothing;
  if (program.standard_input < 0) nothing = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int input = program.standard_input < 0 ? nothing.get() : program.standard_input;
  start.input = FileDescriptor(fcntl(input, F_DUPFD_CLOEXEC, 3));
  if (start.input.get() < 0) throw_system(errno, "standard input of a program");
  start.output = make_pipe();
  start.errors = make_pipe();
  start.failure = make_pipe();
  start.parent = getpid();
  return start;
}

// Where the hard limit is lower already this fails, and the lower one holds.
void limit_address_space(uint64_t bytes) noexcept {
  const rlimit limit{bytes, bytes};
  [[maybe_unused]] const int ignored = setrlimit(RLIMIT_AS, &limit);
}

void write_no_core() noexcept {
  const rlimit limit{0, 0};
  [[maybe_unused]] const int ignored = setrlimit(RLIMIT_CORE, &limit);
}

// In the child, between fork and exec: only calls that are safe after the fork of a process with
// threads.
[[noreturn]] void become(const Start& start, const ProgramLimits& limits) noexcept {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(127);  // it ended before the line above
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGCHLD}) {
    signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(start.input.get(), 0) == 0 && dup2(start.output.write.get(), 1) == 1 &&
      dup2(start.errors.write.get(), 2) == 2) {
    if (limits.address_space_bytes != 0) limit_address_space(limits.address_space_bytes);
    write_no_core();
    // What other code opened without a thought for children.
    [[maybe_unused]] const int ignored = close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    execve(start.path.c_str(), start.arguments.data(),
           start.environment.empty() ? environ : start.environment.data());
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(start.failure.write.get(), &error, sizeof(error));
  _exit(127);
}

// A running child. However this ends, its whole group ends: nothing may keep running behind a
// result.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) { setpgid(id, id); }  // whoever of the two comes first
  ~Child() {
    if (id_ > 0) end();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns what waitpid() says. The child is not waited for before: its number, and so that of the
  // group, could be somebody else's by now.
  int end() noexcept {
    const pid_t id = std::exchange(id_, 0);
    kill(-id, SIGKILL);
    int status = 0;
    while (waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

 private:
  pid_t id_;
};

// Milliseconds for poll().
int left_until(Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000));
}

// Reads what is there. Returns false at the end.
bool take(int file, std::string& out, uint64_t limit) {
  std::array<char, 64 << 10> block;
  const ssize_t got = read(file, block.data(), block.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  const size_t room = limit > out.size() ? static_cast<size_t>(limit - out.size()) : 0;
  out.append(block.data(), std::min(static_cast<size_t>(got), room));
  return got > 0;
}

// Whether the program itself has ended, whatever it left running. It is not waited for: see Child.
bool has_ended(pid_t id) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOWAIT | WNOHANG) != 0) {
    return errno != EINTR;
  }
  return info.si_pid == id;
}

// Until both outputs are closed, a limit is reached, or the program has ended for kGraceTime: what
// it left running may keep the outputs open for ever.
ProgramEnd collect(Start& start, pid_t id, const ProgramLimits& limits, Clock::time_point deadline,
                   ProgramResult& result) {
  std::array<pollfd, 2> waiting = {pollfd{start.output.read.get(), POLLIN, 0},
                                   pollfd{start.errors.read.get(), POLLIN, 0}};
  bool ended = false;
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const int ready =
        poll(waiting.data(), waiting.size(), std::min(left_until(deadline), kLookMilliseconds));
    if (ready < 0 && errno != EINTR) throw_system(errno, "poll");
    // One byte more than allowed shows that there is more.
    if (ready > 0 && waiting[0].revents != 0 &&
        !take(waiting[0].fd, result.output, limits.output_bytes + 1)) {
      waiting[0].fd = -1;
    }
    if (ready > 0 && waiting[1].revents != 0 &&
        !take(waiting[1].fd, result.errors, kMaxErrorBytes)) {
      waiting[1].fd = -1;
    }
    if (result.output.size() > limits.output_bytes) return ProgramEnd::kOverOutput;
    if (Clock::now() >= deadline) return ended ? ProgramEnd::kExited : ProgramEnd::kOverTime;
    if (!ended && has_ended(id)) {
      ended = true;
      deadline = std::min(deadline, Clock::now() + kGraceTime);
    }
  }
  return ProgramEnd::kExited;
}

// It may close its outputs and stay.
ProgramEnd wait_until_ended(pid_t id, Clock::time_point deadline) {
  while (!has_ended(id)) {
    if (Clock::now() >= deadline) return ProgramEnd::kOverTime;
    usleep(1000);
  }
  return ProgramEnd::kExited;
}

}  // namespace

ProgramResult run_program(const Program& program) {
  Start start = prepare(program);
  const Clock::time_point deadline = Clock::now() + program.limits.time;
  const pid_t id = fork();
  if (id < 0) throw_system(errno, start.path);
  if (id == 0) become(start, program.limits);
  Child child(id);
  start.output.write.close();
  start.errors.write.close();
  start.failure.write.close();

  int error = 0;
  if (read_some(start.failure.read.get(), reinterpret_cast<char*>(&error), sizeof(error), {}) ==
      sizeof(error)) {
    throw_system(error, start.path);
  }
  ProgramResult result;
  result.end = collect(start, id, program.limits, deadline, result);
  if (result.end == ProgramEnd::kExited) result.end = wait_until_ended(id, deadline);
  const int status = child.end();
  if (result.end == ProgramEnd::kExited && WIFSIGNALED(status)) {
    result.end = ProgramEnd::kSignalled;
    result.status = WTERMSIG(status);
  } else if (result.end == ProgramEnd::kExited) {
    result.status = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace longformer::io
