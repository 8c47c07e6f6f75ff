// Scripts for sbatch, and the state of their tasks from squeue and sacct.
#include "slurm.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/archive.h"
#include "system_files.h"
#include "tool.h"

namespace pagoda::tools::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "pagoda.slurm/1";
// slurm.conf(5): MaxArraySize, "the default value is 1001".
constexpr std::int64_t kDefaultMaxArraySize = 1001;
// Slurm's time limit exceeds the runner's by this much, so the runner ends and records a hang itself. Covers startup
// and shutdown around the experiment.
constexpr double kExtraSeconds = 300;

using base::Output, base::Stream;

// Empty if the program does not exist. Waits at most two minutes for a controller that does not answer.
std::optional<Output> output_of(const std::vector<std::string>& command) {
  try {
    return base::run_and_capture(command, {.in = Stream::Null, .err = Stream::Pipe, .seconds = 120});
  } catch (const base::CannotStart&) {
    return std::nullopt;
  }
}

// The last non-empty line.
std::string last_line(const std::string& text) {
  const std::string lines = text.substr(0, text.find_last_not_of('\n') + 1);
  return lines.substr(lines.rfind('\n') + 1);
}

// The parts between "|", without the blanks before them.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '|');)
    result.push_back(field.substr(std::min(field.find_first_not_of(' '), field.size())));
  return result;
}

constexpr auto integer = base::parse_number<std::int64_t>;

// Quotes a word for the shell and for #SBATCH lines, where sbatch accepts the same quotes.
std::string quoted(const std::string& text) {
  for (const char c : text)
    if (c == '\'' || static_cast<unsigned char>(c) < ' ')
      throw Error(cat("\"", base::printable(text),
                      "\": quotes and control characters cannot stand in a job script; use another name"));
  return "'" + text + "'";
}

// Escapes "%": sbatch replaces %A and similar patterns in file names.
std::string without_patterns(const std::string& path) {
  std::string result;
  for (const char c : path) result += c == '%' ? "%%" : std::string(1, c);
  return result;
}

std::string job_name(const std::string& study) {
  std::string name = study.empty() ? "pagoda" : "pagoda-";
  for (const char c : study) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return name;
}

// Minutes for one experiment, including a run of its reference if outputs are verified.
std::int64_t minutes(const PlanFile& plan) {
  const bool verifies = std::ranges::any_of(
      plan.experiments, [](const auto& experiment) { return documents::is_set(experiment.config, "verify"); });
  return static_cast<std::int64_t>(std::ceil((plan.limits.seconds * (verifies ? 2 : 1) + kExtraSeconds) / 60));
}

namespace members = documents::members;

template <typename A>
void arrays_members(A& a, typename A::template Ref<std::vector<SlurmArray>> x) {
  a.required("arrays");
  a.list("arrays", x, [](A& inner, typename A::template Ref<SlurmArray> each) {
    inner.need("job", each.job);
    inner.need("offset", each.offset);
    inner.need("tasks", each.tasks);
  });
}

// Whether sbatch's message means that Slurm cannot be reached.
bool is_absence(const std::string& words) {
  constexpr const char* kSigns[] = {"contact slurm controller", "configuration source", "authentication error", "Munge",
                                    "Socket timed out",         "Connection refused"};
  return std::ranges::any_of(kSigns, [&](const char* sign) { return words.find(sign) != std::string::npos; });
}

std::string sbatch(const std::string& script) {
  const std::optional<Output> output = output_of({"sbatch", "--parsable", script});
  if (!output)
    throw ToolError(
        kNoDevice,
        "sbatch: not found; submit from a login node of the cluster (Debian: apt install slurm-client and the "
        "cluster's slurm.conf), or use --dry-run and hand the script over yourself");
  // sbatch prints "JOB" or "JOB;CLUSTER".
  const std::string job = output->out.substr(0, output->out.find_first_of(";\n"));
  if (output->end.succeeded() && integer(job)) return job;
  const std::string words = base::printable(last_line(output->err.empty() ? output->out : output->err));
  const std::string message = cat(script, ": sbatch ", to_string(output->end), ": ", words);
  if (is_absence(output->err))
    throw ToolError(kNoDevice, message + "; see that slurmctld and munged run (scontrol ping)");
  throw Error(message + "; mend --partition, --account, --time or --sbatch-option and submit again");
}

