// The chart's JSON and values derived from it, with the same definitions as in the C++ code that wrote it.
// Pages without pairs or formulas leave these out, and the scripts that use them.
const data_of = (id) => JSON.parse(by_id(id)?.textContent ?? "null");
const chart = data_of("chart-data"), pairing = data_of("pairs-data"), what = data_of("what-if-data");
const strings = chart.strings;
const kAbsence = ["", "cost nothing: constants, views, shapes", "no FLOPs: in the column at the left edge", "work not known", "no bound for its type", "no kernel measured",
  "measured as 0 s", "joined no operator", "inside the kernels of other rows"];
const kLimit = ["none", "compute", "memory", "neither", "unknown", "latency"], kLetters = "-CMNUL";
const kNoLimits = () => kLimit.map(() => 0);
const kPalette = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999999"];
// Darker outlines for hollow marks: each has a contrast of at least 3:1 on white and on dark paper.
const kEdges = ["#0072B2", "#A66F00", "#007F5C", "#B84F00", "#A85580", "#2C86BD", "#6E6E6E"];
const edge_of = (color) => kEdges[kPalette.indexOf(color)] ?? color;

const column = (items, name, i) => (items[name] ? items[name][i] : null);
// Sum of a column over items; null if one of them is unknown.
function total(list, get) {
  let sum = 0;
  for (const i of list) {
    const value = get(i);
    if (value === null || value === undefined) return null;
    sum += value;
  }
  return list.length ? sum : null;
}
// Of an item of several nodes: [item, rule, name, type, name, type, …].
const member_names = (member) => member.slice(2).filter((_, k) => k % 2 === 0);
const member_types = (member) => member.slice(3).filter((_, k) => k % 2 === 0).map((type) => strings[type]);
const ratio = (a, b) => (a > 0 && b > 0 ? a / b : null);

// The common pattern of names that differ only in numbers, as report::common_name(): "layers.*/conv/Conv"; else `otherwise`.
function common_name(names, otherwise = names[0]) {
  const parts = names[0].split(/(\d+)/), differs = parts.map(() => false);
  for (const name of names.slice(1)) {
    const others = name.split(/(\d+)/);
    if (others.length !== parts.length) return otherwise;
    others.forEach((part, i) => (differs[i] ||= part !== parts[i]));
  }
  return differs.some((is, i) => is && i % 2 === 0) ? otherwise : parts.map((part, i) => (differs[i] ? "*" : part)).join("");
}

// What the search looks through: the path of an item, as the Structure tab forms it, without leading slashes.
const searched = (name, scope) => (name.includes("/") || !scope ? name + " " + scope : scope + "/" + name);

// Where a provider puts nodes; of several, the first of these that occurs stands for all.
const kPlaces = ["cpu", "split", "unknown", "provider", "fused", "folded"], kPlaceColors = ["#D55E00", "#E69F00", "#CC79A7", "#0072B2", "#56B4E9", "#999999"];
const kPlaceNames = { cpu: "on the CPU", split: "partly on the CPU", unknown: "not known", provider: "on the provider", fused: "fused", folded: "folded" };
const placed_first = (places) => kPlaces.find((place) => places.includes(place)) ?? "";

// One series as rows: a row is a dot (identical work, maybe several times), or all items without a dot of one type and
// reason.
function make_series(series, index) {
  const items = series.items;
  const bound = (i) => {
    const c = items.compute_seconds[i], m = items.memory_seconds[i];
    return c === null || m === null ? null : Math.max(c, m);
  };
  const seconds = (i) => (series.time === "measured" ? column(items, "seconds", i) : bound(i));
  const work = (i) => column(items, "counted_flops", i) ?? items.flops[i];
  const traffic = (i) => column(items, "dram_bytes", i) ?? items.bytes[i];
  const rows = [], row_of = [];
  const by_dot = new Map(), undrawn = new Map();
  for (let i = 0; i < items.count; ++i) {
    const d = items.dot[i];
    const key = d === null ? items.type[i] + "/" + items.absence[i] : d;
    const map = d === null ? undrawn : by_dot;
    if (!map.has(key)) map.set(key, { dot: d, list: [] });
    map.get(key).list.push(i);
  }
  const aggregates = new Set(series.aggregates);
  for (const row of [...by_dot.values(), ...undrawn.values()]) {
    const list = row.list;
    list.sort((a, b) => (seconds(b) ?? 0) - (seconds(a) ?? 0));
    for (const i of list) row_of[i] = row;
    row.first = list[0];
    row.is_aggregate = aggregates.has(row.dot);
    row.type = strings[items.type[row.first]];
    // A member's name, shape or type stands for the others only if all have it.
    const names = list.map((i) => items.name[i]), alike = (texts) => (list.every((i) => texts[i] === texts[row.first]) ? strings[texts[row.first]] : "");
    row.name = row.is_aggregate ? `${row.type}, ${list.length.toLocaleString("en")} others` : row.dot === null ? common_name(names, `${row.type}, ${list.length.toLocaleString("en")} without a dot`) : common_name(names);
    row.shape = alike(items.shape);
    row.dtype = alike(items.dtype);
    row.at_least = !!items.at_least && list.some((i) => items.at_least[i]);
    row.absence = items.absence[row.first];
    row.limit = items.limit[row.first];
    row.on = items.on ? placed_first(list.map((i) => strings[items.on[i]])) : "";
    row.why = items.on ? strings[items.why[list.find((i) => strings[items.on[i]] === row.on)]] : "";
    row.seconds = list.reduce((sum, i) => sum + (seconds(i) ?? 0), 0);
    row.has_time = list.some((i) => seconds(i) !== null);
    row.share = series.seconds > 0 ? row.seconds / series.seconds : 0;
    row.measured = total(list, (i) => column(items, "seconds", i));
    row.bound = total(list, bound);
    row.compute = total(list, (i) => items.compute_seconds[i]);
    row.memory = total(list, (i) => items.memory_seconds[i]);
    row.flops = total(list, work);
    row.bytes = total(list, traffic);
    row.estimated_flops = total(list, (i) => items.flops[i]);
    row.estimated_bytes = total(list, (i) => items.bytes[i]);
    row.l2 = total(list, (i) => column(items, "l2_bytes", i));
    row.l1 = total(list, (i) => column(items, "l1_bytes", i));
    row.low = total(list, (i) => column(items, "max_seconds", i));
    row.high = total(list, (i) => column(items, "min_seconds", i));
    row.joules = total(list, (i) => column(items, "joules", i));
    row.roof = items.roof[row.first];
    const color = series.colors.indexOf(items.type[row.first]);
    row.color = color < 0 ? 6 : color;
    row.roof_share = row.measured > 0 && row.bound !== null ? row.bound / row.measured : null;
    row.recoverable = row.roof_share === null ? null : Math.max(0, row.measured - row.bound);  // time above the bound
    row.text = list.map((i) => searched(items.name[i], strings[items.scope[i]])).join(" ").toLowerCase() + " " + row.type.toLowerCase();
    rows.push(row);
  }
  // A pattern of several rows tells none of them from the others.
  const named = new Map();
  for (const row of rows) named.set(row.name, (named.get(row.name) ?? 0) + 1);
  for (const row of rows) if (named.get(row.name) > 1 && row.dot !== null && !row.is_aggregate) row.name = items.name[Math.min(...row.list)];
  for (const member of items.members)
    if (row_of[member[0]]) row_of[member[0]].text += " " + member_names(member).join(" ").toLowerCase();
  const with_parts = new Set([...items.members, ...items.kernels].map((entry) => entry[0]));
  return { ...series, index, rows, row_of, with_parts, work_of: work, traffic_of: traffic, bound_of: bound, seconds_of: seconds };
}

