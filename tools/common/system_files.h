// Reads small files of /proc and /sys, below a root that tests can set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/cat.h"

namespace pagoda::tools {

class SystemFiles {
 public:
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  // The text without the final line end; empty if the file cannot be read.
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::int64_t> number(const std::string& path) const;
  std::optional<double> real(const std::string& path) const;
  // A field of a file; see field() below.
  std::optional<std::string> field(const std::string& path, std::string_view name) const;
  bool exists(const std::string& path) const;
  // Sorted names in a folder; empty if there is no such folder.
  std::vector<std::string> names(const std::string& folder) const;

  // Jiffies in a line of /proc/stat: all, and those stolen by the host for other machines.
  struct Jiffies {
    double all = 0, stolen = 0;
  };
  std::optional<Jiffies> jiffies(std::string_view cpu = "cpu") const;
  // The folder of this process in cgroup v2, or the root.
  std::string cgroup_folder() const;

 private:
  std::string root_;
};

// The value of a line "Name:  value" or "name value"; empty if no line begins with the name.
std::optional<std::string> field(std::string_view text, std::string_view name);
double steady_seconds();       // the time of the steady clock
std::string kernel_version();  // "Linux 6.1.0"; empty: unknown
// The CPUs that this process may run on.
std::vector<int> allowed_cpus();
// Pins the calling thread to `cpu`; changes nothing if that is not allowed.
void pin_to_cpu(int cpu);
std::vector<std::string> words(std::string_view text);
// "0-3,8" → 0 1 2 3 8.
std::vector<int> cpu_list(std::string_view text);
// Sorted numbers as ranges, the reverse of cpu_list(): "0-3,8".
template <typename Number = int>
std::string ranges(const std::vector<Number>& sorted) {
  std::string text;
  for (std::size_t i = 0, end; i < sorted.size(); i = end) {
    for (end = i + 1; end < sorted.size() && sorted[end] == sorted[end - 1] + 1;) ++end;
    text += cat(text.empty() ? "" : ",", sorted[i], end - i > 1 ? cat("-", sorted[end - 1]) : "");
  }
  return text;
}
// The file of a program in `path`, a list like PATH (empty: the environment's PATH), else in one of the folders; empty
// if not found.
std::string program_file(const std::string& name, const std::string& path = "",
                         const std::vector<std::string>& folders = {});

}  // namespace pagoda::tools
