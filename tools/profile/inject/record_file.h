// One file per process, appended in whole lines: results already flushed survive a crash of the process.
//
//   pagoda.record  1
//   process  PID  COMMAND
//   device   CONTEXT  CHIP  NAME
//   cupti    VERSION and path                 of the library that counts
//   group    CONTEXT  GROUP  METRIC…          the values of the context's next launches, in order
//   launch   CONTEXT  GROUP  ITERATION  LAUNCHES  KERNEL  NVTX  NODE  DETAIL  VALUE…   no values: unknown
//   peak     CONTEXT  METRIC  VALUE           a constant of the context's device
//   lost     LAUNCHES  WHY
//   note     TEXT
//   range    DOMAIN@NAME  PATH                a range that opened, when ranges are listed
//   energy   JOULES  SECONDS
//   end      LAUNCHES                         the process ended normally
#pragma once

#include <string>
#include <vector>

namespace pagoda::tools::profile {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void line(const std::vector<std::string>& words) = 0;
  virtual void flush() = 0;   // the lines so far then survive the process
  virtual void forget() = 0;  // in a child after fork: discards the lines and closes the file
};

class RecordFile : public RecordSink {
 public:
  explicit RecordFile(std::string folder) : folder_(std::move(folder)) {}
  ~RecordFile() override { flush(); }
  void line(const std::vector<std::string>& words) override;
  void flush() override;
  void forget() override;

 private:
  void open();
  std::string folder_, buffer_;
  int descriptor_ = -1;
  bool failed_ = false;
};

}  // namespace pagoda::tools::profile
