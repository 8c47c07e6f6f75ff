// What onnx-estimate says of a device: bounds, fit, measured runs, predictions, budgets.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "tools/estimate_models.h"

namespace pagoda {
namespace {

using nlohmann::json;

using namespace test::estimate;
using test::Outcome;

TEST_CASE("models that run one after another are summed up by how often they run") {
  const Outcome table = workshop().run("fixed.onnx --then product.onnx:50 --device h200");
  CHECK(table.code == 0);
  CHECK(test::contains(table.out, "product.onnx"));
  CHECK(test::contains(table.out, "with all weights on the device · fits"));
  const Outcome run = workshop().run("fixed.onnx:2 --then product.onnx:50 --device h200 --batch 1 --format json");
  const auto document = json::parse(run.out);
  for (const std::string& violation : test::violations(document, test::schema("pipeline"))) FAIL_CHECK(violation);
  const auto& parts = document["parts"];
  REQUIRE(parts.size() == 2);
  CHECK(parts[0]["runs"] == 2);
  const auto& totals = document["totals"];
  const std::int64_t conv = 64 * 4 * 27, product = 4096 * 4096;  // --batch 1: one row of 4096
  CHECK(totals["macs"] == 2 * conv + 50 * product);
  const double seconds = 2 * parts[0]["seconds"].get<double>() + 50 * parts[1]["seconds"].get<double>();
  CHECK(totals["seconds"].get<double>() == doctest::Approx(seconds));
  const std::int64_t weights = 4 * (108 + 4096 * 4096), activations = parts[1]["activation_peak_bytes"];
  CHECK(totals["resident_bytes"] == weights + activations);
  CHECK(totals["in_turn_bytes"] == 4 * 4096 * 4096 + activations);
  CHECK(csv_rows(workshop().run("fixed.onnx --then product.onnx:50 --format csv").out).size() == 3);
  // Each part takes the dims that it uses.
  CHECK(workshop().run("audio.onnx --then product.onnx --dim samples=16000 --dim n=1").code == 0);
  CHECK(workshop().run("audio.onnx --then product.onnx --dim height=1").code == 2);
  CHECK(workshop().run("fixed.onnx --then product.onnx:0").code == 2);
  CHECK(workshop().run("fixed.onnx --then product.onnx --sweep batch=1,2").code == 2);
  CHECK(workshop().run("fixed.onnx --then partial.onnx --strict").code == 3);
}

TEST_CASE("time bounds: nodes sum to the total, fused or not") {
  for (const char* traffic : {"unfused", "fused", "resident"}) {
    const json report = json::parse(
        workshop().run("net.onnx --batch 64 --device h200 --format json --traffic " + std::string(traffic)).out);
    double sum = 0, bytes = 0;
    for (const json& node : report["roofline"]["nodes"]) {
      sum += node["seconds"].get<double>();
      bytes += node["bytes"].get<double>();
    }
    CHECK(sum == doctest::Approx(report["roofline"]["seconds"].get<double>()));
    const bool is_unfused = std::string(traffic) == "unfused";
    CHECK(bytes == doctest::Approx(report[is_unfused ? "totals" : "traffic"]["bytes"].get<double>()));
  }
  CHECK(workshop().run("net.onnx --device h200 --by node").out.find("time ≥") != std::string::npos);
}

TEST_CASE("with a device the answer says whether the model fits, how fast it can be and what would be faster") {
  const Outcome result = workshop().run("net.onnx --batch 64 --device h200 --traffic unfused");
  CHECK(result.code == 0);
  CHECK(lines(result.out) <= 20);
  for (const char* text : {"\nfits      yes", "largest batch", "\ntime ", "items/s", "\nadvice ",
                           "Capture a CUDA graph", "--batch ", "\nheaviest "})
    CHECK_MESSAGE(result.out.find(text) != std::string::npos, text, "\n", result.out);
}

TEST_CASE(
    "a decoder that needs a little more than the device's memory does not read as exactly all of it; rates are of "
    "tokens") {
  const std::string model = test::source_path("models/skeletons/llama_3_1_70b.onnx");
  const std::string out = workshop().run("'" + model + "' --batch 1 --phase decode --past 1024 --device h200").out;
  const std::string table =
      workshop().run("'" + model + "' --batch 1 --phase decode --past 1024 --device h200,b200").out;
  CHECK_MESSAGE(table.find("tokens/s ≤") != std::string::npos, table);
  CHECK_MESSAGE(out.find("\nfits  does not fit: 141 GB of 141 GB (100.3 %)") != std::string::npos, out);
  CHECK_MESSAGE(out.find("100.3 % of the 141 GB") != std::string::npos, out);
}

TEST_CASE("several numbers of devices are a table of a row each, with a prompt beside the step") {
  const std::string model = "'" + test::source_path("models/skeletons/mistral_7b.onnx") + "'";
  const std::string step = model + " --batch 8 --phase decode --past 1023 --traffic fused ";
  const std::string options = "--device l40s,h200 --tensor-parallel 1,2,4 --prompt 512 --price-per-hour h200=3.6 ";
  const Outcome result = workshop().run(step + options + "--format json");
  REQUIRE(result.code == 0);
  const json document = json::parse(result.out);
  for (const std::string& violation : test::violations(document, test::schema("estimate"))) FAIL_CHECK(violation);
  const json& rows = document["variants"];
  REQUIRE(rows.size() == 6);
  CHECK(rows[4]["device"] == "h200");
  CHECK(rows[4]["parallel"] == json{{"tensor", 2}, {"pipeline", 1}, {"expert", 1}});
  const json one = json::parse(workshop().run(step + "--device h200 --tensor-parallel 2 --format json").out);
  CHECK(rows[4]["seconds"] == one["roofline"]["seconds"]);
  CHECK(rows[4]["longest_context"] == one["fit"]["longest_context"]);
  const auto cells = csv_rows(workshop().run(step + options + "--format csv").out);
  REQUIRE(cells.size() == 7);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(cells[0].begin(), cells[0].end(), name) - cells[0].begin());
  };
  REQUIRE(column("prompt_seconds") < cells[0].size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(cells[i + 1][column("devices")] == std::to_string(rows[i]["parallel"]["tensor"].get<int>()));
    CHECK(std::stod(cells[i + 1][column("prompt_seconds")]) ==
          doctest::Approx(rows[i]["prompt"]["seconds"].get<double>()));
  }
  for (const char* format : {"", "--format markdown"}) {
    const std::string text = workshop().run(step + options + format).out;
    for (const char* part : {"devices", "a device ≤", "most users", "longest context", "prompt of 512 ≥",
                             "price of a million ≥", "fewest that hold it: 1 × l40s, 1 × h200"})
      CHECK_MESSAGE(test::contains(text, part), part, "\n", text);
  }
  // One device alone, with a prompt: a table of one row.
  CHECK(json::parse(workshop().run(step + "--device h200 --prompt 512 --format json").out)["variants"].size() == 1);
  for (const char* wrong :
       {"--device h200 --tensor-parallel 2,x", "--device h200 --tensor-parallel 0", "--device h200 --tensor-parallel ,",
        "--device h200 --expert-parallel 1,,2", "--device h200 --pipeline-parallel 2000000",
        "--device h200 --tensor-parallel 1,2 --by node", "--tensor-parallel 1,2",
        "--device h200 --tensor-parallel 1,2 --sweep batch=1,2", "--prompt 512",
        "--device h200 --tensor-parallel 1,2 --max-seconds 1", "--device h200 --prompt 5 --compare x"})
    CHECK_MESSAGE(workshop().run(step + wrong).code == 2, wrong);
  CHECK(workshop().run(model + " --phase prefill --tokens 5 --device h200 --prompt 512").code == 2);
  CHECK(workshop().run(step + "--device h200,l40s --tensor-parallel 5").code == 1);
}

