#include "system_files.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include "pagoda/base/number.h"

namespace pagoda::tools {

namespace fs = std::filesystem;

namespace {

constexpr int kMostCpus = 1 << 16;

// A set of all CPUs that a kernel may number; one cpu_set_t holds the first 1,024.
struct CpuSet {
  std::vector<cpu_set_t> sets = std::vector<cpu_set_t>(kMostCpus / CPU_SETSIZE);  // all bits are 0
  std::size_t bytes() const { return sets.size() * sizeof(cpu_set_t); }
};

}  // namespace

std::optional<std::string> SystemFiles::text(const std::string& path) const {
  std::ifstream stream(root_ + path, std::ios::binary);
  if (!stream) return std::nullopt;
  std::string content(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) return std::nullopt;
  while (!content.empty() && (content.back() == '\n' || content.back() == '\0')) content.pop_back();
  return content;
}

std::optional<std::int64_t> SystemFiles::number(const std::string& path) const {
  return base::leading_number<std::int64_t>(text(path).value_or(""));
}

std::optional<double> SystemFiles::real(const std::string& path) const {
  return base::leading_number<double>(text(path).value_or(""));
}

bool SystemFiles::exists(const std::string& path) const {
  std::error_code ignored;
  return fs::exists(root_ + path, ignored);
}

std::vector<std::string> SystemFiles::names(const std::string& folder) const {
  std::vector<std::string> result;
  std::error_code failed;
  for (fs::directory_iterator at(root_ + folder, failed), end; !failed && at != end; at.increment(failed))
    result.push_back(at->path().filename().string());
  std::ranges::sort(result);
  return result;
}

std::optional<std::string> SystemFiles::field(const std::string& path, std::string_view name) const {
  return tools::field(text(path).value_or(""), name);
}

std::optional<std::string> field(std::string_view text, std::string_view name) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::size_t at = line.find_first_not_of(" \t", name.size());
    if (at == name.size() && line[at] != ':') continue;  // a longer name
    if (at != std::string::npos && line[at] == ':') at = line.find_first_not_of(" \t", at + 1);
    return at == std::string::npos ? "" : line.substr(at);
  }
  return std::nullopt;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string kernel_version() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release : "";
}

std::optional<SystemFiles::Jiffies> SystemFiles::jiffies(std::string_view cpu) const {
  const std::vector<std::string> fields = words(field("/proc/stat", cpu).value_or(""));
  if (fields.size() < 8) return std::nullopt;
  Jiffies result;
  // user nice system idle iowait irq softirq steal; user and nice already include guest and guest_nice, which follow.
  const auto jiffies = [&](std::size_t i) { return base::parse_number<double>(fields[i]).value_or(0); };
  for (std::size_t i = 0; i < 8; ++i) result.all += jiffies(i);
  result.stolen = jiffies(7);
  return result;
}

std::string SystemFiles::cgroup_folder() const {
  std::string path = field("/proc/self/cgroup", "0:").value_or("");
  if (path.starts_with(':')) path.erase(0, 1);
  const std::string folder = "/sys/fs/cgroup" + (path == "/" ? "" : path);
  return exists(folder) ? folder : "/sys/fs/cgroup";
}

std::vector<int> allowed_cpus() {
  CpuSet set;
  std::vector<int> result;
  if (sched_getaffinity(0, set.bytes(), set.sets.data()) != 0) return result;
  for (int cpu = 0; cpu < kMostCpus; ++cpu)
    if (CPU_ISSET_S(cpu, set.bytes(), set.sets.data())) result.push_back(cpu);
  return result;
}

void pin_to_cpu(int cpu) {
  CpuSet set;
  CPU_SET_S(cpu, set.bytes(), set.sets.data());
  sched_setaffinity(0, set.bytes(), set.sets.data());
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<int> cpu_list(std::string_view text) {
  std::vector<int> result;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto from = base::parse_number<int>(part.substr(0, dash));
    const auto to = dash == std::string::npos ? from : base::parse_number<int>(part.substr(dash + 1));
    if (!from || !to || *from < 0) continue;
    for (int cpu = *from; cpu <= *to && cpu < kMostCpus; ++cpu) result.push_back(cpu);
  }
  return result;
}

std::string program_file(const std::string& name, const std::string& path, const std::vector<std::string>& folders) {
  std::vector<std::string> places;
  const char* environment = std::getenv("PATH");
  std::istringstream parts(!path.empty() ? path : environment ? environment : "/bin:/usr/bin");
  for (std::string part; std::getline(parts, part, ':');) places.push_back(part.empty() ? "." : part);
  places.insert(places.end(), folders.begin(), folders.end());
  for (const std::string& place : places) {
    const std::string file = place + "/" + name;
    std::error_code ignored;
    if (access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, ignored)) return file;
  }
  return "";
}

}  // namespace pagoda::tools
