// pagoda-doctor: what this machine offers to measurements, what disturbs them, and how to mend it.
#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <iostream>

#include "doctor.h"
#include "pagoda/present/report.h"

namespace {

constexpr int kUnusable = 1, kUsage = 2, kPartial = 3, kNoDevice = 4;

// What a program may need, by the findings that must be good, or at least no problem and not absent.
struct Need {
  const char* name;
  std::array<const char*, 4> findings;
};
constexpr std::array<Need, 5> kNeeds = {{
    {"gpu", {"gpu.driver", "gpu.devices", "gpu.cuda", ""}},
    {"counters", {"gpu.cuda", "gpu.privilege", "gpu.counter_users", "software.cupti"}},
    {"ncu", {"gpu.cuda", "gpu.privilege", "software.ncu", ""}},
    {"onnxruntime", {"software.onnxruntime", "", "", ""}},
    {"pytorch", {"software.pytorch", "", "", ""}},
}};

constexpr const char* kExamples = R"(Examples:
  pagoda-doctor                                       everything, with remedies
  pagoda-doctor --need counters && pagoda-profile …   exit 4 where the counters cannot be read
  pagoda-doctor --strict --json doctor.json           exit 3 where anything disturbs; keep the report with the results

Exit codes: 0 done, 1 unusable output, 2 usage, 3 warnings or problems (--strict), 4 a need is not met (--need).)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Checks GPU, driver, counters, clocks, CPU and frameworks before a measurement.", "pagoda-doctor");
  app.set_version_flag("--version", "pagoda-doctor " PAGODA_VERSION);
  app.footer(kExamples);
  doctor::Surroundings surroundings;
  std::string json;
  std::vector<std::string> needs;
  bool is_strict = false;
  app.add_option("--json", json, "File for the report as JSON; - for standard output");
  app.add_option("--need", needs, "Exit 4 where this is not there: gpu, counters, ncu, onnxruntime, pytorch")
      ->check(CLI::IsMember({"gpu", "counters", "ncu", "onnxruntime", "pytorch"}));
  app.add_flag("--strict", is_strict, "Exit 3 where there is a warning or a problem");
  app.add_option("--python", surroundings.python, "Python that is asked for packages (default python3)");
  app.add_option("--root", surroundings.root, "Folder that holds the proc and sys to read instead of this machine's");
  app.add_option("--nvml", surroundings.nvml, "Management library (default libnvidia-ml.so.1)");
  app.add_option("--cuda", surroundings.cuda, "Driver library (default libcuda.so.1)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    const std::vector<doctor::Finding> findings = doctor::examine(surroundings);
    if (json != "-") std::cout << doctor::findings_text(findings) << std::flush;
    if (json == "-")
      std::cout << doctor::findings_json(findings) << std::flush;
    else if (!json.empty())
      pagoda::base::write_file(json, doctor::findings_json(findings));
    if (!std::cout) throw pagoda::Error("standard output: cannot be written");
    int code = 0;
    if (is_strict)
      for (const doctor::Finding& finding : findings)
        if (finding.state == doctor::State::Warning || finding.state == doctor::State::Problem) code = kPartial;
    for (const Need& need : kNeeds) {
      if (std::find(needs.begin(), needs.end(), need.name) == needs.end()) continue;
      for (const char* id : need.findings) {
        const doctor::Finding* finding = doctor::find(findings, id);
        if (!finding || (finding->state != doctor::State::Problem && finding->state != doctor::State::Absent)) continue;
        std::cerr << "pagoda-doctor: " << need.name << ": " << finding->title << ": " << finding->found
                  << (finding->remedy.empty() ? "" : "; ") << finding->remedy << '\n';
        code = kNoDevice;
      }
    }
    return code;
  } catch (const std::exception& error) {
    std::cerr << "pagoda-doctor: " << error.what() << '\n';
    return kUnusable;
  }
}
