// `pagoda-bench submit` and what `status` reports about a submission, against fake sbatch, squeue, sacct and scontrol:
// contents of the scripts, splitting, states, errors. slurm_test.sh does it with a real Slurm.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "pagoda/documents/result.h"
#include "pagoda/present/report.h"
#include "slurm.h"
#include "support/files.h"
#include "support/workshop.h"
#include "system_files.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;

using test::Outcome;

struct Cluster : test::Workshop {
  Cluster() {
    fs::create_directories(path("bin"));
    base::write_file(folder + "/study.toml", R"(
      backend = "fake"
      batch = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
      [backends.fake]
      command = [")" PAGODA_FAKE_WORKER R"("]
      [measure]
      budget_seconds = 0.1
      warmup_seconds = 0.1
      [limits]
      seconds = 90
      memory = "900MB"
    )");
    program("scontrol", "echo 'MaxArraySize            = 5'");
    // Job numbers from 101 on; keeps the script that it was given.
    program("sbatch", "n=$(cat n 2>/dev/null || echo 101); echo $((n + 1)) > n; cp \"$2\" job-$n.sh; echo \"$n;all\"");
    program("squeue", "cat queue 2>/dev/null; true");
    program("sacct", "cat account 2>/dev/null || { echo 'Slurm accounting storage is disabled' >&2; exit 1; }");
  }

  // A program that runs in the folder in which the tool was started.
  void program(const std::string& name, const std::string& body) const {
    base::write_file(folder + "/bin/" + name, "#!/bin/sh\n" + body + "\n");
    ::chmod((folder + "/bin/" + name).c_str(), 0755);
  }
  Outcome run(const std::string& arguments, const std::string& before = "PATH=\"$PWD/bin:$PATH\" ") const {
    return shell(before + "'" PAGODA_BENCH "' " + arguments);
  }
  std::string file(const std::string& name) const { return test::read_file(folder + "/" + name); }
};

