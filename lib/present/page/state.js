// The roof of most FLOPs of a series, whose ridge is drawn; -1: no roof has more than half. A chart of one series has it,
// of several it differs by series.
function main_roof(s) {
  if (all_series.length < 2) return chart.roofs.has_main ? chart.roofs.main : -1;
  const work = new Map(), all = s.rows.reduce((sum, row) => sum + (row.flops ?? 0), 0);
  for (const row of s.rows) if (row.roof !== null) work.set(row.roof, (work.get(row.roof) ?? 0) + (row.flops ?? 0));
  const [roof, most] = [...work].sort((a, b) => b[1] - a[1])[0] ?? [-1, 0];
  return most > 0.5 * all ? roof : -1;
}
// The user's choices. They are kept in the address, so that a view can be linked; nothing is stored.
// A comparison begins with what is new.
const kDefault = { s: all_series.length === 2 && pairing ? 1 : 0, q: "", hidden: new Set(), limit: "", place: "", level: "dram", roof: -1, share: 100, color: "type",
  row: null, view: null, y: null, sort: "seconds", up: false, roofs: null, spec: false, dark: null, tab: null };
const state = { ...kDefault, hidden: new Set() };
const series = () => all_series[state.s] ?? kNoSeries;
state.roof = main_roof(series());

// The machine's frame, the same for every model. With time on the y axis: a frame around all dots.
function full_view() {
  const [x0, x1] = chart.axes.intensity.map(Math.log10), [y0, y1] = chart.axes.performance.map(Math.log10);
  return axes === "rate" ? { x0, x1, y0, y1 } : around(axes, 0) ?? { x0, x1, y0: -7, y1: 0 };
}
// The frame around the dots of the series, with a margin, and at least a decade wide and high. As plot/frame.cpp: `outside`
// is the share of their time that may lie beyond each end of an axis, so that a few light rows do not leave most of the
// plot empty; the roofline holds the ridge, and whole runs.
function around(axes, outside) {
  const places = [[], []];
  for (const row of series().rows) {
    if (row.dot === null || !(row.seconds > 0)) continue;
    const place = place_of(row, state.level, axes);
    if (!place.rail) for (const point of [place.e, place.m]) if (point) [point.x, point.y].forEach((value, k) => places[k].push([Math.log10(value), row.seconds]));
  }
  if (!places[0].length) return null;
  const ends = places.map((list) => {
    list.sort((a, b) => a[0] - b[0]);
    const all = list.reduce((sum, [, seconds]) => sum + seconds, 0);
    let below = 0;
    const most = list.filter(([, seconds]) => { const before = below; below += seconds; return below > outside * all && all - before > outside * all; });
    return [most[0][0], most[most.length - 1][0]];
  });
  const take = (k, value) => (ends[k] = [Math.min(ends[k][0], value), Math.max(ends[k][1], value)]);
  if (axes === "rate") for (const point of [...run_points(), ...ridges()]) take(0, Math.log10(point.x)), take(1, Math.log10(point.y));
  if (axes === "time") for (const point of ridges()) take(0, Math.log10(point.x));
  const [[x0, x1], [y0, y1]] = ends.map(([low, high]) => { const more = Math.max(0.06 * (high - low), (1 - (high - low)) / 2, 0.08); return [low - more, high + more]; });
  return { x0, x1, y0, y1 };
}
// The memory level whose bytes count.
const level_roof = () => chart.roofs.bandwidth.find((roof) => roof.id === state.level) ?? chart.roofs.bandwidth[0];
// The ridge that is drawn; without one, those of the roofs that are drawn.
function ridges() {
  const bandwidth = level_roof().value;
  return chart.roofs.compute.filter((roof, i) => (state.roof < 0 ? shown_roofs().has(roof.id) : i === state.roof)).map(({ value }) => ({ x: value / bandwidth, y: value }));
}
// Whole runs of all models, and their bounds: the roofline shows them beside the dots of one.
const run_points = () => all_series.flatMap((one) => [...(one.runs ?? []), ...(one.runs ? one.trajectory ?? [] : []), one.measured_star, one.bound_star]).filter(Boolean)
  .map((star) => ({ x: star.flops / star.bytes, y: star.flops / star.seconds })).filter((point) => point.x > 0 && point.y > 0 && isFinite(point.x) && isFinite(point.y));
const fit_view = (axes) => around(axes, 0.01);
const kAxes = ["rate", "time", "bytes"];
let axes = "rate";
const view = () => (state.view === "machine" ? full_view() : state.view ?? (fitted ??= fit_view(axes) ?? full_view()));
let fitted = null;  // cached until the drawn rows change
const shown_roofs = () => state.roofs ?? new Set([...chart.roofs.compute, ...chart.roofs.bandwidth].filter((r) => r.shown).map((r) => r.id));

