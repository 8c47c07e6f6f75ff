// onnx-estimate: how much work an ONNX model is and where it goes, from the file alone.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "pagoda/analyze.h"
#include "pagoda/conventions.h"
#include "pagoda/model.h"
#include "pagoda/report.h"

namespace {

constexpr const char* kTool = "onnx-estimate " PAGODA_VERSION;

enum ExitCode { kDone = 0, kUnusableInput = 1, kUsage = 2, kPartial = 3 };

// The command line contradicts itself.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Arguments {
  std::string model, format, output;
  std::vector<std::string> dims, inputs;
  std::string by, count = "flops", traffic = "unfused";
  std::int64_t batch = 0, top = 0;
  bool symbolic = false, strict = false, list_ops = false;
};

std::int64_t size_of(std::string_view text, const std::string& whole) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || size < 0)
    throw UsageError("'" + std::string(text) + "' in '" + whole + "' is no size; expected an integer of at least 0");
  return size;
}

struct Assignment {
  std::string name;
  std::string_view value;
};

// Names may hold '=', values may not.
Assignment split(const std::string& text, const char* form) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) throw UsageError("'" + text + "' is not of the form " + form);
  return {text.substr(0, equals), std::string_view(text).substr(equals + 1)};
}

template <typename Map>
void assign(Map& map, const std::string& name, typename Map::mapped_type value, const char* option) {
  const auto [at, is_new] = map.emplace(name, value);
  if (!is_new && at->second != value)
    throw UsageError(std::string(option) + " is given twice for '" + name + "' with different values; give one");
}

pagoda::AnalyzeOptions analyze_options(const Arguments& arguments) {
  pagoda::AnalyzeOptions options;
  options.batch = arguments.batch;
  for (const std::string& text : arguments.dims) {
    const Assignment dim = split(text, "NAME=V");
    assign(options.dims, dim.name, size_of(dim.value, text), "--dim");
  }
  for (const std::string& text : arguments.inputs) {
    const Assignment input = split(text, "NAME=AxBxC");
    std::vector<std::int64_t> shape;
    for (std::string_view rest = input.value;;) {
      const std::size_t cross = rest.find('x');
      shape.push_back(size_of(rest.substr(0, cross), text));
      if (cross == std::string_view::npos) break;
      rest.remove_prefix(cross + 1);
    }
    assign(options.input_shapes, input.name, shape, "--input");
  }
  return options;
}

// --format, else what the name of the output file says, else a table.
std::string format_of(const Arguments& arguments) {
  if (!arguments.format.empty()) return arguments.format;
  const std::size_t dot = arguments.output.rfind('.');
  const std::string extension = dot == std::string::npos ? "" : arguments.output.substr(dot);
  if (extension == ".json") return "json";
  if (extension == ".csv") return "csv";
  return extension == ".md" ? "markdown" : "table";
}

std::size_t terminal_width() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    return static_cast<std::size_t>(std::atoi(columns));
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

void write_output(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") return pagoda::write_file(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw pagoda::Error(std::string("cannot write to standard output: ") + std::strerror(errno));
}

int estimate(const Arguments& arguments) {
  const pagoda::AnalyzeOptions options = analyze_options(arguments);
  const std::string format = format_of(arguments);
  const bool to_terminal = arguments.output.empty() || arguments.output == "-";

  const pagoda::Model model = pagoda::load_model(arguments.model);
  const pagoda::Analysis analysis = pagoda::analyze(model, options);

  pagoda::ReportOptions report;
  report.count = *pagoda::convention(arguments.count);
  report.rows = arguments.by == "type" ? pagoda::Rows::Type : pagoda::Rows::Node;
  report.top = static_cast<std::size_t>(arguments.top);
  report.formulas = arguments.symbolic;
  report.node_formulas = arguments.symbolic && (!arguments.by.empty() || format == "csv");
  report.width = to_terminal ? terminal_width() : 0;
  report.tool = kTool;
  bool complete = !analysis.partial;
  if (report.count == pagoda::Convention::Pagoda) {
    // The published rules multiply the graph as exported by the batch.
    pagoda::AnalyzeOptions as_exported = options;
    as_exported.batch = 0;
    report.published = pagoda::pagoda_counts(model, options.batch == 0 ? analysis : pagoda::analyze(model, as_exported),
                                             std::max<std::int64_t>(options.batch, 1));
    if (!report.published->failure.empty()) {
      say("warning: no counts: " + pagoda::printable(report.published->failure) + "\n");
      complete = false;
    }
  }

  std::string text;
  if (format == "json") text = pagoda::json_report(model, analysis, report);
  if (format == "csv") text = pagoda::csv_report(model, analysis, report);
  if (format == "markdown") text = pagoda::markdown_report(model, analysis, report);
  if (format == "table") text = pagoda::table_report(model, analysis, report);
  say(pagoda::diagnostics_report(analysis));
  say(pagoda::free_dims_report(analysis));
  write_output(arguments.output, text);
  return arguments.strict && !complete ? kPartial : kDone;
}