TEST_CASE("what does not fit a device is said, and --max-memory device makes it an error") {
  const json fits = json::parse(workshop().run("net.onnx --device rtx-3090 --format json").out)["fit"];
  CHECK(fits["fits"] == true);
  const std::int64_t largest = fits["largest_batch"];
  CHECK(largest > 1);
  const auto at = [&](std::int64_t batch, const std::string& more) {
    return workshop().run("net.onnx --device rtx-3090 --batch " + std::to_string(batch) + more);
  };
  CHECK(json::parse(at(largest, " --format json").out)["fit"]["fits"] == true);
  CHECK(json::parse(at(largest + 1, " --format json").out)["fit"]["fits"] == false);
  CHECK(at(largest + 1, "").out.find("does not fit") != std::string::npos);
  CHECK(at(largest + 1, "").code == 0);
  CHECK(at(largest, " --max-memory device").code == 0);
  CHECK(at(largest + 1, " --max-memory device").code == 3);
  const Outcome sweep = workshop().run("net.onnx --device rtx-3090 --sweep batch=1,1000000000 --max-memory device");
  CHECK(sweep.code == 3);
  CHECK(sweep.err.find("at batch=1000000000") != std::string::npos);
  CHECK(workshop().run("net.onnx --device rtx-3090 --sweep batch=1,2 --max-memory device").code == 0);
}

