// pagoda-bench matmul: times products of given sizes in several libraries, next to a baseline and the measured ceiling.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>

#include "conv_command.h"
#include "gpu_watch.h"
#include "matmul.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/ceilings.h"
#include "tool.h"
#include "units.h"

namespace pagoda::tools::conv {
namespace {

constexpr const char* kExamples = R"(Examples:
  pagoda-bench matmul --size 256,512,1024 --library onednn,torch --baseline torch --csv matmul.csv
  pagoda-bench matmul --shape 128x3072x768,1x4096x4096 --ceilings ceilings.json
  pagoda-bench matmul --device cuda --type tf32,bfloat16 --library cublaslt,torch --ceilings h200.json
The time of a product is the slope (T(2n) - T(n)) / n over n products one after the other: launching and waiting are
not in it; "enter" is what they cost a call, where that is above the noise.
Exit codes: 0 done, 1 unusable input, 2 usage, 3 a result is wrong, 4 nothing could be run.)";

struct Flags {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> shapes, libraries, types = {"float32"};
  std::string device = "cpu", baseline, ceilings, csv, python = "python3", script;
  int threads = 0;
  double budget = 0.5;
};

struct Row {
  ProductShape shape;
  std::string library, version, type, note = {};
  base::Summary seconds = {};  // n is 0 if it was not run
  double overhead = 0;
  std::optional<double> error = {};
};

std::vector<ProductShape> shapes_of(const Flags& flags) {
  std::vector<ProductShape> list;
  for (const std::int64_t size : flags.sizes) list.push_back({size, size, size});
  for (const std::string& text : flags.shapes) {
    std::vector<std::int64_t> sizes;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, 'x');)
      sizes.push_back(base::parse_number<std::int64_t>(part).value_or(0));
    if (sizes.size() != 3 || std::ranges::min(sizes) < 1)
      throw Error(cat("--shape ", text, ": expected MxNxK, like 128x3072x768"));
    list.push_back({sizes[0], sizes[1], sizes[2]});
  }
  if (list.empty())
    for (const std::int64_t size : {128, 256, 512, 1024}) list.push_back({size, size, size});
  return list;
}

std::string text_of(const ProductShape& s) { return cat(s.m, "x", s.n, "x", s.k); }

void take(Row& row, const std::vector<double>& seconds, const std::vector<double>& overhead) {
  row.seconds = base::summarize(seconds);
  row.overhead = base::median(overhead);
  if (row.seconds.median <= 0) row.note = "too short beside the machine's noise: a longer --budget, or a larger size";
}

void run_native(const ProductLibrary& library, const std::string& type, const std::vector<ProductShape>& shapes,
                const Flags& flags, std::vector<Row>& rows) {
  for (const ProductShape& shape : shapes) {
    const ProductRun run = library.prepare(shape, type);
    Row& row = rows.emplace_back(Row{shape, library.name, library.version, type, run.refused});
    if (!run.refused.empty()) continue;
    run.together(1);
    row.error = product_error(shape, run.output(), 64);
    const Slope slope = measure_slope(run.together, flags.budget);
    take(row, slope.seconds, slope.overhead);
    if (row.note.empty()) row.note = run.implementation;
  }
}

// Runs PyTorch's products. Returns the problem; empty: none.
std::string run_torch(const std::string& type, const std::vector<ProductShape>& shapes, const Flags& flags,
                      std::vector<Row>& rows) {
  std::vector<std::string> words = {flags.python, flags.script};
  words.insert(words.end(), {"--type", type, "--device", flags.device, "--threads", cat(flags.threads), "--budget",
                             std::to_string(flags.budget)});
  for (const ProductShape& shape : shapes) words.push_back(text_of(shape));
  base::Output output;
  try {
    output = base::run_and_capture(words);
  } catch (const base::CannotStart& error) {
    return error.what();
  }
  std::istringstream lines(output.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("{")) continue;
    const base::JsonDocument document = base::parse_json(line, flags.script, "expected a line of matmul_torch.py");
    const base::JsonField root = document.root();
    if (root.has("unavailable")) return root.text("unavailable");
    const auto list = [&](const char* key) {
      std::vector<double> values;
      for (const base::JsonField& value : root.array(key)) values.push_back(value.number());
      return values;
    };
    const ProductShape shape{root.at("m").integer(), root.at("n").integer(), root.at("k").integer()};
    Row& row = rows.emplace_back(Row{shape, "torch", root.text("version"), type});
    row.error = root.at("error").number();
    take(row, list("seconds"), list("overhead"));
    ++count;
  }
  return count == shapes.size() ? "" : cat(flags.python, " ", to_string(output.end), " before it was done");
}

