// The fields that messages name, as each front end spells them.
#include <doctest/doctest.h>

#include <string>

#include "pagoda/base/cat.h"
#include "pagoda/present/spell.h"

namespace pagoda::present {
namespace {

TEST_CASE("a field is an option on the command line and an argument in Python") {
  struct Row {
    const char *message, *options, *arguments;
  };
  const Row rows[] = {
      {"`batch` has no effect", "--batch has no effect", "batch= has no effect"},
      {"set them with `batch` or `dims`", "set them with --batch or --dim", "set them with batch= or dims="},
      {"`in_place` needs `memory`", "--in-place needs --memory", "in_place=True needs memory=True"},
      {"give `batch=8`", "give --batch 8", "give batch=8"},
      {"`traffic=resident`: no", "--traffic resident: no", "traffic='resident': no"},
      {"give `calibration=FILE`", "give --calibration FILE", "give calibration=FILE"},
      {"set `dims=n=V`", "set --dim n=V", "set dims={'n': V}"},
      {"`inputs=x`: no such input", "--input x: no such input", "inputs['x']: no such input"},
      {"or `what_if=fp32,int8`", "or --what-if fp32,int8", "or what_if=['fp32', 'int8']"},
      {"two files with `compare`", "two files with --compare", "two files with compare()"},
      {"`batch=`", "--batch ", "batch="},
      // No field: texts between backquotes, and single backquotes.
      {"`nothing` and `batch and `", "`nothing` and `batch and `", "`nothing` and `batch and `"},
      {"", "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    CHECK(command_line(row.message) == row.options);
    CHECK(python(row.message) == row.arguments);
  }
}

TEST_CASE("a value is written as it is, whatever characters it has") {
  CHECK(base::field("batch") == "`batch`");
  CHECK(base::field("batch", 8) == "`batch=8`");
  for (const char* name : {"x", "a`b", "`batch`", "a=b", "``", "é"}) {
    CAPTURE(name);
    CHECK(command_line(base::field("inputs", name) + ": `top`") == "--input " + std::string(name) + ": --top");
  }
}

}  // namespace
}  // namespace pagoda::present