TEST_CASE("measured runs stand beside the bound, of one size and of a sweep") {
  base::write_file(
      workshop().path("runs.json"),
      R"({"schema": "pagoda.measured/1", "source": "pagoda-bench", "tool": null, "device": null, "clocks": {},
      "env": {}, "repeats": 1, "warmup": 0, "seconds": null, "missing": [], "notes": [], "kernels": [], "runs": [
      {"config": {"batch": 2}, "seconds": 1e-3, "energy_joules": 0.5},
      {"config": {"batch": 4}, "seconds": 2e-3, "energy_joules": null}]})");
  const json one =
      json::parse(workshop().run("net.onnx --batch 2 --device h200 --measured runs.json --format json").out);
  CHECK(one["measured"]["seconds"] == 1e-3);
  CHECK(one["measured"]["joules"] == 0.5);
  CHECK(one["measured"]["bound_share"].get<double>() ==
        doctest::Approx(one["roofline"]["seconds"].get<double>() / 1e-3));
  CHECK(workshop().run("net.onnx --batch 2 --device h200 --measured runs.json").out.find("\nmeasured") !=
        std::string::npos);
  const json sweep =
      json::parse(workshop().run("net.onnx --sweep batch=1,2,4 --measured runs.json --format json").out)["sweep"];
  CHECK_FALSE(sweep["points"][0]["measured_seconds"].is_number());
  CHECK(sweep["points"][2]["measured_seconds"] == 2e-3);
  const auto csv = csv_rows(workshop().run("net.onnx --sweep batch=2 --measured runs.json --format csv").out);
  REQUIRE(csv.size() == 2);
  const auto cell = [&](const char* name) { return std::stod(csv[1].at(column(csv[0], name))); };
  CHECK(cell("measured_flops_per_second") == doctest::Approx(cell("flops") / 1e-3));
  CHECK(cell("measured_flops_per_joule") == doctest::Approx(cell("flops") / 0.5));
  const Outcome wrong = workshop().run("net.onnx --batch 8 --measured runs.json");
  CHECK(wrong.code == 1);
  CHECK(wrong.err.find("it ran ") != std::string::npos);
}

TEST_CASE("of several measured runs of a size the fastest is shown, and a training step is not taken for inference") {
  base::write_file(workshop().path("modes.json"),
                   R"({"schema": "pagoda.measured/1", "source": "jetson", "tool": null, "device": null, "clocks": {},
      "env": {}, "repeats": 1, "warmup": 0, "seconds": null, "missing": [], "notes": [], "kernels": [], "runs": [
      {"config": {"batch": 2, "gpu_hz": 2}, "seconds": 1e-3, "energy_joules": 0.5},
      {"config": {"batch": 2, "gpu_hz": 1}, "seconds": 2e-3, "energy_joules": 0.4},
      {"config": {"batch": 4, "mode": "training"}, "seconds": 9e-3, "energy_joules": null}]})");
  for (const char* arguments : {"--batch 2", "--sweep batch=2"}) {
    const Outcome o =
        workshop().run("net.onnx --device h200 --measured modes.json --format json " + std::string(arguments));
    const json document = json::parse(o.out);
    const json& at = document.contains("measured") ? document["measured"] : document["sweep"]["points"][0];
    CHECK(at[document.contains("measured") ? "seconds" : "measured_seconds"] == 1e-3);
    CHECK(o.out.find("the fastest of each size is shown, without 1 slower one") != std::string::npos);
  }
  const Outcome step = workshop().run("net.onnx --batch 4 --measured modes.json");
  CHECK(step.code == 1);
  CHECK(step.err.find("it ran a training step, the estimate is of inference") != std::string::npos);
  const Outcome trained = workshop().run("net.onnx --batch 4 --training --measured modes.json --format json");
  CHECK(json::parse(trained.out)["measured"]["seconds"] == 9e-3);
  // Its joules stand over the FLOPs of the step, in the answer as in a sweep.
  base::write_file(
      workshop().path("steps.json"),
      R"({"schema": "pagoda.measured/1", "source": "torch", "tool": null, "device": null, "clocks": {}, "env": {},
      "repeats": 1, "warmup": 0, "seconds": null, "missing": [], "notes": [], "kernels": [], "runs": [
      {"config": {"batch": 2, "mode": "training"}, "seconds": 1e-3, "energy_joules": 1}]})");
  const std::string training = "net.onnx --device h200 --training --measured steps.json ";
  const json swept = json::parse(workshop().run(training + "--sweep batch=2 --format json").out)["sweep"]["points"][0];
  const std::string answer = workshop().run(training + "--batch 2").out;
  const std::string rate = base::si_rate(swept["flops"].get<double>(), "FLOP/J");
  CHECK_MESSAGE(answer.find("1 J · " + rate) != std::string::npos, answer << rate);
}

