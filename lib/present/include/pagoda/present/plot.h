// Roofline charts: estimates and measurements of models under the roofs of a machine.
//
//   PlotInput input{.device = find_device("h200"), .estimates = {read_plot_estimate("resnet50.json", json_text)}};
//   std::ofstream("resnet50.svg") << plot_svg(input);    // one picture
//   std::ofstream("resnet50.html") << plot_html(input);  // the same picture with filters, a table and more views, offline
//   std::cout << plot_text(input);                       // for a terminal
//
// All outputs show the same chart: the roofs of the device, and for each kernel or operator a dot at (FLOP/byte,
// FLOP/second). A hollow dot is at the least time that the device allows, a filled dot is measured; the area of a dot
// is its share of the time. Every output is a pure function of its arguments, without dates. A picture's frame fits the
// dots that carry the time; with `machine_frame` it fits the device's roofs, so that charts of several models can be
// compared side by side. Operators that cannot be drawn (no FLOPs, no time, not modelled, outside the frame) are
// counted and named. Unknown numbers are null, never 0. CSV and JSON (schema pagoda.chart/1) contain every operator and
// every number that is drawn.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/core/device.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/estimate/what_if.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

// An input file: its path, for messages and provenance, and its content.
struct PlotFile {
  std::string name;
  std::string text;
};

// An estimate, from a file or from memory: where it came from, and the hash of its text if that should be shown.
struct PlotEstimate {
  std::string name;
  std::string sha256;
  documents::EstimateDocument document;                    // with a row per node
  std::optional<estimate::WhatIf> what_if = std::nullopt;  // lets a page of only this estimate answer other requests
};
// Throws Error unless the text is a pagoda.estimate/1 with nodes.
PlotEstimate read_plot_estimate(const std::string& name, std::string_view text);

struct PlotInput {
  DeviceSpec device;                              // whose roofs are drawn
  std::optional<DeviceSpec> spec = std::nullopt;  // the vendor's figures, drawn dotted beside measured roofs
  std::optional<PlotFile> ceilings =
      std::nullopt;  // the pagoda.ceilings/1 that `device` was read from: provenance, energy constants
  std::vector<DeviceSpec> others = {};  // further machines or power modes; their rooflines are drawn as well
  std::vector<PlotEstimate> estimates = {};
  std::vector<PlotFile> measured = {};  // pagoda.measured/1
};

struct PlotOptions {
  std::string title = {};                                        // empty: made of the models and the machine
  std::vector<std::string> remarks = {};                         // sentences for the verdict on two models or runs
  std::string tool = {};                                         // name and version of the program, for provenance
  std::optional<std::array<double, 2>> x_limits = std::nullopt;  // FLOP/B; empty: from the roofs
  std::optional<std::array<double, 2>> y_limits = std::nullopt;  // FLOP/s
  std::optional<Precision> precision = std::nullopt;  // its peak is the main roof; empty: the one of most FLOPs
  std::size_t max_dots = 2000;    // dots beyond it, those with the least time, merge into one dot per type and place
  std::size_t labels = 6;         // number of operators labelled with their names
  int columns = 100, lines = 30;  // plot_text() only
  bool color = false;             // plot_text() only: terminal escape sequences
  bool energy = false;            // pictures show energy (FLOP/J); pages, CSV and JSON contain both
  // Size of printed pictures, in points: the width, and the height of small text. If only one is set, the other is 900
  // or 9; both empty: sized for a screen. If the width is below about 90 times the text height, the legend is below the
  // axes.
  std::optional<double> width_points = std::nullopt, font_points = std::nullopt;
  bool machine_frame = false;  // pictures: fit the frame to the device instead of the dots
};

// Converts "85mm", "3.35in", "24cm", "240pt" or "640px" to points; empty unless the text is a length above 0.
std::optional<double> points(std::string_view length);

// Each throws Error if an input cannot be read.
std::string plot_svg(const PlotInput& input, const PlotOptions& options = {});
std::string plot_html(const PlotInput& input, const PlotOptions& options = {});
std::string plot_csv(const PlotInput& input, const PlotOptions& options = {});
std::string plot_json(const PlotInput& input, const PlotOptions& options = {});
std::string plot_text(const PlotInput& input, const PlotOptions& options = {});
// Converts the SVG with librsvg's rsvg-convert, which must be installed with a font. Throws Error that names what is
// missing.
std::string plot_png(const PlotInput& input, const PlotOptions& options = {});
std::string plot_pdf(const PlotInput& input, const PlotOptions& options = {});

}  // namespace pagoda::present
#pragma GCC visibility pop
