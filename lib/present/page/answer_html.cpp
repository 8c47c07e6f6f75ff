#include "page/parts.h"

#include "draw/text.h"
#include "report/rows.h"

namespace pagoda::present::plot {
namespace {

// A table whose first column names the rows. A grid without headers gets no table head.
std::string table_html(const base::Grid& grid, const char* label) {
  const auto cell = [](const char* element, const base::Column& column, const std::string& text, const char* scope) {
    return std::string("<") + element + scope + (column.is_number ? " class=\"number\">" : ">") + xml(text) + "</" +
           element + ">";
  };
  std::string html = "<table aria-label=\"" + xml(label) + "\">";
  bool has_headers = false;
  for (const base::Column& column : grid.columns) has_headers = has_headers || !column.header.empty();
  if (has_headers) {
    html += "<thead><tr>";
    for (const base::Column& column : grid.columns) html += cell("th", column, column.header, " scope=\"col\"");
    html += "</tr></thead>";
  }
  html += "<tbody>";
  for (const std::vector<std::string>& row : grid.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      html += i == 0 ? cell("th", grid.columns[i], row[i], " scope=\"row\"") : cell("td", grid.columns[i], row[i], "");
    html += "</tr>";
  }
  return html + "</tbody></table>";
}

std::string section(const char* id, const char* title, const std::string& content) {
  return "<section class=\"answer\" id=\"" + std::string(id) + "\"><h2>" + title + "</h2>" + content + "</section>\n";
}

}  // namespace

std::string budgets_html(const documents::EstimateDocument& estimate) {
  if (!estimate.budgets) return {};
  return section("budgets", "Budgets", table_html(report::budgets_grid(*estimate.budgets), "Budgets"));
}

std::string answer_html(const documents::EstimateDocument& estimate) {
  const ReportOptions options;
  std::string tables = table_html(report::answer_grid(report::collect(estimate, options)), "Answer");
  if (estimate.training)
    tables += table_html(rows_grid(documents::RowKind::Part, estimate), "Training step") +
              table_html(report::training_memory_grid(*estimate.training), "Memory of a training step");
  return section("in-words", "Answer", tables);
}

}  // namespace pagoda::present::plot