TEST_CASE("CSV under fusion is kernels, and on a device it carries the bound of each") {
  const auto header = [](const std::string& arguments) {
    const std::string text = workshop().run("net.onnx --batch 2 --format csv " + arguments).out;
    return text.substr(0, text.find('\r'));
  };
  const std::string bound = ",seconds,compute_seconds,memory_seconds,bound,share,headroom";
  const std::string node_tail = ",body,dequantized_from,group,peak_precision,unit,level";
  const std::string kernel_tail = ",joined_by,peak_precision,unit,level";
  CHECK(header("--device h200").ends_with(",precision,mark,problem" + bound + node_tail));
  CHECK(header("--traffic fused").starts_with("index,kernel,ops,nodes,macs,"));
  CHECK(header("--traffic fused --device h200").ends_with(",saved_bytes,rule" + bound + kernel_tail));
  CHECK(header("--traffic fused --by node").starts_with("index,name,"));
  CHECK(lines(workshop().run("net.onnx --traffic fused --format csv").out) > 1);
}

TEST_CASE("where multiply-accumulates are counted, nothing is called a FLOP") {
  for (const char* arguments :
       {"", " --by type", " --by node", " --symbolic", " --training", " --symbolic --by node --format markdown",
        " --device h200 --sweep batch=1,2", " --compare product.onnx", " --then product.onnx"}) {
    const std::string text = workshop().run("net.onnx --count macs" + std::string(arguments)).out;
    CHECK(text.find("FLOP") == std::string::npos);
    CHECK(text.find("MAC") != std::string::npos);
  }
}

TEST_CASE("several devices or precisions are a table of one row each") {
  const json devices = json::parse(
      workshop().run("net.onnx --batch 8 --device h200,rtx-3090 --price-per-hour h200=3.6 --format json").out);
  REQUIRE(devices["variants"].size() == 2);
  const json& h200 = devices["variants"][0];
  CHECK(h200["device"] == "h200");
  CHECK(h200["price_per_million"].get<double>() ==
        doctest::Approx(3.6 / 3600 * 1e6 / h200["items_per_second"].get<double>()));
  CHECK_FALSE(devices["variants"][1].contains("price_per_million"));
  const auto priced = [](const std::string& prices) {
    return workshop().run("net.onnx --batch 8 --device h200,rtx-3090 --format json " + prices).out;
  };
  const std::string listed = priced("--price-per-hour h200=3.6,rtx-3090=0.4");
  CHECK(listed == priced("--price-per-hour h200=3.6 --price-per-hour rtx-3090=0.4"));
  CHECK(json::parse(listed)["variants"][1].contains("price_per_million"));
  const json alone = json::parse(workshop().run("net.onnx --batch 8 --device rtx-3090 --format json").out);
  CHECK(devices["variants"][1]["seconds"] == alone["roofline"]["seconds"]);
  CHECK(devices["variants"][1]["total_bytes"] == alone["fit"]["total_bytes"]);

  const json what_if = json::parse(workshop().run("net.onnx --device h200 --what-if fp32,fp16,int8 --format json").out);
  REQUIRE(what_if["variants"].size() == 6);
  const json half =
      json::parse(workshop().run("net.onnx --device h200 --precision fp16 --traffic fused --format json").out);
  CHECK(what_if["variants"][3]["precision"] == "float16");
  CHECK(what_if["variants"][3]["traffic"] == "fused");
  CHECK(what_if["variants"][3]["seconds"] == half["roofline"]["seconds"]);
  CHECK(h200["items_per_second"].get<double>() == doctest::Approx(8 / h200["seconds"].get<double>()));
  // CSV has the same rows.
  const auto rows = csv_rows(workshop().run("net.onnx --device h200 --what-if fp32,fp16,int8 --format csv").out);
  REQUIRE(rows.size() == what_if["variants"].size() + 1);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const json& variant = what_if["variants"][i - 1];
    for (std::size_t at = 0; at < rows[0].size(); ++at) {
      const auto field = variant.find(rows[0][at]);
      if (field == variant.end() || field->is_null())
        CHECK(rows[i][at].empty());
      else if (field->is_number())
        CHECK(std::stod(rows[i][at]) == field->get<double>());
      else
        CHECK(rows[i][at] == (field->is_string() ? field->get<std::string>() : field->dump()));
    }
  }
  CHECK(csv_rows(workshop().run("net.onnx --device orin-agx --sweep mode=maxn,30w --format csv").out).size() == 3);
  CHECK(workshop().run("net.onnx --device h200 --what-if fp32,fp16").out.find("moves the time most") !=
        std::string::npos);
}

