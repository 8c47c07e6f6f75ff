// Two measured runs side by side: time by part, by change of kernels and by block, and what is not compared.
#include "pagoda/present/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/plural.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::MeasuredBasis, documents::MeasuredKernel;
using measured::Both, measured::ModelRun, measured::RunBlock, measured::RunComparison;
using Layout = base::JsonWriter::Layout;

// Compared blocks that are alike in something.
struct Sum {
  std::string name;
  std::string first = {}, pattern = {};       // name of the first block, and what the names have in common
  Both<std::vector<std::string>> types = {};  // of the first block
  std::size_t blocks = 0;
  Both<double> seconds = {};
  double change() const { return seconds[1] - seconds[0]; }
};

// The compared blocks by a key, the largest change first. Blocks with an empty key are left out.
template <typename Key>
std::vector<Sum> summed(const RunComparison& comparison, Key key_of) {
  std::vector<Sum> sums;
  std::map<std::string, std::size_t> places;
  for (const RunBlock& block : comparison.blocks) {
    const std::string key = block.is_joined() ? key_of(block) : "";
    if (key.empty()) continue;
    const auto [place, is_new] = places.try_emplace(key, sums.size());
    if (is_new) sums.push_back({.name = key, .first = block.name, .pattern = block.name, .types = block.types});
    Sum& sum = sums[place->second];
    sum.pattern = report::common_name(sum.pattern, block.name);
    ++sum.blocks;
    for (std::size_t run = 0; run < 2; ++run) sum.seconds[run] += *block.seconds[run];
  }
  std::ranges::stable_sort(sums, {}, [](const Sum& sum) { return -std::abs(sum.change()); });
  return sums;
}

// "Conv + DequantizeLinear ×3".
std::string types_text(const std::vector<std::string>& types) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& type : types) ++counts[type];
  return base::joined(counts, " + ", [](const auto& each) {
    return each.second == 1 ? base::printable(each.first) : cat(base::printable(each.first), " ×", each.second);
  });
}

// "Conv → QLinearConv"; once if both are alike.
std::string types_text(const RunBlock& block) {
  const std::string first = types_text(block.types[0]), second = types_text(block.types[1]);
  return first == second ? first : cat(first, " → ", second);
}

std::vector<Sum> parts_of(const RunComparison& comparison) {
  return summed(comparison, [](const RunBlock& block) { return block.part; });
}
// By what their kernels became.
std::vector<Sum> changes_of(const RunComparison& comparison) {
  return summed(comparison, [](const RunBlock& block) {
    return types_text(block.types[0]) == types_text(block.types[1]) ? "" : types_text(block);
  });
}

std::string signed_seconds(double seconds) { return (seconds < 0 ? "-" : "+") + base::si_seconds(std::abs(seconds)); }

std::string both_seconds(const Both<double>& seconds) {
  return cat(base::si_seconds(seconds[0]), " → ", base::si_seconds(seconds[1]));
}

std::string percent(double part, double whole) { return whole > 0 ? report::percent_of(part, whole) : "?"; }

std::string basis_text(MeasuredBasis basis) {
  switch (basis) {
    case MeasuredBasis::Run:
      return " a run";
    case MeasuredBasis::Busy:
      return " in which kernels ran";
    case MeasuredBasis::Kernels:
      return " in all kernels";
  }
  return "";
}

std::vector<std::string> remarks_of(const RunComparison& comparison) {
  std::vector<std::string> remarks;
  if (comparison.basis != MeasuredBasis::Kernels)
    remarks.push_back(cat("kernels add up to ", both_seconds(comparison.kernel_seconds)));
  const auto share = [&](std::size_t run) {
    return percent(comparison.joined_seconds[run], comparison.kernel_seconds[run]);
  };
  remarks.push_back(cat("compared: kernels of ", share(0), " of the time of ", comparison.runs[0].name, ", ", share(1),
                        " of ", comparison.runs[1].name));
  if (comparison.between_seconds[0] + comparison.between_seconds[1] > 0)
    remarks.push_back(cat(
        "of this, what the engine put between kernels (layouts, types, reshapes), counted with the kernel before or "
        "after: ",
        both_seconds(comparison.between_seconds)));
  constexpr double kLittle = 0.5;
  for (std::size_t run = 0; run < 2; ++run)
    if (comparison.joined_seconds[run] < kLittle * comparison.kernel_seconds[run])
      remarks.push_back(
          cat("most of ", comparison.runs[run].name, " is not compared: is its estimate that of the file that ran?"));
  remarks.insert(remarks.end(), comparison.remarks.begin(), comparison.remarks.end());
  return remarks;
}