// The highest compute ceiling of the type, for one core or for more, as in the run.
std::optional<documents::Ceiling> ceiling_for(const documents::CeilingsDocument& document, const std::string& type,
                                              bool one_core) {
  std::optional<documents::Ceiling> best;
  for (const documents::Ceiling& c : document.ceilings) {
    const bool is_of_type = c.kind == documents::CeilingKind::Compute && c.precision == type && c.unit == "FLOP/s";
    if (!is_of_type || !c.value || (c.scope == "core") != one_core) continue;
    if (c.status == documents::CeilingStatus::Impossible || c.status == documents::CeilingStatus::WrongResult) continue;
    if (!best || *c.value > *best->value) best = c;
  }
  return best;
}

std::string digits(double value, int count) { return base::decimal(value, std::chars_format::general, count); }
std::string fixed(double value, int decimals) { return base::decimal(value, std::chars_format::fixed, decimals); }

int report(const std::vector<Row>& rows, const Flags& flags, const std::string& baseline,
           const std::optional<documents::CeilingsDocument>& ceilings) {
  std::map<std::string, double> base;
  for (const Row& row : rows)
    if (row.library == baseline && row.seconds.n > 0) base[row.type + text_of(row.shape)] = row.seconds.median;
  std::string csv =
      "library,version,type,m,n,k,seconds,low,high,samples,enter_seconds,flops_per_second,speedup,baseline,"
      "ceiling_flops_per_second,ceiling,error,note\r\n";
  std::cout << "library   type      m x n x k             time            GFLOP/s  ×" << baseline
            << "  % ceiling  enter [us]    error  note\n";
  bool all_right = true;
  for (const Row& row : rows) {
    const double seconds = row.seconds.median, rate = row.shape.flops() / seconds;
    const bool ran = row.seconds.n > 0 && seconds > 0, enters = ran && row.overhead > 0;
    const auto found = base.find(row.type + text_of(row.shape));
    const std::string speedup = ran && found != base.end() ? fixed(found->second / seconds, 3) : "";
    const std::optional<documents::Ceiling> roof =
        ceilings ? ceiling_for(*ceilings, row.type, flags.threads == 1) : std::nullopt;
    // Operands are exact, so native results are exact in float32; torch rounds its output to the type.
    const bool rounds = row.library == "torch" && row.type != "float32" && row.type != "tf32";
    if (row.error && *row.error > (rounds ? static_cast<double>(row.shape.k) / 64 : 0)) all_right = false;
    const auto shown = [](const std::string& text) { return text.empty() ? "-" : text; };
    std::printf("%-9s %-9s %-20s %12s s %14s %8s %10s %11s %8s  %s\n", row.library.c_str(), row.type.c_str(),
                text_of(row.shape).c_str(), shown(ran ? digits(seconds, 4) : "").c_str(),
                shown(ran ? fixed(rate * 1e-9, 1) : "").c_str(), shown(speedup).c_str(),
                shown(ran && roof ? fixed(100 * rate / *roof->value, 1) : "").c_str(),
                shown(enters ? fixed(row.overhead * 1e6, 2) : "").c_str(),
                shown(row.error ? digits(*row.error, 2) : "").c_str(), base::printable(row.note).c_str());
    const auto number = [](bool is_known, double value) { return is_known ? digits(value, 9) : ""; };
    const std::array<double, 2> low_high = row.seconds.ci95.value_or(std::array<double, 2>{});
    const bool has_interval = ran && row.seconds.ci95;
    base::CsvLine line;
    line.add(row.library).add(row.version).add(row.type).add(row.shape.m).add(row.shape.n).add(row.shape.k);
    line.add(number(ran, seconds)).add(number(has_interval, low_high[0])).add(number(has_interval, low_high[1]));
    line.add(row.seconds.n).add(number(enters, row.overhead)).add(number(ran, rate)).add(speedup).add(baseline);
    line.add(roof ? digits(*roof->value, 9) : "").add(roof ? roof->id : "");
    csv += std::move(line.add(row.error ? digits(*row.error, 9) : "").name(row.note)).end();
  }
  if (!flags.csv.empty()) base::write_file(flags.csv, csv);
  if (!all_right) std::cerr << "pagoda-bench: a product differs from its definition\n";
  return all_right ? kDone : kPartial;
}