// Each sum is the same wherever it is printed, and no row moves or computes more than the device can.
TEST_CASE("outputs agree on every sum, and rows keep to the roofs, whatever is asked for") {
  for (const char* device : {"h200", "orin-agx", "rtx-3090"}) {
    const DeviceSpec spec = documents::device(device);
    for (const char* precision : {"", " --precision fp32", " --precision fp16", " --precision int8"})
      for (const char* traffic : {"unfused", "fused", "resident"}) {
        const std::string arguments =
            "net.onnx --batch 4 --traffic " + std::string(traffic) + precision + " --device " + device;
        CAPTURE(arguments);
        const json report = json::parse(workshop().run(arguments + " --format json").out);
        const json& totals = report["totals"];
        const double bandwidth = *spec.level("dram")->bytes_per_second.value;
        double seconds = 0, bytes = 0;
        for (const json& node : report["roofline"]["nodes"]) {
          seconds += node["seconds"].get<double>();
          bytes += node["bytes"].get<double>();
          CHECK(node["bytes"].get<double>() <= bandwidth * node["seconds"].get<double>() * (1 + 1e-9));
        }
        CHECK(seconds == doctest::Approx(report["roofline"]["seconds"].get<double>()));
        const bool is_unfused = std::string(traffic) == "unfused";
        const double moved = report[is_unfused ? "totals" : "traffic"]["bytes"].get<double>();
        CHECK(bytes == doctest::Approx(moved));
        double rows = 0, fused = 0;
        for (const json& node : report["nodes"]) rows += node["bytes"].get<double>();
        for (const json& group : report.value("traffic", json::object()).value("groups", json::array()))
          fused += group["bytes"].get<double>();
        const bool is_resident = std::string(traffic) == "resident";  // its groups move less than they list
        CHECK(rows == totals["bytes"].get<double>());                 // unfused by definition
        CHECK((is_resident || (is_unfused ? rows : fused) == moved));
        CHECK(report["fit"]["weight_bytes"] == totals["param_bytes"]);
        CHECK(report["fit"]["total_bytes"].get<double>() ==
              totals["param_bytes"].get<double>() + totals["activation_peak_bytes"].get<double>());
        // The CSV's columns and the table's last lines must give the same sums.
        const auto csv_of = csv_rows(workshop().run(arguments + " --by node --format csv").out);
        const std::size_t bytes_at = column(csv_of[0], "bytes"), seconds_at = column(csv_of[0], "seconds");
        double csv = 0, csv_seconds = 0;
        for (std::size_t row = 1; row < csv_of.size(); ++row) {
          csv += std::stod(csv_of[row].at(bytes_at));
          csv_seconds += std::stod(csv_of[row].at(seconds_at));
        }
        CHECK(csv == rows);
        CHECK(csv_seconds == doctest::Approx(seconds));
        const std::string table = workshop().run(arguments + " --by node").out;
        CHECK(table.find(base::grouped(static_cast<Int>(moved))) != std::string::npos);
      }
  }
}

TEST_CASE("the time under ONNX Runtime on a CPU comes with the machine that was measured") {
  const std::string here = test::source_path("tests/predict/data/here.json");
  const std::string predicts = "net.onnx --predict --engine onnxruntime-cpu";
  const Outcome result = workshop().run(predicts + " --format json --calibration " + here);
  REQUIRE(result.code == 0);
  const json estimate = json::parse(result.out);
  for (const std::string& violation : test::violations(estimate, test::schema("estimate"))) FAIL_CHECK(violation);
  const json& roofline = estimate.at("roofline");
  CHECK(roofline.at("device") == "measured");
  CHECK(roofline.at("predicted").at("engine") == "onnxruntime-cpu");
  CHECK(roofline.at("predicted").at("node_seconds").size() == estimate.at("nodes").size());
  CHECK(roofline.at("predicted").at("seconds") > 0);
  for (const auto& [extra, message] : {std::pair<std::string, std::string>{"", "pagoda-calibrate --here"},
                                       {" --device h200 --calibration " + here, "does not go with --device"},
                                       {" --what-if fp32,fp16 --calibration " + here, "precisions of the file"},
                                       {" --precision int8 --calibration " + here, "--what-if fp32,int8"}}) {
    const Outcome refused = workshop().run(predicts + extra);
    CHECK(refused.code == 2);
    CHECK(refused.err.find(message) != std::string::npos);
  }
}

