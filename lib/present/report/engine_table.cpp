// Engines, machines and forms of a network: the verdict, a row each, and the reasons.
#include "pagoda/estimate/engine_table.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using estimate::EngineRow;
using estimate::EngineTable;
using Layout = base::JsonWriter::Layout;

constexpr std::string_view kOnnxRuntime = "onnxruntime-";

bool is_of_onnxruntime(const EngineTable& table) {
  return std::ranges::all_of(table.rows, [](const EngineRow& row) { return row.engine.starts_with(kOnnxRuntime); });
}

// How many values of a member the rows have.
template <typename Value>
std::size_t kinds(const EngineTable& table, const Value& value) {
  std::set<std::string> all;
  for (const EngineRow& row : table.rows) all.insert(value(row));
  return all.size();
}

std::string where(const EngineTable& table, const EngineRow& row) {
  const auto cpu = [](const EngineRow& each) { return each.is_on_cpu ? each.device : ""; };
  const bool has_one_cpu = kinds(table, cpu) <= 2;  // with "" of other rows
  if (row.is_on_cpu && has_one_cpu) return " on the CPU";
  return row.device.empty() ? "" : cat(" on ", base::printable(row.device));
}

// "int8 on the CPU", "resnet50_int8 (int8) under tensorrt on t4".
std::string label(const EngineTable& table, const EngineRow& row) {
  const std::string stem = base::printable(std::filesystem::path(row.model).stem().string());
  const auto model = [](const EngineRow& each) { return each.model; };
  const auto form = [](const EngineRow& each) { return each.form; };
  const auto both = [](const EngineRow& each) { return cat(each.model, "\n", each.form); };
  const bool is_form_enough = !row.form.empty() && kinds(table, form) == kinds(table, both);
  const bool is_model_enough = kinds(table, model) == kinds(table, both);
  const std::string what = is_form_enough                        ? row.form
                           : row.form.empty() || is_model_enough ? stem
                                                                 : cat(stem, " in ", row.form);
  const bool needs_engine = !is_of_onnxruntime(table) || row.device.empty();
  return cat(what, needs_engine ? cat(" under ", row.engine) : "", where(table, row));
}

std::string interval(const EngineRow& row) {
  return row.low && row.high ? cat(base::si_seconds(*row.low), " … ", base::si_seconds(*row.high)) : "";
}

// With its first reason, unless that is a long one.
std::string timed(const EngineTable& table, const EngineRow& row) {
  const std::string within = interval(row);
  const bool has_reason = !row.reasons.empty() && row.reasons.front().find(": ") == std::string::npos;
  return cat(label(table, row), " ", base::si_seconds(*row.seconds), within.empty() ? "" : cat(" (", within, ")"),
             has_reason ? cat(", where ", row.reasons.front()) : "");
}

std::string untimed(const EngineTable& table, const EngineRow& row) {
  return cat(label(table, row), " is not predicted",
             row.least_seconds ? cat(", at least ", base::si_seconds(*row.least_seconds)) : "");
}

std::string verdict_of(const EngineTable& table) {
  const auto is_predicted = [&](std::size_t i) { return table.rows[i].seconds.has_value(); };
  const auto predicted = static_cast<std::size_t>(std::ranges::count_if(table.rivals, is_predicted));
  const std::size_t open = table.rivals.size() - predicted;
  const std::string fastest = cat("fastest", table.fastest && open > 0 ? " of those predicted" : "",
                                  is_of_onnxruntime(table) ? " under ONNX Runtime" : "", ": ");
  if (!table.fastest) return cat(fastest, "not known, because nothing is predicted");
  std::string text = cat(fastest, timed(table, table.rows[*table.fastest]));
  if (predicted > 0) {
    text += cat("; ", timed(table, table.rows[table.rivals.front()]));
    text += predicted == 1 ? ": neither is sure" : cat("; and ", predicted - 1, " more: none is sure");
  } else {
    const EngineRow* next = nullptr;
    for (const EngineRow& row : table.rows) {
      if (&row == &table.rows[*table.fastest] || !row.seconds) continue;
      if (next == nullptr || *row.seconds < *next->seconds) next = &row;
    }
    if (next != nullptr) text += cat("; next ", timed(table, *next));
  }
  if (open == 1) return cat(text, "; ", untimed(table, table.rows[table.rivals.back()]));
  return open == 0 ? text : cat(text, "; ", open, " rows are not predicted");
}

