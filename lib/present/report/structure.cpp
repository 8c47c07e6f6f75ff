// A structure profile as one row.
#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present {

std::string structure_report(Format format, const StructureProfile& profile, const std::string& tool) {
  using base::CsvLine;
  using base::JsonWriter;
  const std::vector<Feature> row = features(profile);
  if (format == Format::Json) {
    JsonWriter json;
    json.begin_object().member("schema", "pagoda.structure/1").member_if_any("tool", tool);
    json.member("model", profile.model);
    for (const Feature& feature : row) json.member(feature.name, feature.value);
    json.key("precision_bytes_share").begin_object(JsonWriter::Layout::Line);
    for (const auto& [type, share] : profile.precision_bytes_share) json.member(type, share);
    json.end_object().key("op_counts").begin_object(JsonWriter::Layout::Line);
    for (const auto& [op, count] : profile.op_counts) json.member(op, count);
    json.end_object().end_object();
    return std::move(json).text();
  }
  base::CsvLine header, line;
  header.add("model");
  line.name(profile.model);
  for (const Feature& feature : row) {
    header.add(feature.name);
    line.add(feature.value);
  }
  return std::move(header).end() + std::move(line).end();
}

}  // namespace pagoda::present
