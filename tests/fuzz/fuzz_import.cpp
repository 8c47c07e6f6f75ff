// Profiles of every format: any bytes give a measurement that reads back, or an Error. The first byte chooses the
// format; the join sees names and ranges that no engine ever wrote.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pagoda/measured/import.h"
#include "pagoda/measured/join.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  pagoda::measured::ImportOptions options;
  if (data[0] % 6 < 5) options.format = static_cast<pagoda::measured::ProfileFormat>(data[0] % 6);
  try {
    pagoda::documents::Measured measured = pagoda::measured::import_profile(text, "fuzz", options);
    pagoda::documents::EstimateDocument estimate;
    for (const pagoda::documents::MeasuredKernel& kernel : measured.kernels) {
      if (estimate.nodes.size() >= 50) break;
      pagoda::documents::EstimateNode row;
      row.name = kernel.name.substr(0, kernel.name.size() / 2);
      row.op_type = kernel.op_type;
      row.scope = kernel.nvtx;
      row.inputs = {"v" + std::to_string(estimate.nodes.size())};
      row.outputs = {{"v" + std::to_string((estimate.nodes.size() + 1) % 40), {}}};  // with a cycle
      estimate.nodes.push_back(row);
    }
    pagoda::measured::join(measured, estimate);
    pagoda::measured::join_report(measured, estimate);
    pagoda::documents::parse_measured(pagoda::documents::write_measured(measured), "fuzz");
  } catch (const pagoda::Error&) {
  }
  return 0;
}
