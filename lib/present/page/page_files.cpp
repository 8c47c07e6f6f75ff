#include "page/page_files.h"

#include <algorithm>
#include "draw/text.h"
#include "pagoda/base/text.h"

#include "pagoda/base/cat.h"
#include "pagoda/base/embedded_file.h"
#include "pagoda/base/sha256.h"

namespace pagoda::present::plot {

std::span<const base::EmbeddedFile> page_files();

namespace {

std::string_view file_text(std::string_view name) {
  const auto files = page_files();
  return std::ranges::find(files, name, &base::EmbeddedFile::name)->text;
}

std::string scripts(std::initializer_list<std::string_view> names) { return base::joined(names, "", file_text); }

}  // namespace

std::string page_file(std::string_view name, const std::map<std::string_view, std::string>& values) {
  std::string text;
  std::string_view rest = file_text(name);
  for (std::size_t hole = rest.find("{{"); hole != std::string_view::npos; hole = rest.find("{{")) {
    const std::size_t end = rest.find("}}", hole);
    text.append(rest.substr(0, hole)).append(values.at(rest.substr(hole + 2, end - hole - 2)));
    rest.remove_prefix(end + 2);
  }
  return text.append(rest);
}

std::string page_script() {
  return scripts({"kit.js", "data.js", "state.js", "roofline.js", "table.js", "hover.js", "structure.js", "timeline.js",
                  "types.js", "fusion.js", "energy.js", "compare.js", "tabs.js", "what_if.js", "main.js"});
}

std::string report_page_script() { return scripts({"kit.js", "report.js"}); }

std::string page_of(std::string_view title, const std::string& body, std::string_view script) {
  const std::string code = cat("\"use strict\";(()=>{", script, "})();\n"), style(file_text("page.css"));
  return page_file("page.html", {{"script_hash", base::base64(base::sha256(code))},
                                 {"style_hash", base::base64(base::sha256(style))},
                                 {"title", xml(title)},
                                 {"style", style},
                                 {"body", body},
                                 {"script", code}});
}

}  // namespace pagoda::present::plot