TEST_CASE("several engines are a table whose first line is the verdict") {
  const std::string here = test::source_path("tests/predict/data/here.json"),
                    gpu = test::source_path("data/measured/nvidia-h200-onnxruntime-cuda.json");
  const std::string both = "net.onnx --predict --engine onnxruntime-cpu,onnxruntime-cuda --calibration " + here;
  const Outcome result = workshop().run(both + "," + gpu + " --format json");
  REQUIRE(result.code == 0);
  const json table = json::parse(result.out);
  for (const std::string& violation : test::violations(table, test::schema("engines"))) FAIL_CHECK(violation);
  REQUIRE(table.at("rows").size() == 2);
  for (const json& row : table.at("rows")) CHECK(row.at("predicted_seconds") > 0);
  const Outcome text = workshop().run(both + "," + gpu);
  CHECK(text.out.starts_with(table.at("verdict").get<std::string>() + "\n"));
  const Outcome forms = workshop().run(both + " --device t4 --what-if fp32,int8");
  CHECK(forms.code == 0);
  CHECK(forms.out.find("it has no calibration; pagoda-calibrate --here onnxruntime-cuda") != std::string::npos);
  CHECK(workshop().run(both + " --device t4 --strict").code == 3);
  const Outcome two = workshop().run("net.onnx product.onnx" + both.substr(8) + " --device t4,l4 --format csv");
  CHECK(std::ranges::count(two.out, '\n') == 1 + 2 * 3);  // the CPU and two GPUs
  for (const auto& [extra, message] : {std::pair<std::string, std::string>{"," + gpu + " --device t4", "--device"},
                                       {"," + here, "is a second calibration of onnxruntime-cpu"},
                                       {" --by node", "--engine with several does not go with --by"},
                                       {" --phase decode", "--engine with several does not go with --phase"}}) {
    const Outcome refused = workshop().run(both + extra);
    CHECK_MESSAGE(refused.code == 2, refused.err);
    CHECK_MESSAGE(refused.says(message), refused.err);
  }
  const Outcome other = workshop().run("net.onnx --predict --engine pytorch-amp,tensorrt --device t4 --calibration " + here);
  CHECK(other.err.find("is of onnxruntime-cpu, which is not one of --engine") != std::string::npos);
}

TEST_CASE("engines are predicted for several devices, precisions and both models of a comparison") {
  const auto read = [](const std::string& arguments, const char* schema) {
    const Outcome result = workshop().run(arguments + " --format json");
    REQUIRE(result.code == 0);
    const json document = json::parse(result.out);
    for (const std::string& violation : test::violations(document, test::schema(schema))) FAIL_CHECK(violation);
    return document;
  };
  const json devices = read("net.onnx --batch 256 --device rtx-3090,rtx-4090 --precision fp16 --predict", "estimate");
  REQUIRE(devices.at("variants").size() == 2);
  for (const json& row : devices.at("variants")) {
    const json alone = read(
        "net.onnx --batch 256 --precision fp16 --predict --device " + row.at("device").get<std::string>(), "estimate");
    CHECK(row.at("predicted").at("seconds") == alone.at("roofline").at("predicted").at("seconds"));
    CHECK(row.at("predicted").at("items_per_second").get<double>() ==
          doctest::Approx(256 / row.at("predicted").at("seconds").get<double>()));
  }
  const std::string here =
      "--predict --engine onnxruntime-cpu --calibration " + test::source_path("tests/predict/data/here.json");
  const json forms = read("net.onnx --what-if fp32,int8 " + here, "estimate");
  REQUIRE(forms.at("variants").size() == 2);
  for (const json& row : forms.at("variants")) CHECK(row.at("predicted").at("memory").at("bytes") > 0);
  const json both = read("net.onnx --compare product.onnx " + here, "comparison");
  const json& predicted = both.at("totals").at("predicted_seconds");
  CHECK(predicted.at("engine") == "onnxruntime-cpu");
  CHECK(predicted.at("before") ==
        read("product.onnx " + here, "estimate").at("roofline").at("predicted").at("seconds"));
  CHECK(predicted.at("after") == read("net.onnx " + here, "estimate").at("roofline").at("predicted").at("seconds"));
  CHECK(workshop().run("net.onnx --compare product.onnx " + here).out.find("under onnxruntime-cpu") !=
        std::string::npos);
}

TEST_CASE("a prediction stands beside the bound, with its interval and calibration") {
  const Outcome result =
      workshop().run("net.onnx --batch 256 --device rtx-3090 --precision fp16 --predict --format json");
  CHECK(result.code == 0);
  const json time = json::parse(result.out)["roofline"];
  const double seconds = time["predicted"]["seconds"], low = time["predicted"]["low"], high = time["predicted"]["high"];
  CHECK(low < seconds);
  CHECK(seconds < high);
  CHECK(seconds >= time["floor_seconds"].get<double>());
  CHECK(time["predicted"]["calibration"].get<std::string>().starts_with("rtx-3090-amp-nchw"));
  CHECK(workshop().run("net.onnx --device rtx-3090 --predict --calibration no-such").code == 1);
}

