// NVIDIA's profiling library, opened at run time: no part of CUDA is linked, so every tool starts on machines without
// it. Contains only the calls that need no driver: listing metrics, counting passes and decoding images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nvidia_library.h"

struct CUpti_Profiler_Host_Object;

namespace pagoda::tools::profile {

std::string profile_remedy(int result);  // of pagoda-profile

class CuptiLibrary {
 public:
  // The remedy for an error code; empty: unknown.
  using Remedy = std::string (*)(int result);

  // Empty `path`: the environment variable PAGODA_CUPTI, else the usual places. Never throws: if the library cannot be
  // opened, available() is false and why() gives the reason. Never closed: other code may hold pointers into it.
  explicit CuptiLibrary(const std::string& path = "", Remedy for_user = profile_remedy);
  bool available() const { return static_cast<bool>(library_); }
  const std::string& why() const { return why_; }
  std::string path() const { return library_.path(); }  // of the file that was opened
  void* symbol(const char* name) const { return library_.address(name); }

  std::string remedy(int result) const { return remedy_(result); }

  std::uint32_t version() const;  // the library's CUPTI_API_VERSION, such as 130001
  // The chips that the library lists; it rejects some of them later (HostChip throws).
  std::vector<std::string> chips() const;

 private:
  DynamicLibrary library_;
  std::string why_;
  Remedy remedy_;
};

// Text of a CUptiResult, such as "CUPTI_ERROR_INVALID_PARAMETER (1)".
std::string cupti_error(const CuptiLibrary& library, int result);

// One chip's metrics, evaluated on the host. Throws Error if a call fails.
class HostChip {
 public:
  // `availability`: a device's counter availability image, which excludes what it cannot count; empty: all of the chip.
  HostChip(const CuptiLibrary& library, const std::string& chip, std::vector<std::uint8_t> availability = {});
  ~HostChip();
  HostChip(const HostChip&) = delete;
  HostChip& operator=(const HostChip&) = delete;

  const std::string& chip() const { return chip_; }
  // Base names, without rollup: "dram__bytes_read".
  const std::set<std::string>& metrics() const { return metrics_; }
  // True if the base of a full name ("dram__bytes_read.sum.per_second") exists.
  bool has(const std::string& full_name) const;
  std::string description(const std::string& name) const;
  // Configuration image for a session; throws Error for a name that the chip does not have.
  std::vector<std::uint8_t> config(const std::vector<std::string>& full_names) const;
  std::size_t passes(const std::vector<std::string>& full_names) const;
  // Values of the first `ranges` ranges of a decoded image, each in the order of the names.
  std::vector<std::vector<double>> evaluate(const std::vector<std::uint8_t>& image, std::size_t ranges,
                                            const std::vector<std::string>& full_names) const;

 private:
  struct Object;
  const CuptiLibrary& library_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::set<std::string> metrics_;
  // Evaluates images; kept between images, because counters are read every few launches.
  mutable std::unique_ptr<Object> evaluator_;
};

}  // namespace pagoda::tools::profile
