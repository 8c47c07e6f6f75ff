// pagoda-doctor: checks what this machine offers to measurements, what disturbs them, and how to fix it.
#include <algorithm>
#include <array>
#include <iostream>

#include "arguments.h"
#include "tool.h"

namespace pagoda::tools::doctor {
namespace {

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
  const std::optional<Arguments> arguments = parse_arguments(argc, argv);
  if (!arguments) return kDone;
  const std::vector<Finding> findings = examine(arguments->surroundings);
  if (arguments->json != "-") write_output("", findings_text(findings));
  if (!arguments->json.empty()) write_output(arguments->json, findings_json(findings));
  int code = kDone;
  for (const Finding& finding : findings)
    if (arguments->is_strict && (finding.state == State::Warning || finding.state == State::Problem)) code = kPartial;
  for (const Need& need : kNeeds)
    if (std::count(arguments->needs.begin(), arguments->needs.end(), need.name) > 0 && !is_met(need, findings))
      code = kNoDevice;
  return code;
}

}  // namespace
}  // namespace pagoda::tools::doctor

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-doctor", argc, argv, pagoda::tools::doctor::run);
}
