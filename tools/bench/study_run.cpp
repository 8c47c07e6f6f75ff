// The loop over experiments and its progress display.
#include "study_run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/study.h"

namespace pagoda::tools::bench {
namespace {

namespace fs = std::filesystem;

// "2 h 5 min", "40 s".
std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) return cat(whole / 3600, " h ", whole % 3600 / 60, " min");
  return whole >= 60 ? cat(whole / 60, " min ", whole % 60, " s") : cat(whole, " s");
}

// Rewrites one line on a terminal; prints nothing elsewhere.
class Progress {
 public:
  bool is_shown() const { return is_terminal_; }
  void show(std::size_t at, std::size_t of, const std::string& what, std::int64_t not_ok, double left) {
    line_ = cat("[", at, "/", of, "] ", base::printable(what), not_ok > 0 ? cat(", ", not_ok, " not ok") : "",
                left > 0 ? cat(", ", duration(left), " left") : "");
    show_stage("");
  }
  // The line, and what its worker is doing.
  void show_stage(const std::string& stage) const {
    if (!is_terminal_) return;
    std::fprintf(stderr, "\r\x1b[K%s%s", line_.c_str(), stage.empty() ? "" : (": " + base::printable(stage)).c_str());
    std::fflush(stderr);
  }
  ~Progress() {
    if (is_terminal_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string line_;
};

void await_interrupt(double seconds) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(std::llround(seconds * 1e3));
  while (!interrupted && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// Allows one runner per folder and results file. Held until the object is destroyed or the process ends.
class FolderLock {
 public:
  FolderLock(const std::string& folder, const std::string& name) {
    const std::string path = folder + "/." + name + ".lock";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) throw Error(cat(path, ": cannot be opened: ", std::strerror(errno)));
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      ::close(fd_);
      throw Error(cat(folder, ": another pagoda-bench writes ", name, " there; wait for it or choose another folder"));
    }
  }
  ~FolderLock() { ::close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

std::vector<documents::Result> records_without(const std::string& folder, const std::set<std::string>& retry) {
  std::vector<documents::Result> records = documents::load_results(folder).results;
  std::erase_if(records, [&](const documents::Result& r) { return retry.contains(std::string(to_string(r.status))); });
  return records;
}

std::set<std::string> keys_of(const auto& keyed) {
  std::set<std::string> keys;
  for (const auto& each : keyed) keys.insert(each.key);
  return keys;
}

}  // namespace

bool run_study(const PlanFile& plan, const Workers& workers, const StudyOptions& options) {
  const FolderLock lock(options.folder, options.results);
  documents::ResultSet done;
  if (options.resume) done.results = records_without(options.folder, options.retry);
  std::set<std::string> finished = keys_of(done.results);
  std::int64_t not_ok = 0;
  Progress progress;
  RunOptions run = options.run;
  if (progress.is_shown()) run.shows_stage = [&](const std::string& stage) { progress.show_stage(stage); };
  for (const documents::Experiment& experiment : plan.experiments) {
    if (finished.contains(experiment.key)) continue;
    const lab::StudyStatus status = lab::study_status(plan.experiments, done);
    progress.show(static_cast<std::size_t>(&experiment - plan.experiments.data()) + 1, plan.experiments.size(),
                  documents::config_label(experiment.config), not_ok, status.seconds_left.value_or(0));
    std::optional<documents::Result> result = run_experiment(experiment, workers, run);
    if (result && options.grace_seconds > 0 &&
        (result->status == documents::ResultStatus::Killed || result->status == documents::ResultStatus::Failed)) {
      await_interrupt(options.grace_seconds);
      if (interrupted) result.reset();
    }
    if (!result) return false;
    documents::append_result(options.folder + "/" + options.results, *result);
    not_ok += result->status != documents::ResultStatus::Ok;
    finished.insert(result->key);
    done.results.push_back(std::move(*result));
  }
  return true;
}

std::set<std::string> recorded_keys(const std::string& folder, const std::set<std::string>& retry) {
  return fs::exists(folder) ? keys_of(records_without(folder, retry)) : std::set<std::string>();
}

documents::ResultSet records_of(const PlanFile& plan, const std::string& folder) {
  documents::ResultSet records = documents::load_results(folder);
  const std::set<std::string> keys = keys_of(plan.experiments);
  std::erase_if(records.results, [&](const documents::Result& r) { return !keys.contains(r.key); });
  return records;
}

// Lists each reason for failure once, with the first experiment that has it.
std::string why_not_ok(const documents::ResultSet& results) {
  constexpr std::size_t kReasons = 8, kLongest = 200;
  std::vector<std::pair<const documents::Result*, std::size_t>> reasons;  // the first, and their number
  for (const documents::Result& r : results.results) {
    if (r.status == documents::ResultStatus::Ok) continue;
    const auto found = std::ranges::find_if(
        reasons, [&](const auto& known) { return known.first->status == r.status && known.first->reason == r.reason; });
    if (found != reasons.end())
      ++found->second;
    else
      reasons.emplace_back(&r, 1);
  }
  std::ostringstream out;
  for (std::size_t i = 0; i < std::min(kReasons, reasons.size()); ++i) {
    const auto& [result, count] = reasons[i];
    const std::string line = result->reason.substr(0, result->reason.find('\n'));
    out << "not ok       " << documents::config_label(result->config);
    if (count > 1) out << " and " << count - 1 << (count == 2 ? " other" : " others");
    out << ": " << (line.size() > kLongest ? line.substr(0, kLongest) + "…" : line) << '\n';
  }
  if (reasons.size() > kReasons) out << "not ok       for " << reasons.size() - kReasons << " more reasons\n";
  return out.str();
}

std::string status_text(const PlanFile& plan, const documents::ResultSet& results) {
  const lab::StudyStatus status = lab::study_status(plan.experiments, results);
  std::ostringstream out;
  out << "experiments  " << status.total << '\n' << "ok           " << status.ok << '\n';
  for (const auto& [name, count] : status.not_ok)
    out << name << std::string(13 - std::min<std::size_t>(12, name.size()), ' ') << count << '\n';
  out << "left         " << status.left;
  if (status.left > 0 && status.seconds_left) out << ", about " << duration(*status.seconds_left);
  out << '\n';
  if (!plan.unsupported.empty()) out << "unsupported  " << plan.unsupported.size() << " (--list names them)\n";
  if (results.torn > 0) out << "torn lines   " << results.torn << ", to be run again\n";
  if (results.unreadable > 0)
    out << "unreadable   " << results.unreadable << ", to be run again: " << results.unreadable_reason << '\n';
  if (results.duplicates > 0) out << "superseded   " << results.duplicates << " earlier lines of the same keys\n";
  out << why_not_ok(results);
  return out.str();
}

}  // namespace pagoda::tools::bench
