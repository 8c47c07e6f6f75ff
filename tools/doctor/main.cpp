// pagoda-doctor: checks what this machine offers to measurements, what disturbs them, and how to fix it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>

#include "doctor.h"
#include "pagoda/base/text.h"
#include "tool.h"

namespace pagoda::tools::doctor {
namespace {

constexpr const char* kExamples = R"(Examples:
  pagoda-doctor                                       everything, with remedies
  pagoda-doctor --need counters && pagoda-profile …   exit 4 where the counters cannot be read
  pagoda-doctor --strict --json doctor.json           exit 3 where anything disturbs; keep the report with the results

Exit codes: 0 done, 1 unusable output, 2 usage, 3 warnings or problems (--strict), 4 a need is not met (--need).)";

// A possible need of a program: the findings that must be neither a problem nor absent.
struct Need {
  const char* name;
  std::array<const char*, 4> findings;
};
constexpr std::array<Need, 6> kNeeds = {{
    {"gpu", {"gpu.driver", "gpu.devices", "gpu.cuda", ""}},
    {"counters", {"gpu.cuda", "gpu.privilege", "gpu.counter_users", "software.cupti"}},
    {"ncu", {"gpu.cuda", "gpu.privilege", "software.ncu", ""}},
    {"onnxruntime", {"software.onnxruntime", "", "", ""}},
    {"pytorch", {"software.pytorch", "", "", ""}},
    {"torch.compile", {"software.pytorch", "software.torch_compile", "", ""}},
}};

// Prints what is missing.
bool is_met(const Need& need, const std::vector<Finding>& findings) {
  bool is_met = true;
  for (const char* id : need.findings) {
    const Finding* finding = find(findings, id);
    if (!finding || (finding->state != State::Problem && finding->state != State::Absent)) continue;
    std::cerr << "pagoda-doctor: " << need.name << ": " << finding->title << ": " << finding->found
              << (finding->remedy.empty() ? "" : "; ") << finding->remedy << '\n';
    is_met = false;
  }
  return is_met;
}

int run(int argc, char** argv) {
  CLI::App app("Checks GPU, driver, counters, clocks, CPU and frameworks before a measurement.", "pagoda-doctor");
  app.set_version_flag("--version", "pagoda-doctor " PAGODA_VERSION);
  app.footer(kExamples);
  Surroundings surroundings;
  std::string json;
  std::vector<std::string> names, needs;
  for (const Need& need : kNeeds) names.emplace_back(need.name);
  bool is_strict = false;
  app.add_option("--json", json, "File for the report as JSON; - for standard output");
  app.add_option("--need", needs, "Exit 4 where this is not there: " + base::joined(names))
      ->check(CLI::IsMember(names));
  app.add_flag("--strict", is_strict, "Exit 3 where there is a warning or a problem");
  app.add_option("--python", surroundings.python,
                 "Python that is asked for packages (default: $PAGODA_PYTHON or python3)")
      ->envname("PAGODA_PYTHON");
  app.add_option("--root", surroundings.root, "Folder that holds the proc and sys to read instead of this machine's");
  app.add_option("--nvml", surroundings.nvml, "Management library (default libnvidia-ml.so.1)");
  app.add_option("--cuda", surroundings.cuda, "Driver library (default libcuda.so.1)");
  if (!parse(app, argc, argv)) return kDone;
  surroundings.tries_compile = std::ranges::find(needs, "torch.compile") != needs.end();

  const std::vector<Finding> findings = examine(surroundings);
  if (json != "-") write_output("", findings_text(findings));
  if (!json.empty()) write_output(json, findings_json(findings));
  int code = kDone;
  for (const Finding& finding : findings)
    if (is_strict && (finding.state == State::Warning || finding.state == State::Problem)) code = kPartial;
  for (const Need& need : kNeeds)
    if (std::ranges::find(needs, need.name) != needs.end() && !is_met(need, findings)) code = kNoDevice;
  return code;
}

}  // namespace
}  // namespace pagoda::tools::doctor

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-doctor", argc, argv, pagoda::tools::doctor::run);
}
