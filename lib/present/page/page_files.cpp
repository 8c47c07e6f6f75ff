#include "page/page_files.h"

#include "draw/text.h"
#include "pagoda/base/embedded_file.h"
#include "pagoda/base/sha256.h"

namespace pagoda::present::plot {

std::span<const base::EmbeddedFile> page_files();

namespace {

std::string joined(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names)
    for (const base::EmbeddedFile& file : page_files())
      if (file.name == name) text += file.text;
  return text;
}

}  // namespace

std::string page_script() {
  return joined({"kit.js", "data.js", "state.js", "roofline.js", "table.js", "hover.js", "structure.js", "timeline.js",
                 "types.js", "fusion.js", "energy.js", "compare.js", "tabs.js", "what_if.js", "main.js"});
}

std::string report_page_script() { return joined({"kit.js", "report.js"}); }

std::string page_style() { return joined({"page.css"}); }

std::string page_of(std::string_view title, std::string_view body, std::string_view script) {
  const std::string code = "\"use strict\";(()=>{" + std::string(script) + "})();\n", style = page_style();
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-" +
          base::base64(base::sha256(code)) + "'; style-src 'sha256-" + base::base64(base::sha256(style)) +
          "'; img-src blob:; base-uri 'none'; form-action 'none'\">\n";
  html +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" + xml(title) + "</title>\n";
  html += "<style>" + style + "</style>\n</head>\n<body>\n";
  return html.append(body).append("<script>" + code + "</script>\n</body>\n</html>\n");
}

}  // namespace pagoda::present::plot
