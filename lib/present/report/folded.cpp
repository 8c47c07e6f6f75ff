// Rows in which identical layers are merged, heaviest first.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "report/rows.h"

namespace pagoda::present::report {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends the name with every number replaced by '#'.
void append_without_numbers(std::string& text, std::string_view name) {
  const std::size_t begin = text.size();
  for (const char c : name)
    if (!is_digit(c))
      text += c;
    else if (text.size() == begin || text.back() != '#')
      text += '#';
}

// True if `name` has the pattern `a`, so that it leaves the common pattern as it is.
bool has_pattern(const std::string& a, std::string_view name) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < name.size()) {
    if (a[i] != '*') {
      if (a[i++] != name[j++]) return false;
    } else if (!is_digit(name[j])) {
      return false;
    } else {
      for (++i; j < name.size() && is_digit(name[j]); ++j) {
      }
    }
  }
  return i == a.size() && j == name.size();
}

}  // namespace

std::string common_name(const std::string& a, std::string_view b) {
  std::string name;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const bool is_number = (is_digit(a[i]) || a[i] == '*') && (is_digit(b[j]) || b[j] == '*');
    if (!is_number) {
      name += a[i++];
      ++j;
      continue;
    }
    const std::size_t begin_a = i, begin_b = j;
    while (i < a.size() && (is_digit(a[i]) || a[i] == '*')) ++i;
    while (j < b.size() && (is_digit(b[j]) || b[j] == '*')) ++j;
    const std::string_view number_a = std::string_view(a).substr(begin_a, i - begin_a);
    name += number_a == b.substr(begin_b, j - begin_b) ? std::string(number_a) : "*";
  }
  return name + a.substr(i);
}

std::string without_numbers(std::string_view name) {
  std::string text;
  append_without_numbers(text, name);
  return text;
}

void name_first(std::vector<Folded>& rows) {
  std::map<std::string, std::size_t> times;
  for (const Folded& row : rows) ++times[row.name];
  for (Folded& row : rows)
    if (row.times > 1 && (times[row.name] > 1 || row.name.find('/') == std::string::npos)) row.name = row.first + ", …";
}

namespace {

class Folder {
 public:
  // `seconds_taken`: what to weigh instead of the bound; empty: the bound.
  void add(std::string_view name, std::string_view ops, const EstimateCounts& counts, const RowBound* bound,
           std::optional<double> seconds_taken) {
    const double seconds = bound == nullptr ? 0 : bound->seconds;
    const double weight = seconds_taken      ? *seconds_taken
                          : bound == nullptr ? documents::real(counts.flops).value_or(0)
                                             : seconds;
    if (weight <= 0) return;
    key_.clear();
    append_without_numbers(key_, name);
    key_.append("\n").append(ops).append("\n").append(shown(counts.flops, counts.bytes, seconds));
    const auto [at, is_new] = places_.try_emplace(key_, rows_.size());
    if (is_new)
      rows_.push_back({.name = std::string(name), .first = std::string(name), .ops = std::string(ops), .bound = bound});
    Folded& row = rows_[at->second];
    if (!has_pattern(row.name, name)) row.name = common_name(row.name, name);
    ++row.times;
    row.weight += weight;
    total_ += weight;
  }

  FoldedRows take() {
    std::ranges::stable_sort(rows_, std::greater(), &Folded::weight);
    name_first(rows_);
    return {std::move(rows_), total_};
  }

 private:
  // Identical layers have the same numbers, so that their text is formed once.
  const std::string& shown(const Count& flops, const Count& bytes, double seconds) {
    const auto [at, is_new] = shown_.try_emplace({flops, bytes, seconds});
    if (is_new) at->second = cell(flops) + cell(bytes) + base::shortest(seconds);
    return at->second;
  }

  std::unordered_map<std::string, std::size_t> places_;
  std::map<std::tuple<Count, Count, double>, std::string> shown_;
  std::vector<Folded> rows_;
  std::string key_;
  double total_ = 0;
};

// Rows of a training step: each node by its forward and backward time, and the optimizer.
FoldedRows rows_of_step(const EstimateDocument& estimate) {
  Folder folder;
  std::vector<double> seconds(estimate.nodes.size(), 0);
  for (const documents::EstimateTraining::Row& row : estimate.training->rows) {
    if (row.bound.bound == Bound::Unknown) continue;
    if (row.part == "optimizer")
      folder.add("optimizer", to_string(estimate.training->optimizer), {}, &row.bound, row.bound.seconds);
    else
      seconds[row.node] += row.bound.seconds;
  }
  for (const EstimateNode& node : estimate.nodes)
    folder.add(node.shown_name().view(), node.op_type, node.counts, estimate.bound_of(node), seconds[node.index]);
  return folder.take();
}

}  // namespace

FoldedRows folded_rows(const EstimateDocument& estimate) {
  if (estimate.training && estimate.training->time) return rows_of_step(estimate);
  Folder folder;
  for (const Row& row :
       documents::rows_of(estimate, estimate.traffic ? documents::RowKind::Kernel : documents::RowKind::Node)) {
    const EstimateNode& main = *row.main_node();
    const std::size_t others = row.kernel == nullptr ? 0 : row.kernel->nodes.size() - 1;
    const std::string ops = main.op_type + (others == 0 ? "" : " + " + std::to_string(others));
    folder.add(main.shown_name().view(), ops, *row.counts, row.bound, row.predicted_seconds);
  }
  return folder.take();
}

}  // namespace pagoda::present::report