int run(Flags flags) {
  const std::optional<int> gpu = bench::gpu_of(flags.device);
  std::optional<documents::CeilingsDocument> ceilings;
  if (!flags.ceilings.empty()) ceilings = documents::load_ceilings(flags.ceilings);
  if (!flags.csv.empty()) base::check_writable(flags.csv);
  const std::vector<ProductShape> shapes = shapes_of(flags);
  std::vector<Row> rows;
  for (const std::string& name : flags.libraries) {
    std::string missing;
    if (name == "torch") {
      for (const std::string& type : flags.types)
        if (missing.empty()) missing = run_torch(type, shapes, flags, rows);
    } else if ((name == "cublaslt") != gpu.has_value()) {
      missing = name + " runs on " + (gpu ? "the CPU" : "GPUs: --device cuda");
    } else {
      const ProductLibrary library = gpu ? cublaslt_products(*gpu) : onednn_products(flags.threads);
      missing = library.unavailable;
      for (const std::string& type : flags.types)
        if (missing.empty()) run_native(library, type, shapes, flags, rows);
    }
    if (!missing.empty()) std::cerr << "pagoda-bench: " << name << " is not available: " << missing << '\n';
  }
  if (rows.empty()) return kNoDevice;
  return report(rows, flags, flags.baseline.empty() ? flags.libraries.front() : flags.baseline, ceilings);
}

std::string script_path() {
  for (const char* path : {PAGODA_MATMUL_SOURCE, PAGODA_MATMUL_INSTALLED})
    if (std::filesystem::exists(path)) return path;
  return PAGODA_MATMUL_INSTALLED;
}

}  // namespace

int matmul_command(int argc, char** argv) {
  CLI::App app("Matrix products over libraries, without the cost of launching and waiting.", "pagoda-bench matmul");
  app.footer(kExamples);
  Flags flags;
  if (const char* python = std::getenv("PAGODA_PYTHON")) flags.python = python;
  flags.script = script_path();
  app.add_option("--size", flags.sizes, "square products (default 128,256,512,1024)")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536));
  app.add_option("--shape", flags.shapes, "MxNxK: (M×K)·(K×N)")->delimiter(',');
  app.add_option("--library", flags.libraries, "onednn, cublaslt, torch")
      ->delimiter(',')
      ->check(CLI::IsMember({"onednn", "cublaslt", "torch"}));
  app.add_option("--type", flags.types, "float32, tf32, float16, bfloat16")
      ->delimiter(',')
      ->check(CLI::IsMember({"float32", "tf32", "float16", "bfloat16"}))
      ->capture_default_str();
  app.add_option("--device", flags.device, "cpu or cuda[:N]")->capture_default_str();
  app.add_option("--threads", flags.threads, "cpu (default: all)")->check(CLI::Range(1, 4096));
  app.add_option("--budget", flags.budget, "seconds a product")
      ->transform(in(base::Measure::Seconds))
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--baseline", flags.baseline, "library whose time is 1 (default: the first)");
  app.add_option("--ceilings", flags.ceilings, "file of ert-ceilings: the share of the measured peak is shown");
  app.add_option("--csv", flags.csv, "file: a row a product");
  app.add_option("--python", flags.python, "runs torch (default: $PAGODA_PYTHON or python3)");
  if (!parse(app, argc, argv)) return kDone;
  const bool is_cuda = bench::gpu_of(flags.device).has_value();
  if (flags.libraries.empty()) flags.libraries = {is_cuda ? "cublaslt" : "onednn"};
  const auto has = [&](const std::string& name) {
    return std::ranges::find(flags.libraries, name) != flags.libraries.end();
  };
  if (is_cuda && flags.threads > 0) throw UsageError("--threads is for --device cpu, found " + flags.device);
  if (app.count("--python") > 0 && !has("torch")) throw UsageError("--python runs --library torch, found none");
  if (!flags.baseline.empty() && !has(flags.baseline))
    throw UsageError("--baseline " + flags.baseline + ": expected one of --library, " + base::joined(flags.libraries));
  return run(flags);
}

}  // namespace pagoda::tools::conv