function write_state() {
  const hash = new URLSearchParams();
  for (const key of ["s", "q", "limit", "place", "level", "share", "color", "row", "tab", "y"]) if (state[key] !== kDefault[key]) hash.set(key, state[key]);
  if (state.hidden.size) hash.set("hide", [...state.hidden].join("\n"));
  if (state.roof !== main_roof(series())) hash.set("roof", chart.roofs.compute[state.roof]?.id ?? "none");
  if (state.sort !== "seconds" || state.up) hash.set("sort", (state.up ? "-" : "") + state.sort);
  if (state.roofs) hash.set("roofs", [...state.roofs].join(","));
  if (state.spec) hash.set("spec", "1");
  if (state.dark !== null) hash.set("dark", state.dark ? "1" : "0");
  if (state.view === "machine") hash.set("view", "machine");
  else if (state.view) hash.set("view", ["x0", "x1", "y0", "y1"].map((k) => state.view[k].toFixed(3)).join(","));
  const text = hash.toString();
  // Some browsers do not let a file opened from disk rewrite its address.
  try { history.replaceState(null, "", text ? "#" + text : location.pathname + location.search); } catch { location.hash = text; }
}

// Browsers refuse to rewrite the address hundreds of times in a row, as a mouse wheel would, and take milliseconds for it.
let hash_waits = 0;
function write_state_soon() {
  clearTimeout(hash_waits);
  hash_waits = setTimeout(write_state, 150);
}
addEventListener("pagehide", write_state);

function read_state() {
  const hash = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, kDefault, { hidden: new Set() });
  const s = Number(hash.get("s") ?? NaN);
  if (Number.isInteger(s) && s >= 0 && s < all_series.length) state.s = s;
  state.roof = main_roof(series());
  state.q = hash.get("q") ?? "";
  if (hash.get("hide")) state.hidden = new Set(hash.get("hide").split("\n"));
  if (kLimit.includes(hash.get("limit"))) state.limit = hash.get("limit");
  if (kPlaces.includes(hash.get("place"))) state.place = hash.get("place");
  if (["l1", "l2"].includes(hash.get("level")) && has_level(hash.get("level"))) state.level = hash.get("level");
  const roof = chart.roofs.compute.findIndex((r) => r.id === hash.get("roof"));
  if (roof >= 0 || hash.get("roof") === "none") state.roof = roof;
  const share = Number(hash.get("share") ?? 100);
  if (share > 0 && share <= 100) state.share = share;
  if (["limit", "share", "precision", "place"].includes(hash.get("color"))) state.color = hash.get("color");
  const row = Number(hash.get("row") ?? NaN);
  if (Number.isInteger(row) && row >= 0 && row < series().rows.length) state.row = row;
  const sort = hash.get("sort");
  if (sort && kColumns.some((c) => c.key === sort.replace("-", ""))) Object.assign(state, { sort: sort.replace("-", ""), up: sort[0] === "-" });
  if (hash.get("roofs") !== null) state.roofs = new Set(hash.get("roofs").split(","));
  state.spec = hash.get("spec") === "1";
  if (hash.get("dark") !== null) state.dark = hash.get("dark") === "1";
  if (kAxes.includes(hash.get("y"))) state.y = hash.get("y");
  if (Object.hasOwn(kTabs, hash.get("tab") ?? "")) state.tab = hash.get("tab");
  if (hash.get("view") === "machine") state.view = "machine";
  const ends = (hash.get("view") ?? "").split(",").map(Number);
  if (ends.length === 4 && ends.every(Number.isFinite) && ends[1] - ends[0] > 0.05 && ends[3] - ends[2] > 0.05)
    state.view = { x0: ends[0], x1: ends[1], y0: ends[2], y1: ends[3] };
}

const has_level = (level) => level === "dram" || series().rows.some((row) => row[level] > 0);

// A word of the search: a text, in which "{0-3,7}" stands for one of these numbers and "{*}" for any.
function finder(word) {
  const parts = word.split(/\{([\d,-]+|\*)\}/);
  if (parts.length === 1) return (text) => text.includes(word);
  const pattern = new RegExp(parts.map((part, k) => (k % 2 ? "(\\d+)" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))).join(""), "g");
  const holds = parts.filter((_, k) => k % 2).map((part) => part.split(",").map((range) => (range === "*" ? [0, Infinity] : [Number(range.split("-")[0]), Number(range.split("-").pop())])));
  return (text) => [...text.matchAll(pattern)].some((found) => holds.every((ranges, k) => ranges.some(([from, to]) => found[k + 1] >= from && found[k + 1] <= to)));
}
// Rows that pass all filters.
function visible_rows(s = series()) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean).map(finder);
  const heavy = state.share < 100 ? heaviest(s, state.share / 100) : null;
  return s.rows.filter((row) => words.every((finds) => finds(row.text)) && !state.hidden.has(type_key(row)) &&
    (!state.limit || kLimit[row.limit] === state.limit) && (!state.place || row.on === state.place) && (!heavy || heavy.has(row)));
}
// Types without their own colour share one entry in the legend.
const type_key = (row) => (row.color === 6 ? "other" : row.type);
function heaviest(s, part) {
  const sorted = [...s.rows].sort((a, b) => b.seconds - a.seconds), chosen = new Set();
  let sum = 0;
  for (const row of sorted) {
    if (sum >= part * s.seconds - 1e-15) break;
    chosen.add(row);
    sum += row.seconds;
  }
  return chosen;
}