// State of one task.
struct SlurmTask {
  std::string state = {};  // "PENDING", "RUNNING", "COMPLETED", "FAILED", …
  std::string reason = {};
  std::int64_t restarts = 0;
};

// Reads one line of squeue or sacct, "JOB_TASK|STATE|…". Skips ranges of tasks that --array left as "12_[3-5]".
void take_state(const SlurmArray& array, const std::vector<std::string>& line, bool is_squeue,
                std::map<std::int64_t, SlurmTask>& states) {
  if (line.size() < 2) return;
  const std::size_t underscore = line[0].find('_');
  if (underscore == std::string::npos || line[0].substr(0, underscore) != array.job) return;
  const auto task = integer(std::string_view(line[0]).substr(underscore + 1));
  if (!task || !std::ranges::binary_search(array.tasks, *task)) return;
  SlurmTask state{.state = line[1].substr(0, line[1].find(' '))};  // "CANCELLED by 0"
  if (is_squeue && line.size() > 2) state.restarts = integer(line[2]).value_or(0);
  if (line.size() > 3 && line[3] != "None") state.reason = line[3];
  const std::int64_t index = array.offset + *task;
  if (is_squeue || !states.contains(index)) states[index] = state;
}

// Waiting or running.
bool is_queued(const SlurmTask& task) {
  constexpr std::string_view kQueued[] = {"PENDING",      "RUNNING",     "CONFIGURING",  "COMPLETING",   "REQUEUED",
                                          "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING",     "SUSPENDED",    "STOPPED",
                                          "SIGNALING",    "STAGE_OUT",   "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  return std::ranges::find(kQueued, task.state) != std::end(kQueued);
}

// By index in the plan; from squeue, or from sacct for tasks that squeue no longer lists. `note`: why squeue failed.
std::map<std::int64_t, SlurmTask> task_states(const std::vector<SlurmArray>& arrays, std::string& note) {
  std::map<std::int64_t, SlurmTask> states;
  for (const SlurmArray& array : arrays) {
    const auto take = [&](const std::string& text, bool is_squeue) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) take_state(array, fields(line), is_squeue, states);
    };
    const auto queue = output_of({"squeue", "--noheader", "--array", "--states=all", "--jobs=" + array.job, "-O",
                                  "JobArrayID:|,State:|,RestartCnt:|,Reason:|"});
    if (!queue)
      note = "squeue: not found; ask on a host of the cluster";
    else if (queue->end.succeeded())
      take(queue->out, true);
    else if (queue->err.find("Invalid job id") == std::string::npos)
      note = "squeue: " + base::printable(last_line(queue->err));
    // The controller forgets jobs some minutes after their end; accounting, if enabled, does not.
    const auto has_state = [&](std::int64_t task) { return states.contains(array.offset + task); };
    if (std::ranges::all_of(array.tasks, has_state)) continue;
    const auto account = output_of({"sacct", "--noheader", "--parsable2", "--allocations", "--array",
                                    "--format=JobID,State", "--jobs=" + array.job});
    if (account && account->end.succeeded()) take(account->out, false);
  }
  return states;
}

}  // namespace

std::vector<SlurmArray> split_arrays(const std::vector<std::int64_t>& indices, std::int64_t max_array_size) {
  std::vector<SlurmArray> arrays;
  for (const std::int64_t index : indices) {
    const std::int64_t offset = index / max_array_size * max_array_size;
    if (arrays.empty() || arrays.back().offset != offset) arrays.push_back({"", offset, {}});
    arrays.back().tasks.push_back(index - offset);
  }
  return arrays;
}