// The values that an option takes; its usage text says them already.
CLI::Validator one_of(std::vector<std::string> values) {
  CLI::Validator validator = CLI::IsMember(std::move(values));
  return validator.description("");
}

CLI::Validator positive() {
  CLI::Validator validator = CLI::Range(std::int64_t{1}, std::int64_t{1} << 62);
  return validator.description("");
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("MODEL", arguments.model, "ONNX file; its weights are not read")->type_name("");
  app.add_option("--batch", arguments.batch, "Size of the batch dim of all inputs, also where the file fixes it")
      ->check(positive())
      ->type_name("N");
  app.add_option("--dim", arguments.dims, "Size of a named dim; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=V");
  app.add_option("--input", arguments.inputs, "Whole shape of an input; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=AxBxC");
  app.add_option("--format", arguments.format, "table, json, csv or markdown; default: what FILE ends in, else table")
      ->check(one_of({"table", "json", "csv", "markdown"}))
      ->type_name("FORMAT");
  app.add_option("-o,--output", arguments.output, "Write to FILE, whole or not at all")->type_name("FILE");
  app.add_option("--by", arguments.by, "A row per node or per type of operator")
      ->check(one_of({"node", "type"}))
      ->type_name("node|type");
  app.add_option("--top", arguments.top, "Only the K rows with the most FLOPs")->check(positive())->type_name("K");
  app.add_option("--count", arguments.count,
                 "What FLOPs are. flops (default): 2*MACs + arith + special; macs: MACs; contraction: 2*MACs; "
                 "hardware: 2*MACs + arith - comparisons; pagoda: the published Pagoda rules, faults included")
      ->check(one_of({"flops", "macs", "contraction", "hardware", "pagoda"}))
      ->type_name("CONVENTION");
  app.add_option("--traffic", arguments.traffic,
                 "unfused (default): every input byte is read once, every output byte written once")
      ->check(one_of({"unfused"}))
      ->type_name("MODEL");
  app.add_flag("--symbolic", arguments.symbolic, "Formulas of the totals; with --by also of the rows");
  app.add_flag("--strict", arguments.strict, "Exit 3 when some node is not modelled");
  app.add_flag("--list-ops", arguments.list_ops, "List the operators that have a rule, and what each costs");
  app.set_version_flag("--version", kTool);
  app.get_formatter()->column_width(28);
  app.footer(
      "Counts are exact. A node without a rule is reported and makes totals lower bounds; it never counts as 0.\n"
      "Exit codes: 0 done, 1 unusable input, 2 usage, 3 partial (--strict).\n");
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("How much work an ONNX model is, and where it goes, from the file alone.", "onnx-estimate");
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
    if (arguments.list_ops) {
      write_output(arguments.output, pagoda::list_operators(terminal_width()));
      return kDone;
    }
    if (arguments.model.empty()) throw UsageError("MODEL is missing");
    return estimate(arguments);
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request);
    return kDone;
  } catch (const CLI::ParseError& error) {
    say("onnx-estimate: " + pagoda::printable(error.what()) + "; see onnx-estimate --help\n");
    return kUsage;
  } catch (const UsageError& error) {
    say("onnx-estimate: " + pagoda::printable(error.what()) + "; see onnx-estimate --help\n");
    return kUsage;
  } catch (const std::exception& error) {
    say("onnx-estimate: " + pagoda::printable(error.what()) + "\n");
    return kUnusableInput;
  }
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
