// Progress on a terminal: one line on standard error that is overwritten and finally cleared.
#pragma once

#include <cstdio>
#include <string>

#include "protocol.h"

namespace pagoda::tools::ceilings {

class ProgressLine {
 public:
  explicit ProgressLine(bool enabled) : enabled_(enabled) {}
  ~ProgressLine() { clear(); }
  void show(const std::string& text) {
    if (enabled_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }
  void show(const Progress& p) {
    if (enabled_)
      std::fprintf(stderr, "\r\033[K[%zu/%zu] %s, about %.0f s left", p.done, p.of, p.id.c_str(), p.seconds_left);
  }
  void clear() {
    if (enabled_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  bool enabled_;
};

}  // namespace pagoda::tools::ceilings