std::string array_script(const SlurmArray& array, const PlanFile& plan, const std::string& folder,
                         const SlurmOptions& options) {
  std::ostringstream out;
  out << "#!/bin/bash\n"
      << "# Written by pagoda-bench submit: experiments of plan.json from " << array.offset + array.tasks.front()
      << " to " << array.offset + array.tasks.back() << ", one a task.\n"
      << "# A task that has its record does nothing: requeue or submit again at any time.\n"
      << "#SBATCH --job-name=" << job_name(plan.name) << '\n'
      << "#SBATCH --array=" << ranges(array.tasks);
  if (options.max_parallel > 0) out << '%' << options.max_parallel;
  out << "\n#SBATCH --ntasks=1\n#SBATCH --requeue\n#SBATCH --open-mode=append\n"
      << "#SBATCH --chdir=" << quoted(options.start_folder) << '\n'
      << "#SBATCH --output=" << quoted(without_patterns(folder) + "/slurm/%A_%a.out") << '\n'
      << "#SBATCH --time=" << (options.time.empty() ? cat(minutes(plan)) : quoted(options.time)) << '\n';
  // The experiment's limit is nine tenths; the rest is for the runner and the file cache.
  if (plan.limits.memory_bytes > 0)
    out << "#SBATCH --mem=" << (plan.limits.memory_bytes / 9 * 10 + (1 << 20) - 1) / (1 << 20) << "M\n";
  for (const auto& [name, value] : {std::pair{"partition", &options.partition},
                                    {"account", &options.account},
                                    {"gpus-per-task", &options.gpus_per_task}})
    if (!value->empty()) out << "#SBATCH --" << name << '=' << quoted(*value) << '\n';
  for (std::string option : options.more) {
    if (option.starts_with("--")) option.erase(0, 2);
    const std::size_t equals = option.find('=');
    out << "#SBATCH --" << option.substr(0, equals);
    if (equals != std::string::npos) out << '=' << quoted(option.substr(equals + 1));
    out << '\n';
  }
  // exec replaces the shell by the runner, so Slurm's signals reach it; an interrupted runner writes no record.
  out << "exec";
  for (const std::string& word : options.command) out << ' ' << quoted(word);
  out << " task " << quoted(folder);
  for (const std::string& word : options.task_options) out << ' ' << quoted(word);
  out << " --index $((SLURM_ARRAY_TASK_ID + " << array.offset << "))\n";
  return out.str();
}

std::int64_t max_array_size() {
  if (const auto output = output_of({"scontrol", "show", "config"}); output && output->end.succeeded()) {
    std::istringstream lines(output->out);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("MaxArraySize"))
        if (const auto size = integer(line.substr(line.find_last_of(" =") + 1)); size && *size > 0) return *size;
  }
  return kDefaultMaxArraySize;
}

std::vector<SlurmArray> load_submission(const std::string& folder) {
  const std::string path = folder + "/slurm.json";
  std::vector<SlurmArray> arrays;
  if (!std::filesystem::exists(path)) return arrays;
  const base::JsonDocument document =
      base::parse_json(base::read_text(path, "a submission"), path, "expected what pagoda-bench submit wrote");
  if (document.schema() != kSchema) throw Error(cat(path, ": expected schema ", kSchema));
  members::read(document.root(), arrays, arrays_members<members::Reader>);
  return arrays;
}

std::vector<SlurmArray> submit(const PlanFile& plan, const std::vector<std::int64_t>& left, const std::string& folder,
                               const SlurmOptions& options) {
  if (left.empty()) return {};
  std::vector<std::int64_t> wanted = left;
  std::vector<SlurmArray> known = load_submission(folder);
  std::string note;
  std::map<std::int64_t, SlurmTask> queued;
  if (!known.empty()) queued = task_states(known, note);
  std::erase_if(queued, [](const auto& entry) { return !is_queued(entry.second); });
  if (!queued.empty()) {
    // Queued tasks refer to experiments by index in plan.json: with another plan, they would run the wrong ones.
    const PlanFile before = lab::load_plan(folder);
    if (!std::ranges::equal(before.experiments, plan.experiments, {}, &documents::Experiment::key,
                            &documents::Experiment::key))
      throw Error(cat(folder, ": ", queued.size(),
                      " tasks of another plan are still queued there; wait for them, scancel them, or choose another ",
                      "folder"));
    std::erase_if(wanted, [&](std::int64_t index) { return queued.contains(index); });
  } else {
    if (!known.empty() && !note.empty())
      throw ToolError(kNoDevice, cat(folder, ": holds a submission whose state cannot be read (", note,
                                     "); two tasks of one experiment must not be queued"));
    known.clear();
  }
  std::vector<SlurmArray> arrays = split_arrays(wanted, max_array_size());
  if (arrays.empty()) return arrays;
  fs::create_directories(folder + "/slurm");
  base::write_file(folder + "/plan.json", write_plan(plan));
  for (SlurmArray& array : arrays) {
    const std::string script = cat(folder, "/slurm/array-", array.offset, ".sh");
    base::write_file(script, array_script(array, plan, folder, options));
    array.job = sbatch(script);
    known.push_back(array);
    base::write_file(folder + "/slurm.json", members::write(kSchema, known, arrays_members<members::Writer>));
  }
  return arrays;
}

