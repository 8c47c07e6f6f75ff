// Programs only: Windows cannot copy a running process, so that functions in a child throw CannotStart.
#include "pagoda/base/process.h"

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "windows/windows.h"

namespace pagoda::base {
namespace {

using windows::Handle;
using windows::wide;

constexpr const char* kCopy = "a copy of this process";
constexpr UINT kKilledCode = 137;  // as a shell reports it elsewhere

// A program splits its command line by these rules: quotes hold a word together, and backslashes count only before one.
std::wstring quoted(const std::wstring& word) {
  if (!word.empty() && word.find_first_of(L" \t\n\v\"") == std::wstring::npos) return word;
  std::wstring text = L"\"";
  std::size_t backslashes = 0;
  for (const wchar_t letter : word) {
    if (letter == L'\\') {
      ++backslashes;
      continue;
    }
    text.append(letter == L'"' ? 2 * backslashes + 1 : backslashes, L'\\').push_back(letter);
    backslashes = 0;
  }
  return text.append(2 * backslashes, L'\\') + L'"';
}

// The file of a program: looked up in PATH alone, not in the working folder.
std::wstring program_file(const std::string& name) {
  const std::wstring program = wide(name);
  if (name.find_first_of("/\\:") != std::string::npos) return program;
  std::wstring path(32767, L'\0'), found(32767, L'\0');  // the longest values
  path.resize(::GetEnvironmentVariableW(L"PATH", path.data(), static_cast<DWORD>(path.size())));
  const DWORD length = path.empty() ? 0
                                    : ::SearchPathW(path.c_str(), program.c_str(), L".exe",
                                                    static_cast<DWORD>(found.size()), found.data(), nullptr);
  found.resize(length);
  return found;
}

// This process's variables with `more` in place of those of the same name.
std::wstring environment_block(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::wstring> entries;
  wchar_t* const all = ::GetEnvironmentStringsW();
  for (const wchar_t* entry = all; entry != nullptr && *entry != L'\0'; entry += std::wstring_view(entry).size() + 1) {
    const std::wstring_view text = entry;
    const std::wstring name(text.substr(0, text.find(L'=', 1)));  // names such as "=C:" begin with one
    if (std::none_of(more.begin(), more.end(),
                     [&](const auto& set) { return ::_wcsicmp(wide(set.first).c_str(), name.c_str()) == 0; }))
      entries.emplace_back(text);
  }
  if (all != nullptr) ::FreeEnvironmentStringsW(all);
  for (const auto& [name, value] : more) entries.push_back(wide(name + "=" + value));
  std::wstring block;
  for (const std::wstring& entry : entries) block.append(entry).push_back(L'\0');
  block.push_back(L'\0');
  return block;
}

// The child's end of a stream, which it inherits, and this side's end of a pipe.
struct StreamEnds {
  Handle child, here;
};

StreamEnds make_stream(Stream stream, DWORD standard, const std::string& program) {
  SECURITY_ATTRIBUTES inherited{
      .nLength = sizeof(SECURITY_ATTRIBUTES), .lpSecurityDescriptor = nullptr, .bInheritHandle = TRUE};
  StreamEnds ends;
  const auto check = [&](bool is_done) {
    if (!is_done) throw CannotStart(program, windows::errno_of(::GetLastError()));
  };
  switch (stream) {
    case Stream::Inherit: {
      HANDLE own = nullptr;
      const HANDLE given = ::GetStdHandle(standard);
      if (given == nullptr || given == INVALID_HANDLE_VALUE) return ends;
      check(::DuplicateHandle(::GetCurrentProcess(), given, ::GetCurrentProcess(), &own, 0, TRUE,
                              DUPLICATE_SAME_ACCESS) != 0);
      ends.child = Handle(own);
      return ends;
    }
    case Stream::Null:
      ends.child =
          windows::file_handle(::CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                             &inherited, OPEN_EXISTING, 0, nullptr));
      check(static_cast<bool>(ends.child));
      return ends;
    case Stream::Pipe: {
      const bool is_input = standard == STD_INPUT_HANDLE;
      HANDLE read = nullptr, write = nullptr;
      check(::CreatePipe(&read, &write, &inherited, 0) != 0);
      ends.child = Handle(is_input ? read : write);
      ends.here = Handle(is_input ? write : read);
      check(::SetHandleInformation(ends.here.get(), HANDLE_FLAG_INHERIT, 0) != 0);
      return ends;
    }
  }
  return ends;
}

OpenFile file_of(Handle&& handle, int flags) {
  if (!handle) return {};
  return OpenFile(
      ::_open_osfhandle(reinterpret_cast<std::intptr_t>(handle.release()), flags | _O_BINARY | _O_NOINHERIT));
}

void read_to_end(int descriptor, std::string& into) {
  const OpenFile pipe(descriptor);
  std::array<char, 65536> block{};
  while (const std::size_t got = pipe.read(block).value_or(0)) into.append(block.data(), got);
}

}  // namespace

