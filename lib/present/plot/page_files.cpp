#include "plot/page_files.h"

#include "pagoda/base/embedded_file.h"

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
  return joined({"data.js", "state.js", "roofline.js", "table.js", "hover.js", "structure.js", "timeline.js",
                 "what_if.js", "main.js"});
}

std::string page_style() { return joined({"page.css"}); }

}  // namespace pagoda::present::plot