TEST_CASE("a prediction is of float16: another precision is refused, and a shorter bound is not") {
  for (const char* precision : {"fp32", "tf32", "bf16", "int8"}) {
    const Outcome result =
        workshop().run("net.onnx --batch 256 --device rtx-3090 --predict --precision " + std::string(precision));
    CAPTURE(precision);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find("calibration rtx-3090-amp-nchw is for float16") != std::string::npos);
    CHECK(result.err.find(std::string("--precision ") + precision) != std::string::npos);
    CHECK(result.err.find("fp16") != std::string::npos);  // the remedy
  }
  // Autocast runs a float32 file's products in float16, and so does the bound beside its prediction.
  const Outcome mixed = workshop().run("product.onnx --device rtx-3090 --predict --format json");
  CHECK(mixed.code == 0);
  const json time = json::parse(mixed.out)["roofline"];
  CHECK(time["precision"] == "float16");
  CHECK(time["traffic"] == "unfused");
  CHECK(time["predicted"]["seconds"].get<double>() >= time["seconds"].get<double>());
  const Outcome same = workshop().run("product.onnx --device rtx-3090 --predict --precision fp16 --format json");
  CHECK(same.code == 0);
  CHECK(same.out == mixed.out);
}

TEST_CASE("a bound above the prediction of an engine that fuses names the options that bound the same work") {
  const std::string model = test::source_path("models/skeletons/bert_large.onnx") + " --batch 8 --device a100-40gb" +
                            " --predict --engine tensorrt";
  struct Case {
    const char *options, *remedy;
  };
  const Case cases[] = {
      {" --precision int8 --traffic unfused", "; --traffic fused gives a bound"},
      {" --traffic unfused", "; --traffic fused gives a bound"},
      {"", nullptr},
      {" --precision int8", nullptr},
      {" --precision fp16 --traffic fused", nullptr},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.options));
    const Outcome result = workshop().run(model + c.options);
    CHECK(result.code == 0);
    const bool is_said = result.err.find("shorter than the bound") != std::string::npos;
    CHECK(is_said == (c.remedy != nullptr));
    CHECK(test::contains(result.err, c.remedy == nullptr ? "" : c.remedy));
  }
}

TEST_CASE("a prediction whose interval nobody measured says so instead of 0") {
  std::string calibration = test::read_file(test::source_path("data/calibration/rtx-3090-amp-nchw.json"));
  json document = json::parse(calibration);
  document["interval"].erase("elsewhere");
  base::write_file(workshop().path("alone.json"), document.dump());
  const std::string arguments = "net.onnx --batch 256 --precision fp16 --predict --calibration ./alone.json --device ";
  const Outcome report = workshop().run(arguments + "h100-sxm --format json");
  REQUIRE(report.code == 0);
  const json predicted = json::parse(report.out)["roofline"]["predicted"];
  CHECK(predicted["seconds"].get<double>() > 0);
  for (const char* key : {"low", "high", "coverage"}) CHECK_MESSAGE(predicted[key].is_null(), key);
  for (const std::string& violation : test::violations(json::parse(report.out), test::schema("estimate")))
    FAIL_CHECK(violation);
  const Outcome table = workshop().run(arguments + "h100-sxm");
  CHECK(table.out.find("0 s …") == std::string::npos);
  CHECK(table.out.find("no interval: no runs on such a device judged the calibration") != std::string::npos);
  CHECK(workshop().run(arguments + "rtx-3090").out.find("for 90.0 % of models") != std::string::npos);
}

TEST_CASE("an unknown device is exit 4 and says which are known") {
  const Outcome result = workshop().run("net.onnx --device h900");
  CHECK(result.code == 4);
  CHECK(result.err.find("h200") != std::string::npos);
  CHECK(result.out.empty());
  CHECK(workshop().run("net.onnx --device h200:turbo").code == 4);
  CHECK(workshop().run("net.onnx --device garbage.json").code == 1);
}

