// Budgets: units, and the three verdicts.
#include "pagoda/core/budget.h"

#include <doctest/doctest.h>

#include "support/files.h"
#include "support/text_graph.h"

using namespace pagoda;

TEST_CASE("limits with units") {
  struct Row {
    BudgetKind kind;
    const char* text;
    Int limit;
  };
  constexpr Row kRows[] = {
      {BudgetKind::Flops, "10GFLOP", 10'000'000'000},
      {BudgetKind::Flops, "10 GFLOPs", 10'000'000'000},
      {BudgetKind::Flops, "1e9", 1'000'000'000},
      {BudgetKind::Flops, "8.2G", 8'200'000'000},
      {BudgetKind::Flops, "0", 0},
      {BudgetKind::Bytes, "500MB", 500'000'000},
      {BudgetKind::Bytes, "1.5KiB", 1536},
      {BudgetKind::Bytes, "7", 7},
      {BudgetKind::Params, "25.6M", 25'600'000},
      {BudgetKind::Params, "7B", 7'000'000'000},
      {BudgetKind::Memory, "8GiB", Int{8} << 30},
      {BudgetKind::Memory, "8 GB", 8'000'000'000},
      {BudgetKind::Memory, "24gib", Int{24} << 30},
      {BudgetKind::Memory, "24 GIB", Int{24} << 30},
      {BudgetKind::Bytes, "500mb", 500'000'000},
      {BudgetKind::Flops, "10gflops", 10'000'000'000},
      {BudgetKind::Params, "7b", 7'000'000'000},
  };
  for (const Row& row : kRows) CHECK_MESSAGE(parse_budget(row.kind, row.text).limit == row.limit, row.text);
  CHECK(parse_budget(BudgetKind::Seconds, "5ms").limit_seconds == doctest::Approx(5e-3));
  CHECK(parse_budget(BudgetKind::Seconds, "250 us").limit_seconds == doctest::Approx(250e-6));
  CHECK(parse_budget(BudgetKind::Seconds, "2\u00b5s").limit_seconds == doctest::Approx(2e-6));
  CHECK(parse_budget(BudgetKind::Seconds, "1.5s").limit_seconds == 1.5);
  CHECK(parse_budget(BudgetKind::Seconds, "5 MS").limit_seconds == doctest::Approx(5e-3));
  for (const char* wrong :
       {"", "B", "GB", "-1", "nan", "inf", "1e99", "5 apples", "5GBps", "0x10", "5 m", "5 Gb", "5 Gib"})
    CHECK_THROWS_AS(parse_budget(BudgetKind::Bytes, wrong), Error);
  CHECK_THROWS_AS(parse_budget(BudgetKind::Seconds, "5"), Error);
  CHECK(parse_budget(BudgetKind::Seconds, "5 min").limit_seconds == 300);
  CHECK(test::error_of([] { parse_budget(BudgetKind::Memory, "8 gigs"); }) ==
        "'8 gigs' is not a limit on memory; expected a number and a unit such as 8GiB or 500MB");
}

TEST_CASE("a limit is kept, passed, or cannot be told") {
  struct Row {
    const char* graph;
    BudgetKind kind;
    const char* limit;
    Verdict verdict;
    const char* cause;
  };
  // y = x·w: 2·4·8·16 = 1024 FLOP, 128 parameters, 4·(32 + 128 + 64) = 896 B moved; at the peak 512 B of weights and
  // 4·(32 + 64) = 384 B of activations.
  constexpr const char* kFixed = "x:f32[4,8], w:f32[8,16]=const -> y = MatMul(x, w)";
  constexpr const char* kFree = "x:f32[n,8], w:f32[8,16]=const -> y = MatMul(x, w)";  // 256·n FLOP
  constexpr const char* kPartial = "x:f32[4,8], w:f32[8,16]=const -> h = MatMul(x, w); y = my.domain.Secret(h)";
  constexpr Row kRows[] = {
      {kFixed, BudgetKind::Flops, "1024", Verdict::Fits, ""},
      {kFixed, BudgetKind::Flops, "1023", Verdict::Exceeds, ""},
      {kFixed, BudgetKind::Bytes, "896B", Verdict::Fits, ""},
      {kFixed, BudgetKind::Bytes, "895B", Verdict::Exceeds, ""},
      {kFixed, BudgetKind::Params, "128", Verdict::Fits, ""},
      {kFixed, BudgetKind::Params, "127", Verdict::Exceeds, ""},
      {kFixed, BudgetKind::Memory, "896B", Verdict::Fits, ""},
      {kFixed, BudgetKind::Memory, "895B", Verdict::Exceeds, ""},
      {kFree, BudgetKind::Flops, "300", Verdict::CannotTell, "depends on n"},
      {kFree, BudgetKind::Flops, "200", Verdict::Exceeds, "depends on n"},  // already at n = 1
      {kFree, BudgetKind::Params, "128", Verdict::Fits, ""},
      {kPartial, BudgetKind::Flops, "1024", Verdict::CannotTell, "my.domain.Secret"},
      {kPartial, BudgetKind::Flops, "1000", Verdict::Exceeds, "my.domain.Secret"},
      {kPartial, BudgetKind::Params, "128", Verdict::Fits, ""},
      {kPartial, BudgetKind::Memory, "1GB", Verdict::CannotTell, "size of some activation"},
  };
  for (const Row& row : kRows) {
    const Analysis analysis = analyze(test::graph(row.graph));
    const BudgetResult result = check_budget(parse_budget(row.kind, row.limit), analysis, {});
    CHECK_MESSAGE(result.verdict == row.verdict, row.graph, " ", row.limit, ": ", to_string(result.verdict));
    std::string causes;
    for (const std::string& cause : result.causes) causes += cause + "\n";
    CHECK_MESSAGE(causes.find(row.cause) != std::string::npos, row.graph, ": ", causes);
    CHECK((*row.cause != '\0' || causes.empty()));
  }
}

TEST_CASE("a bound on the time proves only that a limit is exceeded, and needs a device") {
  const Analysis analysis = analyze(test::graph("x:f32[4,8], w:f32[8,16]=const -> y = MatMul(x, w)"));
  const Budget limit = parse_budget(BudgetKind::Seconds, "1us");
  CHECK_THROWS_AS(check_budget(limit, analysis, {}), Error);
  RooflineTotals time;
  time.seconds = 0.9e-6;
  const BudgetResult within = check_budget(limit, analysis, {.time = &time});
  CHECK(within.verdict == Verdict::CannotTell);
  CHECK(within.is_bound_within);
  CHECK(within.causes == std::vector<std::string>{"a lower bound on the time proves only that a limit is exceeded"});
  time.seconds = 1.1e-6;
  CHECK(check_budget(limit, analysis, {.time = &time}).verdict == Verdict::Exceeds);
  time.seconds = 0.9e-6;
  time.unknown_rows = 2;
  time.at_least = true;
  CHECK(check_budget(limit, analysis, {.time = &time}).verdict == Verdict::CannotTell);
  CHECK_FALSE(check_budget(limit, analysis, {.time = &time}).is_bound_within);
}

TEST_CASE("a count is held against a limit exactly, beyond what a double tells apart") {
  // 2^53 + 1 additions: as a double this would round to the limit 2^53, which it exceeds.
  const Analysis analysis = analyze(test::graph("x:f32[9007199254740993], y:f32[9007199254740993] -> z = Add(x, y)"));
  const Int count = *analysis.totals.cost.arith.value();
  for (const auto& [limit, verdict] : {std::pair{count - 1, Verdict::Exceeds}, std::pair{count, Verdict::Fits}}) {
    Budget budget = parse_budget(BudgetKind::Flops, "1");
    budget.limit = limit;
    CHECK(check_budget(budget, analysis, {}).verdict == verdict);
  }
}

TEST_CASE("every point of a sweep keeps to the limit, and the largest is named") {
  const Model model = test::graph("x:f32[n,8], w:f32[8,16]=const -> y = MatMul(x, w)");
  const Analysis analysis = analyze(model);
  const Sweep points = sweep(model, analysis, {{.dim = "n", .sizes = {1, 4, 2}}});
  const auto check = [&](BudgetKind kind, const char* limit) {
    return check_budget(parse_budget(kind, limit), analysis, {.sweep = &points, .swept = {"n"}});
  };
  // n · 8 · 16 multiply-adds: 1,024 FLOP at n = 4.
  const BudgetResult fits = check(BudgetKind::Flops, "1024"), exceeds = check(BudgetKind::Flops, "1023");
  CHECK(fits.verdict == Verdict::Fits);
  CHECK(fits.value == 1024);
  CHECK(fits.causes == std::vector<std::string>{"at n=4"});
  CHECK(exceeds.verdict == Verdict::Exceeds);
  CHECK(check(BudgetKind::Params, "128").verdict == Verdict::Fits);
  const BudgetResult untimed = check(BudgetKind::Seconds, "1s");  // no device timed the points
  CHECK(untimed.verdict == Verdict::CannotTell);
  CHECK_FALSE(untimed.value.has_value());
  CHECK(untimed.causes.front() == "not known at n=1 and 2 other points");
}

TEST_CASE("a limit in MACs is held against MACs and one in FLOPs against FLOPs, whatever is counted") {
  const Analysis analysis = analyze(test::graph("x:f32[4,8], w:f32[8,16]=const -> y = MatMul(x, w)"));
  struct Row {
    const char* limit;
    Convention count;
    Verdict verdict;
  };
  constexpr Row kRows[] = {
      {"600MAC", Convention::Flops, Verdict::Fits},  // 4·8·16 = 512 MACs, 1,024 FLOPs
      {"0.6kMACs", Convention::Macs, Verdict::Fits},   {"600FLOP", Convention::Flops, Verdict::Exceeds},
      {"600FLOP", Convention::Macs, Verdict::Exceeds}, {"600", Convention::Flops, Verdict::Exceeds},
      {"600", Convention::Macs, Verdict::Fits},
  };
  for (const Row& row : kRows) {
    const Budget limit = parse_budget(BudgetKind::Flops, row.limit);
    CHECK_MESSAGE(check_budget(limit, analysis, {.count = row.count}).verdict == row.verdict, row.limit);
  }
}