// The process with what belongs to it, and, for groups, the job of all its children.
struct ChildProcess::System {
  Handle process, job;
};

ChildProcess::ChildProcess(const std::vector<std::string>& words, const ProcessOptions& options) {
  const std::string& program = words.at(0);
  const std::wstring file = program_file(program);
  if (file.empty()) throw CannotStart(program, ENOENT);
  std::wstring line;
  for (const std::string& word : words) line += (line.empty() ? L"" : L" ") + quoted(wide(word));
  std::wstring environment = environment_block(options.environment);
  StreamEnds in = make_stream(options.in, STD_INPUT_HANDLE, program);
  StreamEnds out = make_stream(options.out, STD_OUTPUT_HANDLE, program);
  StreamEnds err = make_stream(options.err, STD_ERROR_HANDLE, program);
  STARTUPINFOW start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = in.child.get();
  start.hStdOutput = out.child.get();
  start.hStdError = err.child.get();
  const std::wstring folder = wide(options.folder);
  system_ = std::make_unique<System>();
  PROCESS_INFORMATION started{};
  if (::CreateProcessW(file.c_str(), line.data(), nullptr, nullptr, TRUE, CREATE_UNICODE_ENVIRONMENT | CREATE_SUSPENDED,
                       environment.data(), folder.empty() ? nullptr : folder.c_str(), &start, &started) == 0)
    throw CannotStart(program, windows::errno_of(::GetLastError()));
  system_->process = Handle(started.hProcess);
  const Handle thread(started.hThread);
  pid_ = static_cast<int>(started.dwProcessId);
  is_group_ = options.is_group;
  if (is_group_) {
    system_->job = Handle(::CreateJobObjectW(nullptr, nullptr));
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    ::SetInformationJobObject(system_->job.get(), JobObjectExtendedLimitInformation, &limits, sizeof limits);
    ::AssignProcessToJobObject(system_->job.get(), system_->process.get());
  }
  if (options.started) options.started(pid_);
  ::ResumeThread(thread.get());
  in_ = file_of(std::move(in.here), _O_WRONLY);
  out_ = file_of(std::move(out.here), _O_RDONLY);
  err_ = file_of(std::move(err.here), _O_RDONLY);
}

ChildProcess::ChildProcess(const std::function<int()>&, const ProcessOptions&) { throw CannotStart(kCopy, ENOSYS); }

ChildProcess::~ChildProcess() {
  if (system_ && !end_) {
    kill();
    wait();
  }
}

void ChildProcess::kill() const {
  if (system_->job)
    ::TerminateJobObject(system_->job.get(), kKilledCode);
  else if (!end_)
    ::TerminateProcess(system_->process.get(), kKilledCode);
}

std::optional<ProcessEnd> ChildProcess::collect(bool waits) {
  if (end_) return end_;
  const HANDLE process = system_->process.get();
  if (::WaitForSingleObject(process, waits ? INFINITE : 0) == WAIT_TIMEOUT) return std::nullopt;
  end_.emplace();
  DWORD code = 0;
  if (::GetExitCodeProcess(process, &code) != 0) end_->code = static_cast<int>(code);
  PROCESS_MEMORY_COUNTERS memory{};
  if (::K32GetProcessMemoryInfo(process, &memory, sizeof memory) != 0)
    end_->peak_bytes = static_cast<std::int64_t>(memory.PeakWorkingSetSize);
  return end_;
}

Output run_and_capture(const std::vector<std::string>& words, ProcessOptions options) {
  using Clock = std::chrono::steady_clock;
  options.out = Stream::Pipe;
  const Clock::time_point start = Clock::now();
  ChildProcess child(words, options);
  Output output;
  std::vector<std::thread> readers;
  for (const auto& [pipe, into] : {std::pair(child.take_out(), &output.out), std::pair(child.take_err(), &output.err)})
    if (pipe >= 0) readers.emplace_back(read_to_end, pipe, std::ref(*into));
  bool is_late = false;
  for (std::optional<ProcessEnd> end; !(end = child.ended());) {
    is_late = options.seconds > 0 && std::chrono::duration<double>(Clock::now() - start).count() > options.seconds;
    if (is_late) {
      child.kill();
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  output.end = child.wait();
  output.end.is_late = is_late;
  for (std::thread& reader : readers) reader.join();
  return output;
}

Output ask_in_child(const std::function<int(int)>&, double) { throw CannotStart(kCopy, ENOSYS); }

}  // namespace pagoda::base