TEST_CASE("budgets that are not kept, or cannot be told, are exit 3 after the report") {
  const Outcome kept = workshop().run("fixed.onnx --max-flops 1GFLOP --max-params 1k");
  CHECK(kept.code == 0);
  CHECK(kept.err.find("flops: fits 1GFLOP") != std::string::npos);
  const Outcome passed = workshop().run("fixed.onnx --max-flops 1kFLOP");
  CHECK(passed.code == 3);
  CHECK(passed.err.find("flops: exceeds 1kFLOP") != std::string::npos);
  CHECK_FALSE(passed.out.empty());
  const Outcome unknown = workshop().run("net.onnx --max-flops 1GFLOP");
  CHECK(unknown.code == 3);
  CHECK(unknown.err.find("cannot tell") != std::string::npos);
  CHECK(unknown.err.find("batch") != std::string::npos);
  const Outcome bounded = workshop().run("fixed.onnx --device h200 --max-seconds 1s");
  CHECK(bounded.code == 0);
  CHECK(bounded.err.find("cannot tell") != std::string::npos);
  CHECK(workshop().run("fixed.onnx --device h200 --max-seconds 1s --strict").code == 3);
  CHECK(workshop().run("fixed.onnx --device h200 --max-seconds 0.1ns").code == 3);
}

TEST_CASE("a limit on memory is for each of several devices") {
  const auto found = [](const char* devices) {
    const std::string model = test::source_path("models/skeletons/llama_3_1_70b.onnx");
    const json estimate = json::parse(workshop().run("'" + model + "' --phase decode --past 128 --batch 4 --device h200 "
                                                     "--max-memory 200GB --format json " + devices).out);
    CHECK(estimate["budgets"][0]["value"] == estimate["fit"]["total_bytes"]);
    return estimate["budgets"][0]["value"].get<double>();
  };
  CHECK(found("--tensor-parallel 2") < 0.51 * found(""));
}

TEST_CASE("a rate is asked for or required, and only what is known decides") {
  const Outcome open = workshop().run("fixed.onnx --device h200 --min-fps 30");
  CHECK(open.code == 0);
  CHECK(open.err.find("fps: cannot tell 30, found ≤ ") != std::string::npos);
  CHECK(workshop().run("fixed.onnx --device h200 --min-fps 30 --strict").code == 3);
  const Outcome missed = workshop().run("fixed.onnx --device h200 --min-fps 1e15");
  CHECK(missed.code == 3);
  CHECK(missed.err.find("fps: no 1e15, found ≤ ") != std::string::npos);
  CHECK(workshop().run("fixed.onnx --device h200 --fps 1e15").code == 0);
  // The images of a batch count, and the whole interval of a prediction decides.
  const char* const kRun = "fixed.onnx --batch 8 --device a100-80gb --predict --engine pytorch-amp --format json";
  const json roofline = json::parse(workshop().run(kRun).out)["roofline"];
  const double low = roofline["predicted"]["low"], high = roofline["predicted"]["high"];
  const auto asked = [&](double seconds) {
    return workshop().run(std::string(kRun) + " --fps " + std::to_string(8 / seconds)).err;
  };
  CHECK(asked(high * 1.01).find("fps: yes ") != std::string::npos);
  CHECK(asked((low + high) / 2).find("fps: cannot tell ") != std::string::npos);
  CHECK(asked(low * 0.99).find("fps: no ") != std::string::npos);
  for (const char* arguments : {"--fps 30", "--device h200 --fps 0", "--device h200 --fps 30 --sweep batch=1,2",
                                "--device h200 --min-fps fast", "--device h200 --fps 30 --phase decode"})
    CHECK_MESSAGE(workshop().run(std::string("net.onnx ") + arguments).code == 2, arguments);
}

TEST_CASE("a training step: backward, optimizer, memory, and the published rule of three") {
  // One convolution with 6,912 MACs per batch item whose input needs no gradient, then Relu: forward and dw only.
  const json step = json::parse(workshop().run("fixed.onnx --training --optimizer adam --format json").out)["training"];
  CHECK(step["totals"]["forward"]["macs"] == 6912);
  CHECK(step["totals"]["dw"]["macs"] == 6912);
  CHECK(step["totals"]["dx"]["macs"] == 0);
  CHECK(step["memory"]["gradient_bytes"] == 4 * 108);
  CHECK(step["memory"]["optimizer_state_bytes"] == 2 * 4 * 108);
  const std::string count = "fixed.onnx --count pagoda --format json";
  const json once = json::parse(workshop().run(count).out),
             thrice = json::parse(workshop().run(count + " --training").out);
  for (const char* total : {"flops", "bytes"}) CHECK(thrice["totals"][total] == 3 * once["totals"][total].get<int>());
  CHECK(thrice["totals"]["param_bytes"] == once["totals"]["param_bytes"]);
  CHECK(workshop().run("fixed.onnx --training --max-memory 1kB").code == 3);
  CHECK(workshop().run("partial.onnx --training --strict").code == 3);
  CHECK(workshop().run("net.onnx --training --frozen w").out.find("training memory") != std::string::npos);
  CHECK(lines(workshop().run("net.onnx --training --sweep batch=1,2 --format csv").out) == 3);
}

}  // namespace
}  // namespace pagoda