base::Grid sums_grid(const char* what, const RunComparison& comparison, const std::vector<Sum>& sums, std::size_t top) {
  base::Grid grid;
  grid.columns = {
      {.header = what, .shortest_width = 24},  {.header = "blocks", .is_number = true, .drop_order = 1},
      {.header = "before", .is_number = true}, {.header = "after", .is_number = true},
      {.header = "change", .is_number = true}, {.header = "% of before", .is_number = true, .drop_order = 2}};
  for (std::size_t i = 0; i < std::min(top, sums.size()); ++i) {
    const Sum& sum = sums[i];
    grid.rows.push_back({base::printable(sum.name), sum.blocks == 0 ? "" : std::to_string(sum.blocks),
                         base::si_seconds(sum.seconds[0]), base::si_seconds(sum.seconds[1]),
                         signed_seconds(sum.change()), percent(sum.change(), comparison.seconds[0])});
  }
  return grid;
}

// Parts, the kernels that are not compared, and what lies between kernels or in medians that do not add up.
std::vector<Sum> account_of(const RunComparison& comparison) {
  std::vector<Sum> rows = parts_of(comparison);
  Sum other{.name = "not compared"};
  for (const measured::UnjoinedRunTime& each : comparison.unjoined) other.seconds[each.run] += each.seconds.value_or(0);
  if (!comparison.unjoined.empty()) rows.push_back(other);
  if (comparison.basis != MeasuredBasis::Kernels) {
    Both<double> rest = comparison.seconds;
    for (std::size_t run = 0; run < 2; ++run) rest[run] -= comparison.kernel_seconds[run];
    if (rest[0] >= 0 && rest[1] >= 0) rows.push_back({.name = "rest of the run", .seconds = rest});
  }
  return rows;
}

// Blocks as rows; those whose names differ only in numbers, with the same kernels, are one.
std::vector<Sum> block_rows(const RunComparison& comparison) {
  std::vector<Sum> rows = summed(comparison, [](const RunBlock& block) {
    return cat(report::without_numbers(block.name), "\n", types_text(block));
  });
  for (Sum& row : rows) {
    const bool has_path = row.first.find('/') != std::string::npos;
    row.name = row.blocks == 1 ? row.first : cat(has_path ? row.pattern : row.first + ", …", " ×", row.blocks);
  }
  return rows;
}

base::Grid blocks_grid(const RunComparison& comparison, std::size_t top) {
  const std::vector<Sum> rows = block_rows(comparison);
  base::Grid grid = sums_grid("block", comparison, rows, top);
  grid.columns[1] = {.header = "kernels", .shortest_width = 16};
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    const std::string first = types_text(rows[i].types[0]), second = types_text(rows[i].types[1]);
    grid.rows[i][1] = first == second ? first : cat(first, " → ", second);
  }
  return grid;
}

base::Grid unjoined_grid(const RunComparison& comparison) {
  base::Grid grid;
  grid.columns = {{.header = "not compared", .shortest_width = 16},
                  {.header = "cause", .shortest_width = 24},
                  {.header = "kernels", .is_number = true},
                  {.header = "time", .is_number = true},
                  {.header = "% of its kernels", .is_number = true},
                  {.header = "most of it", .drop_order = 1, .shortest_width = 12}};
  for (const measured::UnjoinedRunTime& each : comparison.unjoined)
    grid.rows.push_back({base::printable(comparison.runs[each.run].name), base::printable(each.cause),
                         std::to_string(each.kernels), each.seconds ? base::si_seconds(*each.seconds) : "?",
                         each.seconds ? percent(*each.seconds, comparison.kernel_seconds[each.run]) : "?",
                         base::printable(each.example)});
  return grid;
}

// The names of the block's nodes, or of its kernels.
std::vector<std::string> names_of(const RunComparison& comparison, const RunBlock& block, std::size_t run,
                                  bool of_kernels) {
  std::vector<std::string> names;
  const ModelRun& of = comparison.runs[run];
  if (of_kernels)
    for (const std::size_t kernel : block.kernels[run]) names.push_back(of.measured.kernels[kernel].name);
  else
    for (const std::size_t node : block.nodes[run]) names.emplace_back(of.estimate->nodes[node].shown_name());
  return names;
}

// A member with a list for each run.
template <typename ListOf>
void write_lists(base::JsonWriter& json, const char* name, ListOf list_of) {
  json.key(name).begin_array(Layout::Line);
  for (const std::size_t run : {std::size_t{0}, std::size_t{1}}) json.value(list_of(run));
  json.end_array();
}

}  // namespace

std::string runs_verdict(const RunComparison& comparison) {
  constexpr double kAlike = 1.005, kWorthSaying = 0.01;
  constexpr std::size_t kMostParts = 3;
  const auto& [before, after] = comparison.seconds;
  const std::string &first = comparison.runs[0].name, &second = comparison.runs[1].name;
  const double factor = std::max(before / after, after / before);
  std::string text = cat(comparison.are_apart.value_or(true) ? "" : "the median run of ", second);
  text += factor < kAlike
              ? cat(" takes as long as ", first)
              : cat(" is ", base::rounded(factor), "× ", after < before ? "faster" : "slower", " than ", first);
  text += cat(": ", both_seconds(comparison.seconds), basis_text(comparison.basis));
  std::vector<std::string> parts;
  for (const Sum& part : parts_of(comparison))
    if (parts.size() < kMostParts && std::abs(part.change()) >= kWorthSaying * before)
      parts.push_back(cat(base::printable(part.name), " ", signed_seconds(part.change())));
  return parts.empty() ? text : cat(text, "; ", base::joined(parts));
}

