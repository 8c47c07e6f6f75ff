// Calibrations: the fitted coefficients of an engine, and how far its predictions are off. All engines share one type.
//
//   Calibration fitted = documents::calibration("tensorrt");
//   fitted.coefficients.at("coefficients.launch_cycles");   // named as in the file
//   *fitted.interval;                                       // measured / predicted, of runs left out of the fit
//
// An engine's record (engine.h) lists its coefficients: their names, limits, and how a file states them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Factors on a prediction.
struct Factors {
  double low = 0, high = 0;
};

// By the path of its member in the file: "launch", "classes.conv.work".
using Coefficients = std::map<std::string, double, std::less<>>;

// Errors on runs left out of the fit: |predicted / measured - 1|.
struct CalibrationErrors {
  double models = 0, families = 0;
  double mean_error = 0, median_error = 0, p90_error = 0;
  double rank_correlation = 0;  // Spearman's
};

struct Calibration {
  // Coefficients for devices of some compute capabilities, fitted to one device.
  struct Set {
    std::string device;
    std::vector<std::string> compute_capabilities;
    Coefficients coefficients = {};
  };

  std::string id;
  std::string engine;  // of the measured runs, by id
  std::string regime;  // of the measured runs: framework, precision, layout, batches
  std::string source;  // of the measured times
  Coefficients coefficients = {};
  std::vector<Set> sets = {};                  // replace `coefficients` on their devices
  std::vector<Set> powers = {};                // rates of long products within the power of a measured device
  std::vector<std::string> devices = {};       // measured devices, by id
  std::vector<std::string> layouts = {};       // of images in the measured runs: "nchw", "nhwc"
  std::vector<std::string> inline_codes = {};  // devices that store error-correcting codes beside the data
  // prediction · interval.low … prediction · interval.high contains `coverage` of runs like those left out of the fit:
  // of unseen families of models, or of devices that were not measured. `elsewhere` does the same for other devices or
  // layouts than `devices` and `layouts`, from runs on the devices of `judge`. Empty: too few runs to state one.
  double coverage = 0;
  std::optional<Factors> interval = {}, elsewhere = {};
  std::string judge = {};
  bool judges_convolutions = false;  // tensorrt: networks that mostly convolve are among the runs
  CalibrationErrors errors = {};
  std::vector<std::string> ignored = {};  // members of its file that this version does not know
};

// The first of the sets that was fitted to a device of this compute capability; null if there is none.
const Calibration::Set* set_for(const std::vector<Calibration::Set>& sets, std::string_view compute_capability);

// The valid values of a coefficient.
struct Limits {
  bool (*is_valid)(double);
  std::string_view expected;
};
inline constexpr Limits kPositive = {[](double value) { return value > 0; }, "a number above 0"};
inline constexpr Limits kAmount = {[](double value) { return value >= 0; }, "a number of at least 0"};
inline constexpr Limits kAtLeastOne = {[](double value) { return value >= 1; }, "a number of at least 1"};

enum class Presence : std::uint8_t {
  Required,
  InGroup,   // required where a file has another member of its object
  Optional,  // later versions of the file added it
};
enum class Digits : std::uint8_t { Four, All, Integer };

// Of a fit: log-normal around `centre`, give or take a factor of e^spread.
struct Prior {
  double centre = 0, spread = 0;  // 0: the coefficient is not fitted, or the fit sets its prior
};

// A coefficient of an engine: its place in the engine's own structure, and the valid values of a file.
struct CoefficientRow {
  std::string name;  // the path of its member
  double* place = nullptr;
  Limits limits = kPositive;
  Prior prior = {};
  Presence presence = Presence::Required;
  Digits digits = Digits::Four;
};
using CoefficientRows = std::vector<CoefficientRow>;  // in the order of the file

// Adds rows whose names begin with the path of their object, "classes.conv.".
void add_rows(CoefficientRows& rows, const std::string& object, std::initializer_list<CoefficientRow> members);

// Copies coefficients to the places of rows, and back. A place keeps its value where the coefficient is missing.
void read_coefficients(const Coefficients& from, const CoefficientRows& rows);
Coefficients written_coefficients(const CoefficientRows& rows);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
