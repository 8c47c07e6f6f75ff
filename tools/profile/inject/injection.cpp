// Start and end of recording inside a foreign program: created on demand, finished at exit, discarded in forked
// children, and written before a signal ends the process.
#include "injection.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

namespace pagoda::tools::profile {
namespace {

// Never destroyed: no order of destruction is safe with the program's own threads and exit handlers.
struct State {
  Settings settings;
  Device device;
  Recorder* recorder = nullptr;
  void (*at_end)() = nullptr;
};
State& state() {
  static State* const kState = new State;
  return *kState;
}

std::once_flag once;
std::atomic<int> pipe_end = -1;
pid_t owner = 0;

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP};

// Does only what is allowed in a signal handler: passes the number to the thread below.
void on_signal(int number) {
  const int saved = errno;
  const unsigned char byte = static_cast<unsigned char>(number);
  const int descriptor = pipe_end.load();
  if (descriptor < 0 || ::write(descriptor, &byte, 1) != 1) {
    std::signal(number, SIG_DFL);
    std::raise(number);
    errno = saved;
    return;
  }
  // The signal ends the process, so this thread must not continue; the thread below ends the process within seconds.
  for (;;) pause();
}

// The thread that received the signal is still in its handler, where the signal is blocked, so this thread unblocks it.
void end_by(int number) {
  std::signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), number);
}

// Completes the record, then ends the process by the signal, as if the profiler were absent. Waits 3 s at most, in case
// the driver blocks.
void watch(int descriptor) {
  unsigned char byte = 0;
  while (::read(descriptor, &byte, 1) < 0 && errno == EINTR) {
  }
  std::thread([number = byte] {
    sleep(3);
    end_by(number);
  }).detach();
  finish_record();
  end_by(byte);
}

void watch_signals() {
  int ends[2];
  if (pipe(ends) != 0) return;
  pipe_end = ends[1];
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals go to the program's own threads
  std::thread(watch, ends[0]).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int number : kSignals) {
    struct sigaction now = {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours = {};
    ours.sa_handler = on_signal;
    sigaction(number, &ours, nullptr);
  }
}

void before_fork() {
  if (state().recorder) state().recorder->before_fork();
}
void after_fork_in_parent() {
  if (state().recorder) state().recorder->after_fork_in_parent();
}
void after_fork_in_child() {
  if (state().recorder) state().recorder->after_fork_in_child();
  owner = getpid();
  pipe_end = -1;  // the reading thread exists only in the parent: signals end the child at once
}

void make() {
  const char* const path = std::getenv(kSettingsVariable);
  if (path == nullptr) return;
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.empty()) return;
  owner = getpid();
  state().settings = parse_settings(text);
  const Device through = {
      [](Context context) { return state().device.facts(context); },
      [](Context context, const std::vector<std::string>& metrics) { return state().device.session(context, metrics); },
      [] { return state().device.current ? state().device.current() : Context{0}; }};
  state().recorder = new Recorder(state().settings, through, std::make_unique<RecordFile>(state().settings.folder));
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  std::atexit(finish_record);
  watch_signals();
}

}  // namespace

Recorder* recorder() {
  std::call_once(once, make);
  return state().recorder;
}
const Settings& settings() { return state().settings; }
void set_device(Device device) { state().device = std::move(device); }
void finish_record() {
  if (getpid() != owner || state().recorder == nullptr) return;
  if (state().at_end) state().at_end();
  state().recorder->finish();
}
void at_end(void (*function)()) { state().at_end = function; }

}  // namespace pagoda::tools::profile
