// Charts: estimates and measurements of models under the roofs of a machine.
//
//   PlotInput input{.device = find_device("h200"), .estimates = {read_plot_estimate("resnet50.json", json_text)}};
//   write_file("resnet50.svg", plot_svg(input));      // one picture
//   write_file("resnet50.html", plot_html(input));    // the same picture with filters, a table and more views, offline
//   std::cout << plot_text(input);                    // for a terminal
//
// All outputs show one chart model: roofs from the device, a dot for each kernel or operator at
//   (FLOP / byte, FLOP / second), hollow at the least time that the device allows, filled as measured,
// its area its share of the time. Every output is a pure function of its arguments, without dates. A picture's frame is
// what the dots that carry the time need; `machine_frame` makes it the device's, so that charts of several models can be
// laid side by side. What has no place in the chart (no
// FLOPs, no time, not modelled, out of the frame) is counted and named; numbers that are not known are null, never 0.
// CSV and JSON (schema pagoda.chart/1) hold every operator and every number that is drawn.
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
#include "pagoda/documents/what_if.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

// A file as it was given: its path, for messages and provenance, and its content.
struct PlotFile {
  std::string name;
  std::string text;
};

// An estimate, from a file or from memory: where it came from, and the hash of its text where it is to be shown.
struct PlotEstimate {
  std::string name;
  std::string sha256;
  documents::EstimateDocument document;  // with a row per node
  std::optional<documents::WhatIf> what_if = std::nullopt;  // lets a page of this estimate alone answer other requests
};
// Throws Error for what is not a pagoda.estimate/1 with nodes.
PlotEstimate read_plot_estimate(const std::string& name, std::string_view text);

struct PlotInput {
  DeviceSpec device;                              // whose roofs are drawn
  std::optional<DeviceSpec> spec = std::nullopt;  // beside measured roofs: what the vendor states, dotted
  std::optional<PlotFile> ceilings =
      std::nullopt;  // pagoda.ceilings/1 that `device` was read from: provenance, energy constants
  std::vector<DeviceSpec> others = {};  // more machines or power modes, whose rooflines are drawn beside it
  std::vector<PlotEstimate> estimates = {};
  std::vector<PlotFile> measured = {};  // pagoda.measured/1
};

struct PlotOptions {
  std::string title = {};                                        // empty: models and machine
  std::string tool = {};                                         // name and version of the program, for provenance
  std::optional<std::array<double, 2>> x_limits = std::nullopt;  // FLOP/B; empty: from the ceilings
  std::optional<std::array<double, 2>> y_limits = std::nullopt;  // FLOP/s
  std::optional<Precision> precision = std::nullopt;  // whose peak is the main roof; empty: that of most of the time
  std::size_t max_dots = 2000;    // the rest, with the least time, joins into one dot per type and place
  std::size_t labels = 6;         // operators with their name beside them
  int columns = 100, lines = 30;  // of plot_text
  bool color = false;             // of plot_text: escape sequences of terminals
  bool energy = false;            // pictures over energy: FLOP/J; a page shows both, CSV and JSON hold both
  // Of pictures in print, in points: the width, and the height of small text; empty: 900 and 9, for a screen. Below about
  // 90 times the text the legend stands under the axes.
  std::optional<double> width_points = std::nullopt, font_points = std::nullopt;
  bool machine_frame = false;  // pictures: the frame of the device instead of what the dots need
};

// "85mm", "3.35in", "24cm", "240pt", "640px" in points; empty for what is not a length above 0.
std::optional<double> points(std::string_view length);

// Each throws Error for input that cannot be read.
std::string plot_svg(const PlotInput& input, const PlotOptions& options = {});
std::string plot_html(const PlotInput& input, const PlotOptions& options = {});
std::string plot_csv(const PlotInput& input, const PlotOptions& options = {});
std::string plot_json(const PlotInput& input, const PlotOptions& options = {});
std::string plot_text(const PlotInput& input, const PlotOptions& options = {});
// The SVG by librsvg's rsvg-convert, which must be installed with a font; throws Error that says what is missing.
std::string plot_png(const PlotInput& input, const PlotOptions& options = {});
std::string plot_pdf(const PlotInput& input, const PlotOptions& options = {});

}  // namespace pagoda::present
#pragma GCC visibility pop