struct EngineColumn {
  const char* name;    // in files
  const char* header;  // in tables; null: not there
  documents::CellKind kind;
  Cell (*of)(const EngineRow& row);
};

template <auto Member>
Cell text_of(const EngineRow& row) {
  return row.*Member;
}
template <auto Member>
Cell seconds_of(const EngineRow& row) {
  return cell_of(row.*Member);
}

// clang-format off
constexpr EngineColumn kEngineColumns[] = {
    {"model",             "model",     documents::CellKind::Text,    text_of<&EngineRow::model>},
    {"form",              "form",      documents::CellKind::Text,    text_of<&EngineRow::form>},
    {"engine",            "engine",    documents::CellKind::Text,    text_of<&EngineRow::engine>},
    {"device",            "device",    documents::CellKind::Text,    text_of<&EngineRow::device>},
    {"predicted_seconds", "predicted", documents::CellKind::Seconds, seconds_of<&EngineRow::seconds>},
    {"predicted_low",     "from",      documents::CellKind::Seconds, seconds_of<&EngineRow::low>},
    {"predicted_high",    "to",        documents::CellKind::Seconds, seconds_of<&EngineRow::high>},
    {"least_seconds",     "bound ≥",   documents::CellKind::Seconds, seconds_of<&EngineRow::least_seconds>},
    {"problem",           nullptr,     documents::CellKind::Text,    text_of<&EngineRow::problem>},
};
// clang-format on

base::Grid grid_of(const EngineTable& table) {
  base::Grid grid;
  for (const EngineColumn& column : kEngineColumns)
    if (column.header != nullptr)
      grid.columns.push_back({.header = column.header, .is_number = column.kind == documents::CellKind::Seconds});
  for (const EngineRow& row : table.rows) {
    std::vector<std::string>& cells = grid.rows.emplace_back();
    for (const EngineColumn& column : kEngineColumns)
      if (column.header != nullptr) cells.push_back(known_text(column.of(row), column.kind));
  }
  return grid;
}

// A line for each row that is not predicted or whose time has a reason.
std::string reasons_of(const EngineTable& table) {
  std::string text;
  for (const EngineRow& row : table.rows) {
    std::vector<std::string> all = row.reasons;
    if (!row.problem.empty()) all.insert(all.begin(), cat("not predicted: ", row.problem));
    for (const std::string& each : all) text += cat(label(table, row), ": ", each, "\n");
  }
  return text;
}

std::string engines_json(const EngineTable& table, const std::string& tool) {
  base::JsonWriter json;
  json.begin_object().member("schema", "pagoda.engines/1").member_if_any("tool", tool);
  json.member("verdict", verdict_of(table)).key("fastest");
  table.fastest ? json.value(*table.fastest) : json.null();
  json.member("rivals", table.rivals).key("rows").begin_array();
  for (const EngineRow& row : table.rows) {
    json.begin_object(Layout::Line);
    for (const EngineColumn& column : kEngineColumns)
      if (column.kind == documents::CellKind::Seconds)
        write_cell(json, column.name, column.of(row));
      else
        json.member_or_null(column.name, exact_text(column.of(row)));
    json.member("reasons", row.reasons).end_object();
  }
  json.end_array().end_object();
  return std::move(json).text();
}

std::string engines_csv(const EngineTable& table) {
  base::CsvLine header;
  for (const EngineColumn& column : kEngineColumns) header.add(column.name);
  std::string text = std::move(header).end();
  for (const EngineRow& row : table.rows) {
    base::CsvLine line;
    for (const EngineColumn& column : kEngineColumns)
      column.kind == documents::CellKind::Text ? line.name(exact_text(column.of(row)))
                                               : line.add(exact_text(column.of(row)));
    text += std::move(line).end();
  }
  return text;
}

}  // namespace

std::string engines_report(Format format, const EngineTable& table, const ReportOptions& options,
                           const std::string& tool) {
  if (format == Format::Json) return engines_json(table, tool);
  if (format == Format::Csv) return engines_csv(table);
  const std::string why = reasons_of(table);
  if (format == Format::Markdown)
    return cat("# ", verdict_of(table), "\n\n", report::markdown_table(grid_of(table)),
               why.empty() ? "" : cat("\n```\n", why, "```\n"));
  return cat(verdict_of(table), "\n\n", base::aligned(grid_of(table), options.width), "\n", why);
}

}  // namespace pagoda::present
