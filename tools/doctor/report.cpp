// Findings as text and as JSON.
#include <algorithm>

#include "doctor.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/json_writer.h"

namespace pagoda::tools::doctor {
namespace {

constexpr base::EnumNames<State::Absent> kStates("good", "note", "warning", "problem", "absent");
constexpr base::EnumNames<InForce::Unknown> kInForce("", "in force", "not in force", "unknown");

void guide_line(const std::vector<Finding>& findings, InForce guide, std::string& text) {
  std::string names;
  for (const Finding& finding : findings)
    if (finding.guide == guide) (names += names.empty() ? "" : ", ") += finding.title;
  if (!names.empty()) (((text += "  ") += kInForce[guide]) += ": ") += names + "\n";
}

// The number of leading findings about an absent GPU; 0: there is a driver, or something is wrong.
std::size_t absent_gpu(const std::vector<Finding>& findings) {
  if (findings.empty() || findings[0].id != "gpu.driver" || findings[0].state != State::Absent) return 0;
  std::size_t count = 0;
  while (count < findings.size() && findings[count].id.starts_with("gpu.")) {
    if (findings[count].state == State::Problem || findings[count].state == State::Warning) return 0;
    ++count;
  }
  return count;
}

}  // namespace

void Finding::judge(bool is_bad, State bad, std::string why, std::string cure) {
  state = is_bad ? bad : State::Good;
  if (guide != InForce::NotOfTheGuide) guide = is_bad ? InForce::No : InForce::Yes;
  if (!is_bad) return;
  wrong = std::move(why);
  remedy = std::move(cure);
}

std::string_view to_string(State state) { return kStates[state]; }

const Finding* find(const std::vector<Finding>& findings, std::string_view id) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == id; });
  return found == findings.end() ? nullptr : &*found;
}

std::vector<Finding> examine(const Surroundings& surroundings) {
  std::vector<Finding> findings = examine_gpu(surroundings);
  for (const auto& part : {examine_software(surroundings), examine_cpu(surroundings)})
    findings.insert(findings.end(), part.begin(), part.end());
  return findings;
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.title.size());
  std::string text;
  const std::size_t no_gpu = absent_gpu(findings);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    if (i > 0 && i < no_gpu) continue;
    std::string state(to_string(finding.state));
    state.resize(9, ' ');
    std::string title = finding.title;
    title.resize(width + 2, ' ');
    text += state + title + finding.found + '\n';
    // An absent part needs its remedy only if the user misses it.
    if (!finding.wrong.empty()) text += std::string(9, ' ') + "wrong: " + finding.wrong + '\n';
    if (!finding.remedy.empty()) text += std::string(9, ' ') + "mend:  " + finding.remedy + '\n';
    if (i == 0 && no_gpu > 1)
      text += std::string(9, ' ') + "the other " + std::to_string(no_gpu - 1) + " checks of a GPU need one; --json lists them\n";
  }
  text += "\nnoise guide\n";
  for (const InForce guide : {InForce::Yes, InForce::No, InForce::Unknown}) guide_line(findings, guide, text);
  const auto count = [&](State state) {
    return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.state == state; });
  };
  const auto counted = [&](State state, const std::string& noun) {
    const auto number = count(state);
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
  };
  text += counted(State::Problem, "problem") + ", " + counted(State::Warning, "warning") + "\n";
  return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
  base::JsonWriter json;
  const auto maybe = [&](std::string_view key, std::string_view text) {
    json.key(key);
    text.empty() ? json.null() : json.value(text);
  };
  json.begin_object().member("schema", "pagoda.doctor/1");
  json.key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().member("id", finding.id).member("title", finding.title);
    json.member("state", to_string(finding.state)).member("found", finding.found);
    maybe("wrong", finding.wrong);
    maybe("remedy", finding.remedy);
    maybe("noise_guide", kInForce[finding.guide]);
    json.end_object();
  }
  json.end_array().end_object();
  return std::move(json).text();
}

}  // namespace pagoda::tools::doctor
