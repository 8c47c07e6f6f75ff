// Findings as text and as JSON.
#include <algorithm>

#include "doctor.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/json_writer.h"

namespace pagoda::tools::doctor {
namespace {

constexpr base::EnumNames<State::Absent> kStates("good", "note", "warning", "problem", "absent");
constexpr base::EnumNames<InForce::Unknown> kInForce("", "in force", "not in force", "unknown");

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

void Finding::is(State now, std::string seen, std::string why, std::string cure) {
  state = now;
  found = std::move(seen);
  wrong = std::move(why);
  remedy = std::move(cure);
}

void Finding::judge(bool is_bad, State bad, std::string why, std::string cure) {
  state = is_bad ? bad : State::Good;
  if (guide != InForce::NotOfTheGuide) guide = is_bad ? InForce::No : InForce::Yes;
  if (!is_bad) return;
  wrong = std::move(why);
  remedy = std::move(cure);
}

std::string_view to_string(State state) { return kStates[state]; }

const Finding* find(const std::vector<Finding>& findings, std::string_view id) {
  const auto found = std::ranges::find(findings, id, &Finding::id);
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
  const auto padded = [](std::string_view part, std::size_t to) {
    return cat(part, std::string(to - std::min(to, part.size()), ' '));
  };
  const auto line = [&](std::string_view what, std::string_view part) {
    if (!part.empty()) text += cat(padded("", 9), what, part, "\n");
  };
  const std::size_t no_gpu = absent_gpu(findings);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    if (i > 0 && i < no_gpu) continue;
    text += cat(padded(to_string(finding.state), 9), padded(finding.title, width + 2), finding.found, "\n");
    // An absent part needs its remedy only if the user misses it.
    line("wrong: ", finding.wrong);
    line("mend:  ", finding.remedy);
    if (i == 0 && no_gpu > 1) line("", cat("the other ", no_gpu - 1, " checks of a GPU need one; --json lists them"));
  }
  text += "\nnoise guide\n";
  for (const InForce guide : {InForce::Yes, InForce::No, InForce::Unknown}) {
    std::string names;
    for (const Finding& finding : findings)
      if (finding.guide == guide) names += cat(names.empty() ? "" : ", ", finding.title);
    if (!names.empty()) text += cat("  ", kInForce[guide], ": ", names, "\n");
  }
  const auto counted = [&](State state, const char* noun) {
    const auto number = std::ranges::count(findings, state, &Finding::state);
    return cat(number, " ", noun, number == 1 ? "" : "s");
  };
  return cat(text, counted(State::Problem, "problem"), ", ", counted(State::Warning, "warning"), "\n");
}

std::string findings_json(const std::vector<Finding>& findings) {
  base::JsonWriter json;
  json.begin_object().member("schema", "pagoda.doctor/1").key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().member("id", finding.id).member("title", finding.title);
    json.member("state", to_string(finding.state)).member("found", finding.found);
    json.member_or_null("wrong", finding.wrong).member_or_null("remedy", finding.remedy);
    json.member_or_null("noise_guide", std::string(kInForce[finding.guide])).end_object();
  }
  json.end_array().end_object();
  return std::move(json).text();
}

}  // namespace pagoda::tools::doctor