TEST_CASE("numbers of tasks are written as sbatch reads them, split below the largest array") {
  CHECK(tools::ranges({}) == "");
  CHECK(tools::ranges({4}) == "4");
  CHECK(tools::ranges({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  const auto arrays = tools::bench::split_arrays({0, 3, 4, 5, 11, 12}, 5);
  REQUIRE(arrays.size() == 3);
  CHECK(arrays[0].tasks == std::vector<std::int64_t>{0, 3, 4});
  CHECK(arrays[1].offset == 5);
  CHECK(arrays[1].tasks == std::vector<std::int64_t>{0});
  CHECK(arrays[2].offset == 10);
  CHECK(arrays[2].tasks == std::vector<std::int64_t>{1, 2});
  CHECK(tools::bench::split_arrays({}, 5).empty());
}

TEST_CASE("--dry-run prints the scripts and touches nothing") {
  const Cluster cluster;
  const Outcome r = cluster.run(
      "submit --slurm study.toml -o '50% out' --dry-run --partition gpu --account lab --gpus-per-task h100:1 "
      "--max-parallel 3 --sbatch-option constraint=a100 --sbatch-option --exclusive --verify --threshold 0.1 "
      "--retry failed");
  REQUIRE(r.code == 0);
  for (const std::string line : {
           "#!/bin/bash\n",
           "#SBATCH --array=0-4%3\n",
           "#SBATCH --array=0-1%3\n",  // experiments 10 and 11
           "#SBATCH --requeue\n",
           "#SBATCH --time=8\n",    // 90 s, another 90 s for the reference, and 300 s
           "#SBATCH --mem=954M\n",  // 10/9 of 900 MB, in MiB
           "#SBATCH --partition='gpu'\n",
           "#SBATCH --account='lab'\n",
           "#SBATCH --gpus-per-task='h100:1'\n",
           "#SBATCH --constraint='a100'\n",
           "#SBATCH --exclusive\n",
           "/50%% out/slurm/%A_%a.out'\n",
           "/50% out' '--threshold' '0.1' '--retry' 'failed' --index $((SLURM_ARRAY_TASK_ID + 10))\n",
       })
    CHECK_MESSAGE(r.out.find(line) != std::string::npos, line);
  CHECK(!fs::exists(cluster.folder + "/50% out"));
  CHECK(!fs::exists(cluster.folder + "/n"));
  CHECK(cluster.run("submit --slurm study.toml -o out --dry-run --time 1-0").says("#SBATCH --time='1-0'\n"));
}

TEST_CASE("a script's tasks run their experiments, each once") {
  const Cluster cluster;
  const Outcome submitted = cluster.run("submit --slurm study.toml -o out");
  REQUIRE_MESSAGE(submitted.code == 0, submitted.err);
  CHECK(submitted.out == "job 101: 5 experiments\njob 102: 5 experiments\njob 103: 2 experiments\n");
  // Each task runs twice, as if it had been requeued.
  const std::string tasks =
      "for job in 101:4 102:4 103:1 101:1; do for t in $(seq 0 ${job#*:}); do SLURM_JOB_ID=1 "
      "SLURM_ARRAY_TASK_ID=$t bash job-${job%:*}.sh || exit 1; done; done";
  REQUIRE(cluster.shell(tasks).code == 0);
  const documents::ResultSet set = documents::load_results(cluster.folder + "/out");
  CHECK(set.results.size() == 12);
  CHECK(set.duplicates == 0);
  CHECK(cluster.run("status out").out ==
        "experiments  12\nok           12\nleft         0\nSlurm        jobs 101, 102, 103\n");
  CHECK(cluster.run("submit --slurm study.toml -o out").says("nothing to submit"));
}

TEST_CASE("status tells what Slurm says of tasks without a record") {
  const Cluster cluster;
  REQUIRE(cluster.run("submit --slurm study.toml -o out").code == 0);
  base::write_file(
      cluster.folder + "/queue",
      "  101_0|RUNNING|0|None|\n  101_1|RUNNING|1|None|\n 101_2|PENDING|0|Resources|\n 101_3|PENDING|2|BeginTime|\n"
      "101_4|TIMEOUT|0|TimeLimit|\n102_0|NODE_FAIL|0|None|\nnonsense\n999_1|FAILED|0|None|\n102_77|FAILED|0|x|\n");
  base::write_file(cluster.folder + "/account", "101_0|FAILED\n102_1|CANCELLED by 0\n102_2|OUT_OF_MEMORY\n");
  const Outcome r = cluster.run("status out");
  CHECK(r.code == 0);
  CHECK(r.out ==
        "experiments  12\nok           0\nleft         12\nSlurm        jobs 101, 102, 103\n"
        "pending      2 (BeginTime 1, Resources 1)\nrunning      2\nrequeued     2 of these, once or more\n"
        "cancelled    1: 102_1 (without a record; slurm/TASK.out says why; submit again)\n"
        "node_fail    1: 102_0 (without a record; slurm/TASK.out says why; submit again)\n"
        "out_of_memory 1: 102_2 (without a record; slurm/TASK.out says why; submit again)\n"
        "timeout      1: 101_4 (without a record; slurm/TASK.out says why; submit again)\n"
        "forgotten    4: 102_3 102_4 103_0 103_1 (without a record, and Slurm no longer knows them; submit "
        "again)\n");
  // Queued tasks are not submitted again; the rest are.
  const Outcome again = cluster.run("submit --slurm study.toml -o out");
  CHECK(again.out == "job 104: 1 experiments\njob 105: 5 experiments\njob 106: 2 experiments\n");
  CHECK(cluster.file("job-104.sh").find("#SBATCH --array=4\n") != std::string::npos);
  // A different plan under job numbers that are queued would run other experiments.
  const Outcome other = cluster.run("submit --slurm study.toml -o out --filter batch=1");
  CHECK(other.code == 1);
  CHECK(other.says("4 tasks of another plan are still queued there"));
}

TEST_CASE("what cannot be submitted says why") {
  const Cluster cluster;
  struct Case {
    const char *sbatch, *arguments;
    int code;
    const char* message;
  };
  // clang-format off
  const Case cases[] = {
      {"echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1", "-o out", 1, "Invalid account; mend --partition"},
      {"echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1", "-o out", 4, "scontrol ping"},
      {"echo 'sbatch: fatal: Could not establish a configuration source' >&2; exit 1", "-o out", 4, "slurmctld and munged"},
      {"echo hello", "-o out", 1, "sbatch exited with 0: hello"},
      {"echo 7", "", 2, "say where results go"},
      {"echo 7", "-o out --partition \"a'b\"", 1, "cannot stand in a job script"},
      {"echo 7", "-o out --sbatch-option 'x y=1'", 2, "expected NAME or NAME=VALUE"},
      {"echo 7", "-o out --max-parallel 0", 2, "--max-parallel"},
      {"echo 7", "-o out --filter nothing", 1, "there is nothing to run"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.sbatch);
    CAPTURE(c.arguments);
    cluster.program("sbatch", c.sbatch);
    const Outcome r = cluster.run(std::string("submit --slurm study.toml ") + c.arguments);
    CHECK(r.code == c.code);
    CHECK_MESSAGE(r.says(c.message), r.err);
    CHECK(!fs::exists(cluster.folder + "/out/slurm.json"));
  }
  CHECK(cluster.run("submit study.toml -o out").code == 2);
  const Outcome nowhere = cluster.run("submit --slurm study.toml -o out", "PATH=/nonexistent ");
  CHECK(nowhere.code == 4);
  CHECK(nowhere.says("sbatch: not found; submit from a login node"));
  // Only some arrays were accepted: these are recorded, and the rest is submitted later.
  cluster.program(
      "sbatch",
      "[ -e full ] && { echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; exit 1; }; touch full; echo 7");
  CHECK(cluster.run("submit --slurm study.toml -o out").code == 1);
  REQUIRE(tools::bench::load_submission(cluster.folder + "/out").size() == 1);
  CHECK(tools::bench::load_submission(cluster.folder + "/out")[0].job == "7");
  // When it is unknown what is queued, nothing is submitted, so nothing is submitted twice.
  cluster.program("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
  CHECK(cluster.run("submit --slurm study.toml -o out").code == 4);
  CHECK(cluster.run("status out").says("state        unknown: squeue: slurm_load_jobs error: Unable to contact"));
  cluster.program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
  CHECK(cluster.run("status out").says("forgotten    5: 7_0 7_1"));
}

TEST_CASE("a worker that a dying job takes with it is not a result") {
  const Cluster cluster;
  REQUIRE(cluster.run("submit --slurm study.toml -o out").code == 0);
  // The worker is killed first, the runner a moment later, as when Slurm ends a job.
  const std::string script =
      "SLURM_JOB_ID=1 SLURM_ARRAY_TASK_ID=0 bash job-101.sh & runner=$!; sleep 0.5; kill -TERM $runner; wait $runner";
  cluster.program("slow", "sleep 0.2; kill -9 $$");
  base::write_file(cluster.folder + "/study.toml",
                   "backend = \"fake\"\n[backends.fake]\ncommand = [\"" + cluster.folder + "/bin/slow\"]\n");
  REQUIRE(cluster.run("submit --slurm study.toml -o slow").code == 0);
  REQUIRE(cluster.file("job-104.sh").find("/slow'") != std::string::npos);
  std::string slow = script;
  slow.replace(slow.find("101"), 3, "104");
  CHECK(cluster.shell(slow).code == 130);
  CHECK(documents::load_results(cluster.folder + "/slow").results.empty());
  // A worker that dies while its runner lives is a result.
  REQUIRE(cluster.run("task slow --index 0").code == 0);
  const documents::ResultSet set = documents::load_results(cluster.folder + "/slow");
  REQUIRE(set.results.size() == 1);
  CHECK(set.results[0].status == documents::ResultStatus::Killed);
}

TEST_CASE("the memory of a task is what Slurm gave it") {
  const auto with = [](const char* node, const char* cpu, const char* cpus) {
    for (const auto& [name, value] :
         {std::pair{"SLURM_MEM_PER_NODE", node}, {"SLURM_MEM_PER_CPU", cpu}, {"SLURM_CPUS_ON_NODE", cpus}}) {
      if (value)
        ::setenv(name, value, 1);
      else
        ::unsetenv(name);
    }
    return tools::bench::allocated_bytes();
  };
  CHECK(with("2048", nullptr, nullptr) == std::int64_t{2} << 30);
  CHECK(with(nullptr, "512", "4") == std::int64_t{2} << 30);
  CHECK(!with("0", nullptr, "4"));
  CHECK(!with("none", nullptr, nullptr));
  CHECK(!with(nullptr, nullptr, nullptr));
}

}  // namespace
}  // namespace pagoda