std::string runs_table(const RunComparison& comparison, std::size_t top, std::size_t width) {
  std::string text = runs_verdict(comparison) + "\n";
  for (const std::string& remark : remarks_of(comparison)) text += "- " + remark + "\n";
  const auto add = [&](const base::Grid& grid) {
    if (!grid.rows.empty()) text += "\n" + base::aligned(grid, width);
  };
  const std::vector<Sum> account = account_of(comparison), changes = changes_of(comparison);
  add(sums_grid("part", comparison, account, account.size()));
  add(sums_grid("kernels that changed", comparison, changes, top));
  add(blocks_grid(comparison, top));
  add(unjoined_grid(comparison));
  return text;
}

std::string runs_csv(const RunComparison& comparison) {
  std::string text = base::csv_line({"name", "part", "nodes_a", "nodes_b", "kernels_a", "kernels_b", "types_a",
                                     "types_b", "seconds_a", "seconds_b", "change_seconds", "not_compared"});
  const auto listed = [](const std::vector<std::string>& names) { return base::joined(names, ";"); };
  for (const RunBlock& block : comparison.blocks) {
    base::CsvLine line;
    line.name(block.name).name(block.part);
    for (const bool of_kernels : {false, true})
      for (std::size_t run = 0; run < 2; ++run) line.name(listed(names_of(comparison, block, run, of_kernels)));
    for (const std::vector<std::string>& types : block.types) line.name(listed(types));
    for (const documents::Amount& seconds : block.seconds) line.add(seconds);
    line.add(block.is_joined() ? documents::Amount(block.change()) : std::nullopt).add(block.cause);
    text += std::move(line).end();
  }
  for (std::size_t run = 0; run < 2; ++run) {
    std::set<std::size_t> taken;
    for (const RunBlock& block : comparison.blocks) taken.insert(block.kernels[run].begin(), block.kernels[run].end());
    const std::vector<MeasuredKernel>& kernels = comparison.runs[run].measured.kernels;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (taken.contains(i)) continue;
      const MeasuredKernel& kernel = kernels[i];
      base::CsvLine line;
      const auto pair = [&](const auto& value) {
        for (std::size_t side = 0; side < 2; ++side) side == run ? line.add(value) : line.add("");
      };
      line.name(kernel.name).add("").add("").add("");
      pair(base::printable(kernel.name)), pair(base::printable(kernel.op_type)), pair(kernel.seconds);
      line.add("").add(kernel.unjoined);
      text += std::move(line).end();
    }
  }
  return text;
}

std::string runs_json(const RunComparison& comparison, const std::string& tool) {
  base::JsonWriter json;
  json.begin_object().member("schema", "pagoda.comparison/1").member_if_any("tool", tool);
  json.member("measured", comparison.runs[0].name).member("against", comparison.runs[1].name);
  json.member("verdict", runs_verdict(comparison)).key("remarks").begin_array();
  for (const std::string& remark : remarks_of(comparison)) json.value(remark);
  json.end_array().member("basis", to_string(comparison.basis)).member("seconds", comparison.seconds);
  json.member("kernel_seconds", comparison.kernel_seconds);
  Both<documents::Amount> joined;
  for (std::size_t run = 0; run < 2; ++run)
    joined[run] = documents::ratio(comparison.joined_seconds[run], comparison.kernel_seconds[run]);
  json.member("joined", joined);
  const auto write_sums = [&](const char* name, const std::vector<Sum>& sums, bool has_types) {
    json.key(name).begin_array();
    for (const Sum& sum : sums) {
      json.begin_object(Layout::Line);
      if (has_types)
        json.member("types", sum.types);
      else
        json.member("name", sum.name);
      json.member("blocks", sum.blocks).member("seconds", sum.seconds).end_object();
    }
    json.end_array();
  };
  write_sums("parts", parts_of(comparison), false);
  write_sums("changes", changes_of(comparison), true);
  json.key("blocks").begin_array();
  for (const RunBlock& block : comparison.blocks) {
    json.begin_object(Layout::Line).member("name", block.name).member("part", block.part);
    for (const auto& [name, of_kernels] : {std::pair{"nodes", false}, {"kernels", true}})
      write_lists(json, name, [&, of = of_kernels](std::size_t run) { return names_of(comparison, block, run, of); });
    json.member("types", block.types).member("seconds", block.seconds).member_if_any("cause", block.cause).end_object();
  }
  json.end_array().key("unjoined").begin_array();
  for (const measured::UnjoinedRunTime& each : comparison.unjoined)
    json.begin_object(Layout::Line)
        .member("cause", each.cause)
        .member("run", each.run == 0 ? "measured" : "against")
        .member("kernels", each.kernels)
        .member("seconds", each.seconds)
        .end_object();
  json.end_array().end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present