std::string slurm_text(const std::vector<SlurmArray>& arrays, const PlanFile& plan,
                       const std::set<std::string>& recorded) {
  std::string note;
  const std::map<std::int64_t, SlurmTask> states = task_states(arrays, note);
  std::map<std::string, std::int64_t> queued, reasons;
  std::map<std::string, std::vector<std::string>> ended;  // names of tasks without a record, by state
  std::int64_t requeued = 0;
  std::vector<std::string> unknown;
  for (const SlurmArray& array : arrays) {
    for (const std::int64_t task : array.tasks) {
      const std::int64_t index = array.offset + task;
      const std::string name = cat(array.job, "_", task);
      const auto it = states.find(index);
      const auto at = static_cast<std::size_t>(index);
      const bool has_record = at < plan.experiments.size() && recorded.contains(plan.experiments[at].key);
      if (it != states.end() && is_queued(it->second)) {
        ++queued[it->second.state];
        requeued += it->second.restarts > 0;
        if (it->second.state == "PENDING" && !it->second.reason.empty()) ++reasons[it->second.reason];
      } else if (has_record) {
        continue;
      } else if (it != states.end()) {
        ended[it->second.state].push_back(name);
      } else {
        unknown.push_back(name);
      }
    }
  }
  std::string out = cat("Slurm        jobs ", base::joined(arrays, ", ", &SlurmArray::job), "\n");
  const auto row = [&](std::string name, const std::string& text) {
    name.resize(std::max<std::size_t>(13, name.size() + 1), ' ');
    out += cat(name, text, "\n");
  };
  const auto some = [](std::vector<std::string> names) {
    const std::size_t count = names.size();
    names.resize(std::min<std::size_t>(count, 8));
    return cat(count, ": ", base::joined(names, " "), count > 8 ? " …" : "");
  };
  for (const auto& [state, count] : queued) {
    const std::string why = state != "PENDING" ? "" : base::joined(reasons, ", ", [](const auto& reason) {
      return cat(base::printable(reason.first), " ", reason.second);
    });
    row(base::lower(state), why.empty() ? cat(count) : cat(count, " (", why, ")"));
  }
  if (requeued > 0) row("requeued", cat(requeued, " of these, once or more"));
  for (const auto& [state, names] : ended)
    row(base::lower(state), some(names) + " (without a record; slurm/TASK.out says why; submit again)");
  if (!note.empty())
    row("state", "unknown: " + note);
  else if (!unknown.empty())
    row("forgotten", some(unknown) + " (without a record, and Slurm no longer knows them; submit again)");
  return out;
}

bool in_slurm() { return std::getenv("SLURM_JOB_ID") != nullptr; }

std::optional<std::int64_t> allocated_bytes() {
  // In MiB; 0 means the whole node.
  const char* node = std::getenv("SLURM_MEM_PER_NODE");
  if (const auto size = integer(node ? node : ""); size && *size > 0) return *size << 20;
  const char *cpu = std::getenv("SLURM_MEM_PER_CPU"), *cpus = std::getenv("SLURM_CPUS_ON_NODE");
  const auto each = integer(cpu ? cpu : ""), count = integer(cpus ? cpus : "");
  if (each && count && *each > 0 && *count > 0) return (*each << 20) * *count;
  return std::nullopt;
}

}  // namespace pagoda::tools::bench
