// Result files: appended atomically, read despite torn lines, merged by key.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/statistics.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace {

void merge(ResultSet& set, std::map<std::string, std::size_t>& index, Result result) {
  for (const std::string& member : result.unknown)
    if (std::find(set.unknown.begin(), set.unknown.end(), member) == set.unknown.end()) set.unknown.push_back(member);
  const auto [it, is_new] = index.try_emplace(result.key, set.results.size());
  if (is_new) {
    set.results.push_back(std::move(result));
  } else {
    set.results[it->second] = std::move(result);
    ++set.duplicates;
  }
}

bool is_json(std::string_view text) {
  try {
    (void)base::parse_json(text, "", "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

void add_lines(ResultSet& set, std::map<std::string, std::size_t>& index, std::string_view text,
               std::string_view subject) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    // A line without its end is torn even if it happens to parse: some of its bytes may be missing.
    if (end == std::string_view::npos) {
      ++set.torn;
      return;
    }
    text.remove_prefix(end + 1);
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    try {
      merge(set, index, parse_result(line, subject));
    } catch (const Error& error) {
      if (!is_json(line))
        ++set.torn;
      else if (++set.unreadable == 1)
        set.unreadable_reason = error.what();
    }
  }
}

// Published one-way times within one cache are 16 to 51 ns, across two of one processor 85 to 154
// (github.com/nviennot/core-to-core-latency; those that it measures itself).
constexpr double kApartSeconds = 65e-9;

}  // namespace

CachePlacement placement(const Interference& interference) {
  const std::vector<double>& seconds = interference.handoff_seconds;
  const auto apart = std::count_if(seconds.begin(), seconds.end(), [](double each) { return each > kApartSeconds; });
  if (seconds.empty()) return CachePlacement::Unknown;
  if (apart == 0) return CachePlacement::Together;
  return static_cast<std::size_t>(apart) == seconds.size() ? CachePlacement::Apart : CachePlacement::Moved;
}

void append_result(const std::string& path, const Result& result) {
  const auto fail = [&](const char* what) { throw Error(path + ": cannot be " + what + ": " + std::strerror(errno)); };
  const base::OpenFile file = base::OpenFile::appended(path);
  if (!file) fail("opened");
  if (!file.lock()) fail("locked");
  // The line before may have been torn off by a crash.
  const auto there = file.state();
  if (!there) fail("read");
  char last = '\n';
  if (there->bytes > 0 && file.read_at(there->bytes - 1, {&last, 1}) != 1) fail("read");
  const std::string line = (last == '\n' ? "" : "\n") + write_result(result) + "\n";
  // Readers treat a partial line, as a full disk leaves it, as torn.
  if (!file.write(line)) fail("written whole");
  if (!file.sync()) fail("written to the disk");
}

ResultSet parse_results(std::string_view jsonl, std::string_view subject) {
  ResultSet set;
  std::map<std::string, std::size_t> index;
  add_lines(set, index, jsonl, subject);
  return set;
}

ResultSet load_results(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".jsonl" && entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(path);
  }
  ResultSet set;
  std::map<std::string, std::size_t> index;
  for (const fs::path& name : files) {
    const std::string text = base::read_file(name.string(), "results.jsonl of pagoda-bench, or its folder");
    add_lines(set, index, text, name.string());
  }
  return set;
}

}  // namespace pagoda::documents