const all_series = chart.series.map(make_series);
// A chart of only roofs has no series; its page shows a series without rows.
const kNoSeries = { label: "", summary: "", time: "", seconds: 0, index: -1, rows: [], row_of: [], colors: [], group: null, items: { count: 0, members: [], kernels: [] }, with_parts: new Set() };
// The position of a row on the axes at a memory level, estimated and measured. The axes are "rate" (FLOP/s over FLOP/B),
// "time" (over FLOP/B) or "bytes" (time over bytes, both of one kernel). Without FLOPs, the first two have only the rail
// column.
function place_of(row, level, axes) {
  const bytes = level === "l2" ? row.l2 : level === "l1" ? row.l1 : row.bytes, count = row.list.length;
  if (axes !== "bytes" && row.absence === 2) return { rail: true, e: row.has_time ? { x: 0, y: 0 } : null, m: null };
  const [e, m] = axes === "bytes" ? [ratio(row.estimated_bytes, count), ratio(bytes, count)] : [ratio(row.estimated_flops, row.estimated_bytes), ratio(row.flops, bytes)];
  const [ey, my] = axes === "rate" ? [ratio(row.estimated_flops, row.bound), ratio(row.flops, row.measured)] : axes === "time" ? [row.bound, row.measured] : [ratio(row.bound, count), ratio(row.measured, count)];
  return { rail: false, e: e && ey && level === "dram" ? { x: e, y: ey } : null, m: m && my ? { x: m, y: my } : null };
}

// Text -------------------------------------------------------------------------------------------------------------
const kPrefixes = ["y", "z", "a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y"];
function si(value, unit = "") {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return ("0 " + unit).trim();
  const rounded = Number(value.toPrecision(3));
  const step = Math.max(-8, Math.min(8, Math.floor(Math.floor(Math.log10(Math.abs(rounded)) + 1e-12) / 3)));
  const text = String(Number((rounded / 10 ** (3 * step)).toPrecision(3)));
  return (text + " " + kPrefixes[step + 8] + unit).trim();
}
const plain = (value) => (value === null ? "–" : value >= 9999.5 || (value < 1e-4 && value > 0) ? si(value) : value >= 999.5 ? Number(value.toPrecision(3)).toLocaleString("en") : String(Number(value.toPrecision(3))));
const percent = (value) => (value === null ? "–" : value === 0 ? "0%" : value < 1e-4 ? "<0.01%"
  : String(Number((100 * value).toPrecision(100 * value >= 99.95 ? 4 : 100 * value >= 9.995 ? 3 : 2))) + "%");
function decade(exponent) {
  if (exponent < 0 && exponent >= -4) return "0." + "0".repeat(-exponent - 1) + "1";
  // "10 µ" would be read as a prefix of the axis' unit.
  if (exponent < 0) return "10⁻" + [...String(-exponent)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  const step = Math.floor(exponent / 3);
  return ("1" + "0".repeat(exponent - 3 * step) + " " + (kPrefixes[step + 8] ?? "")).trim();
}
// A tick at 1, 2 or 5 times a power of ten.
const tick_text = (step, exponent) => (step === 1 ? decade(exponent) : exponent < -4 ? `${step}·${decade(exponent)}` : si(step * 10 ** exponent).replace(/^(\d+) m$/, (_, n) => n / 1000));
// Three digits with trailing zeros, as in the tables of the command line.
function digits3(value) {
  let decimals = 3;
  for (let place = 1; decimals > 0 && Math.abs(value) >= place - 10 ** -decimals / 2; place *= 10) --decimals;
  return Math.abs(value) >= 1e6 ? value.toExponential(2) : value.toFixed(decimals);
}
