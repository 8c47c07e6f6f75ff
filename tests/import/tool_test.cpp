// The command line of pagoda-import: exit codes, streams, files.
#include <doctest/doctest.h>

#include "import/import_data.h"
#include "pagoda/base/files.h"
#include "support/files.h"
#include "support/workshop.h"

#ifdef PAGODA_IMPORT

namespace pagoda::measured {
namespace {

using test::Outcome;

struct Workshop : test::Workshop {
  Workshop() {
    const Model model = load_model(test::source_path("models/skeletons/resnet50.onnx"));
    base::write_file(path("estimate.json"), documents::write_estimate(estimate::make_estimate(model)));
    base::write_file(path("garbage.json"), "{\"schemaVersion\": 1, \"traceEvents\": [{]");
  }

  // `arguments` is shell text.
  Outcome run(const std::string& arguments) const { return shell("'" PAGODA_IMPORT "' " + arguments); }
};

}  // namespace

TEST_CASE("pagoda-import writes a measurement, and with an estimate a table") {
  const Workshop workshop;
  const std::string profile = "'" + test::data_path("ort_resnet50_all.json") + "'";
  const Outcome plain = workshop.run(profile);
  CHECK(plain.code == 0);
  CHECK(documents::parse_measured(plain.out, "out").kernels.size() == 58);

  const Outcome joined = workshop.run(profile + " --estimate estimate.json -o measured.json --top 3 --width 100");
  CHECK(joined.code == 0);
  CHECK(joined.out.find("by output + absorbed 49 kernels") != std::string::npos);
  CHECK(joined.out.find("54 more") != std::string::npos);
  CHECK(joined.out.find("change of layout") != std::string::npos);
  CHECK(documents::load_measured(workshop.path("measured.json")).join.has_value());

  const Outcome layers = workshop.run("'" + test::data_path("tensorrt_profile.json") +
                                      "' --format tensorrt --layers '" + test::data_path("tensorrt_layers.json") + "'");
  CHECK(layers.code == 0);
  CHECK(documents::parse_measured(layers.out, "out").kernels[1].op_type == "CaskConvolution");
}

TEST_CASE("pagoda-import says what is wrong: 1 for input, 2 for usage") {
  const Workshop workshop;
  const Outcome garbage = workshop.run("garbage.json");
  CHECK(garbage.code == 1);
  CHECK(garbage.err == "pagoda-import: garbage.json: not JSON, byte 39 (line 1, column 39); write or download it "
        "again\n");
  CHECK(garbage.out.empty());
  CHECK(workshop.run("nonexistent.json").code == 1);
  CHECK(workshop.run("'" + test::data_path("ncu_raw.csv") + "' --runs 4").code == 1);
  CHECK(workshop.run("'" + test::data_path("ncu_raw.csv") + "' --estimate garbage.json").code == 1);
  CHECK(workshop.run("'" + test::data_path("ncu_raw.csv") + "' -o /nonexistent/x.json").code == 1);
  CHECK(workshop.run("").code == 2);
  CHECK(workshop.run("garbage.json --format perf").code == 2);
  CHECK(workshop.run("garbage.json --runs 0").code == 2);
  CHECK(workshop.run("--help").code == 0);
}

}  // namespace pagoda::measured

#endif
