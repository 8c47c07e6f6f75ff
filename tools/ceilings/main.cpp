// ert-ceilings: measures the roof of this machine and says how sure it is.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "gpu_driver.h"
#include "options.h"
#include "pagoda/base/files.h"
#include "protocol.h"
#include "report.h"
#include "runs.h"

namespace {

using namespace ceilings;

// The paths that a run writes; empty or "-" (standard output) where it writes no file.
std::array<std::string, 4> outputs(const Options& options) {
  return {options.json, options.csv, options.ert_csv, options.rocprof_csv};
}

// Says what fails and goes on: one full disk must not take the other outputs with it.
bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0;
  try {
    pagoda::base::write_file(path, text);
  } catch (const pagoda::Error& error) {
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

// What --strict refuses.
int verdict(const pagoda::documents::CeilingsDocument& document) {
  int code = kDone;
  for (const pagoda::documents::Ceiling& c : document.ceilings) {
    if (c.status == pagoda::documents::CeilingStatus::Impossible ||
        c.status == pagoda::documents::CeilingStatus::WrongResult)
      return kImpossible;
    if (c.value && !c.converged) code = kImpossible;
  }
  return code;
}

// Quick runs measure bursts, the others sustained rates: such files have nothing in common.
bool any_shared(const pagoda::documents::CeilingsDocument& now, const pagoda::documents::CeilingsDocument& baseline) {
  for (const pagoda::documents::Ceiling& a : now.ceilings)
    for (const pagoda::documents::Ceiling& b : baseline.ceilings)
      if (a.id == b.id && a.mode == b.mode) return true;
  return false;
}

int report(const Options& options, const std::optional<pagoda::documents::CeilingsDocument>& baseline,
           const Outcome& outcome) {
  const pagoda::documents::CeilingsDocument& document = outcome.document;
  const bool to_stdout = options.json == "-" || options.csv == "-";
  if (!to_stdout) std::fputs(table(document).c_str(), stdout);
  bool written = write(options.json, pagoda::documents::write_ceilings(document));
  written = write(options.csv, csv(document)) && written;
  written = write(options.ert_csv, ert_csv(document)) && written;
  written = write(options.rocprof_csv, rocprof_csv(document)) && written;
  if (!outcome.points_csv.empty()) written = write(beside(options, ".points.csv"), outcome.points_csv) && written;
  if (!outcome.trace_csv.empty()) written = write(beside(options, ".trace.csv"), outcome.trace_csv) && written;
  if (!written) return kUnusable;

  int code = outcome.exit;
  for (const pagoda::documents::Ceiling& c : document.ceilings)
    if (c.status == pagoda::documents::CeilingStatus::Impossible ||
        c.status == pagoda::documents::CeilingStatus::WrongResult) {
      std::fprintf(stderr, "ert-ceilings: %s: %s\n", c.id.c_str(), c.note.c_str());
      code = kImpossible;
    }
  if (baseline) {
    if (baseline->name() != document.name())
      std::fprintf(stderr, "ert-ceilings: %s is of \"%s\", this is \"%s\"\n", options.baseline.c_str(),
                   baseline->name().c_str(), document.name().c_str());
    const pagoda::documents::Agreement agreement = pagoda::documents::agreement(document, *baseline);
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
    for (const pagoda::documents::CeilingChange& change :
         pagoda::documents::compare_ceilings(document, *baseline, options.tolerance)) {
      std::fprintf(stderr, "ert-ceilings: %s: %.4g, was %.4g (%+.1f %%)%s\n", change.id.c_str(), change.now,
                   change.before, 100 * (change.now / change.before - 1), change.worse ? ": worse" : "");
      if (change.worse && code == kDone) code = kPartial;
    }
  }
  if (options.strict && code == kDone) code = verdict(document);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures the roof of a CPU or a GPU: every arithmetic and memory ceiling, with how sure it is."};
  app.set_version_flag("--version", "ert-ceilings " PAGODA_VERSION);
  app.add_flag("--cpu", options.cpu, "measure this machine's CPU");
  app.add_option("--gpu", options.gpu, "measure the GPU of this number")->excludes("--cpu");
  bool quick = false, full = false;
  app.add_flag("--quick", quick, "under half a minute; wider intervals");
  app.add_flag("--full", full, "about ten minutes; longer samples, more variants")->excludes("--quick");
  app.add_option("--only", options.only, "only ceilings whose id holds one of these parts: fma,dram.triad")
      ->delimiter(',');
  app.add_flag("--energy", options.energy, "also fit joules per operation and byte (minutes)");
  app.add_flag("--audit", options.audit, "print the instructions of every embedded hot loop and stop");
  app.add_flag("--counters", options.counters, "compare credited work with hardware counters where they can be read");
  app.add_option("--check", options.baseline, "a ceilings file to compare with; exit 3 where this run is worse");
  app.add_option("--tolerance", options.tolerance, "what --check allows beyond both intervals, as a fraction")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--resume", options.resume,
                 "a ceilings file of this machine: measure what it lacks and keep the rest");
  app.add_flag("--strict", options.strict, "exit 5 where a ceiling did not converge");
  app.add_option("--budget", options.budget_seconds, "seconds for all ceilings together")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of the random order")->capture_default_str();
  app.add_option("--json", options.json,
                 "write pagoda.ceilings/1 here, and sweep points beside it; - is standard output");
  app.add_option("--csv", options.csv, "write one row a ceiling; - is standard output");
  app.add_option("--csv-ert", options.ert_csv, "write lines as plotters of the Empirical Roofline Tool read them");
  app.add_option("--csv-rocprof", options.rocprof_csv, "write columns as rocprof-compute's roofline.csv has them");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (quick) options.depth = Depth::Quick;
  if (full) options.depth = Depth::Full;
  if (!options.cpu && !options.gpu) {
    std::fprintf(stderr, "ert-ceilings: say what to measure: --cpu or --gpu 0\n");
    return kUsage;
  }
  try {
    if (options.audit) {
      std::string text;
      const bool fine = options.cpu ? audit_cpu(options, text) : audit_gpu(options, text);
      std::fputs(text.c_str(), stdout);
      return fine ? kDone : kImpossible;
    }
    // Minutes of measuring must not end in a path that was wrong from the start.
    std::optional<pagoda::documents::CeilingsDocument> baseline;
    if (!options.baseline.empty()) baseline = pagoda::documents::load_ceilings(options.baseline);
    for (const std::string& path : outputs(options))
      if (!path.empty() && path != "-") pagoda::base::check_writable(path);
    const bool terminal = isatty(STDERR_FILENO) != 0;
    Outcome outcome = options.gpu ? run_gpu(options, terminal) : run_cpu(options, terminal);
    if (outcome.exit == kNoDevice) {
      std::fprintf(stderr, "ert-ceilings: no kernels for this CPU; they exist for x86-64 and AArch64\n");
      return kNoDevice;
    }
    outcome.document.tool = std::string("ert-ceilings ") + PAGODA_VERSION;
    const int code = report(options, baseline, outcome);
    if (outcome.lost) {
      std::fflush(stdout);
      std::_Exit(code);
    }
    return code;
  } catch (const DeviceLost& error) {  // before there was anything to report
    std::fprintf(stderr, "ert-ceilings: the device is lost: %s\n", error.what());
    std::_Exit(kNoDevice);
  } catch (const GpuError& error) {
    std::fprintf(stderr, "ert-ceilings: %s\n", error.what());
    return kNoDevice;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ert-ceilings: not enough memory for the working sets\n");
    return kUnusable;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ert-ceilings: %s\n", error.what());
    return kUnusable;
  }
}
