// Reads the records of the injected library (format: tools/profile/inject/record_file.h).
#include "pagoda/measured/record.h"

#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/record_line.h"

namespace pagoda::measured::profile {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view subject) : subject_(subject) {}

  void line(const std::vector<std::string>& words) {
    ++line_;
    const std::string& kind = words.front();
    const std::size_t n = words.size();
    if (line_ == 1) {
      if (n < 2 || kind != "pagoda.record" || words[1] != "1") fail("is not a pagoda.record of version 1");
    } else if (kind == "process" && n >= 3) {
      record_.process = words[1];
      record_.command = words[2];
    } else if (kind == "device" && n >= 4) {
      add_once(record_.chips, words[2]);
      add_once(record_.devices, words[3]);
      record_.device_of[words[1]] = {words[2], words[3], {}};
    } else if (kind == "peak" && n >= 4) {
      record_.device_of[words[1]].peaks[words[2]] = number<double>(words[3]);
    } else if (kind == "group" && n >= 3) {
      current_[words[1] + '\t' + words[2]] = record_.metrics.size();
      record_.metrics.emplace_back(words.begin() + 3, words.end());
    } else if (kind == "launch" && n >= 9) {
      launch(words);
    } else if (kind == "lost" && n >= 3) {
      const auto lost = number<std::int64_t>(words[1]);
      if (lost < 0 || __builtin_add_overflow(record_.lost_launches, lost, &record_.lost_launches))
        fail(words[1] + " lost launches are not credible, expected a number from 0 on");
      record_.lost.push_back({words[1] + " launches", words[2]});
    } else if (kind == "cupti" && n >= 2) {
      record_.cupti = words[1];
    } else if (kind == "note" && n >= 2) {
      add_once(record_.notes, words[1]);
    } else if (kind == "range" && n >= 3) {
      record_.ranges.push_back(words[1]);
    } else if (kind == "energy" && n >= 3) {
      record_.joules = number<double>(words[1]);
      record_.seconds = number<double>(words[2]);
    } else if (kind == "end") {
      record_.has_ended = true;
    } else {
      fail("\"" + kind + "\" is not a known line of a record");
    }
  }
  ProcessRecord finish() && {
    if (line_ == 0) fail("is empty");
    return std::move(record_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(cat(subject_, ", line ", line_, ": ", what)); }
  template <typename Number>
  Number number(const std::string& word) const {
    const auto value = base::parse_number<Number>(word);
    if (!value) fail(cat("\"", word, "\" is not a number"));
    return *value;
  }
  static void add_once(std::vector<std::string>& all, const std::string& text) {
    if (std::ranges::find(all, text) == all.end()) all.push_back(text);
  }
  void launch(const std::vector<std::string>& words) {
    RecordedLaunch launch{.context = words[1],
                          .kernel = words[5],
                          .nvtx = words[6],
                          .node = words[7],
                          .detail = words[8],
                          .group = number<std::int64_t>(words[2]),
                          .iteration = number<std::int64_t>(words[3]),
                          .kernels = number<std::int64_t>(words[4]),
                          .values = {}};
    for (std::size_t i = 9; i < words.size(); ++i) launch.values.push_back(number<double>(words[i]));
    const auto found = current_.find(words[1] + '\t' + words[2]);
    if (!launch.values.empty()) {
      if (found == current_.end() || record_.metrics[found->second].size() != launch.values.size())
        fail(cat("a launch has ", launch.values.size(), " values, which is not its group's number"));
      launch.metrics = found->second;
    }
    record_.launches.push_back(std::move(launch));
  }

  std::string_view subject_;
  std::size_t line_ = 0;
  ProcessRecord record_;
  std::map<std::string, std::size_t> current_;  // by context and group
};

}  // namespace

ProcessRecord parse_record(std::string_view text, std::string_view subject) {
  Reader reader(subject);
  // Text after the last line end is an incomplete line.
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    reader.line(base::split_line(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return std::move(reader).finish();
}

}  // namespace pagoda::measured::profile
