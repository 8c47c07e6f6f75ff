// The outputs of a run: its files, the comparison with a baseline, and the exit code.
#include <algorithm>
#include <cstdio>

#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "report.h"
#include "runs.h"

namespace pagoda::tools::ceilings {
namespace {

// Reports a failure and continues: one full disk must not prevent the other outputs.
bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0;
  try {
    base::write_file(path, text);
  } catch (const Error& error) {
    std::fprintf(stderr, "ert-ceilings: %s\n", error.what());
    return false;
  }
  return true;
}

// "a/here.json" → "a/here.points.csv"
std::string beside(const Options& options, const char* what) {
  std::string path = options.json;
  if (path.empty() || path == "-") return "";
  if (path.ends_with(".json")) path.resize(path.size() - 5);
  return path + what;
}

// The exit code of --strict.
int verdict(const documents::CeilingsDocument& document) {
  int code = kDone;
  for (const documents::Ceiling& c : document.ceilings) {
    if (c.status == documents::CeilingStatus::Impossible || c.status == documents::CeilingStatus::WrongResult)
      return kImpossible;
    if (c.value && !c.converged) code = kImpossible;
  }
  return code;
}

// True if a ceiling is in both files with the same mode: quick runs measure bursts, others sustained rates.
bool any_shared(const documents::CeilingsDocument& now, const documents::CeilingsDocument& baseline) {
  for (const documents::Ceiling& a : now.ceilings)
    for (const documents::Ceiling& b : baseline.ceilings)
      if (a.id == b.id && a.mode == b.mode) return true;
  return false;
}

}  // namespace

std::optional<documents::CeilingsDocument> check_files(const Options& options) {
  std::optional<documents::CeilingsDocument> baseline;
  if (!options.baseline.empty()) baseline = documents::load_ceilings(options.baseline);
  for (const std::string& path : options.outputs())
    if (!path.empty() && path != "-") base::check_writable(path);
  return baseline;
}

int publish(const Options& options, const std::optional<documents::CeilingsDocument>& baseline,
            const Outcome& outcome) {
  const documents::CeilingsDocument& document = outcome.document;
  const std::vector<std::string> outputs = options.outputs();
  if (std::find(outputs.begin(), outputs.end(), "-") == outputs.end()) std::fputs(table(document).c_str(), stdout);
  bool written = true;
  for (const auto& [path, text] :
       {std::pair{options.json, documents::write_ceilings(document)}, std::pair{options.csv, csv(document)},
        std::pair{options.ert_csv, ert_csv(document)}, std::pair{options.rocprof_csv, rocprof_csv(document)},
        std::pair{outcome.points_csv.empty() ? "" : beside(options, ".points.csv"), outcome.points_csv},
        std::pair{outcome.trace_csv.empty() ? "" : beside(options, ".trace.csv"), outcome.trace_csv}})
    written = write(path, text) && written;
  if (!written) return kUnusable;

  int code = outcome.exit;
  for (const documents::Ceiling& c : document.ceilings)
    if (c.status == documents::CeilingStatus::Impossible || c.status == documents::CeilingStatus::WrongResult) {
      std::fprintf(stderr, "ert-ceilings: %s: %s\n", c.id.c_str(), c.note.c_str());
      code = kImpossible;
    }
  if (baseline) {
    if (baseline->name() != document.name())
      std::fprintf(stderr, "ert-ceilings: %s was measured on \"%s\", this is \"%s\"\n", options.baseline.c_str(),
                   baseline->name().c_str(), document.name().c_str());
    const documents::Agreement agreement = documents::agreement(document, *baseline);
    if (!any_shared(document, *baseline)) {
      std::fprintf(stderr,
                   "ert-ceilings: %s: nothing to compare: none of its ceilings is one of this run's in the same mode; "
                   "measure the baseline with the same --quick or --full and --only\n",
                   options.baseline.c_str());
      if (code == kDone) code = kUnusable;
    } else {
      std::fprintf(stderr, "ert-ceilings: %s: %lld of %lld intervals meet; %.1f may miss each other by chance\n",
                   options.baseline.c_str(), static_cast<long long>(agreement.compared - agreement.apart),
                   static_cast<long long>(agreement.compared), agreement.expected_apart);
    }
    for (const documents::CeilingChange& change : documents::compare_ceilings(document, *baseline, options.tolerance)) {
      std::fprintf(stderr, "ert-ceilings: %s: %.4g, was %.4g (%+.1f %%)%s\n", change.id.c_str(), change.now,
                   change.before, 100 * (change.now / change.before - 1), change.worse ? ": worse" : "");
      if (change.worse && code == kDone) code = kPartial;
    }
  }
  if (options.strict && code == kDone) code = verdict(document);
  return code;
}

void require_any(const Options& options, std::size_t experiments) {
  if (options.only.empty() || experiments > 0 || options.energy) return;
  throw UsageError("--only " + base::joined(options.only, ",") +
                   ": no ceiling's id holds one of these; ids are as --json has them: float32.scalar.fma.core, "
                   "l1.load.core, dram.triad.all");
}

}  // namespace pagoda::tools::ceilings
