// Other sizes, precisions and devices: evaluates the table of formulas in the page. The bound of a kernel is computed
// as in core/roofline_table.h; everything that the page shows for a changed request follows from the sums over kernels.
const as_asked = { sizes: what.sizes.map((size) => size.value), case: what.case, device: 0, fused: what.fused, resident: false };
let asked = structuredClone(as_asked);

// Returns a function that evaluates formulas at these sizes; symbols that no control sets are 1.
function formulas_at(sizes) {
  const symbols = new Map(), atoms = [], monomials = [], formulas = [];
  what.sizes.forEach((size, i) => size.symbols.forEach((symbol) => symbols.set(symbol, sizes[i] ?? 1)));
  const operations = { "/": (a, b) => Math.floor(a / b), min: Math.min, max: Math.max };
  const atom = (id) => (atoms[id] ??= typeof what.atoms[id] === "string" ? symbols.get(what.atoms[id]) ?? 1
    : operations[what.atoms[id][0]](value(what.atoms[id][1]), value(what.atoms[id][2])));
  const monomial = (id) => (monomials[id] ??= what.monomials[id].reduce((product, factor) => product * atom(factor), 1));
  const value = (id) => {
    if (formulas[id] !== undefined) return formulas[id];
    const terms = what.formulas[id];
    let sum = 0;
    for (let i = 0; i < terms.length; i += 2) sum += terms[i] * monomial(terms[i + 1]);
    return (formulas[id] = sum);
  };
  return value;
}

const kHead = 3, kPart = 7;  // numbers before the parts of a kernel, and per part
// [bytes read, bytes written, runs, then for each part: macs, arith, comparisons, special, needed bytes, precision, narrowest].
// In the page, kernels of a case are places in two lists that all cases share.
function kernel_of(counts, precisions) {
  const kernel = counts.slice(0, kHead);
  for (let i = 0; 2 * i < precisions.length; ++i) kernel.push(...counts.slice(kHead + 5 * i, kHead + 5 * i + 5), precisions[2 * i], precisions[2 * i + 1]);
  return kernel;
}
for (const { rows, fused } of what.cases)
  for (const work of [rows, fused])
    work.kernels = work.count.map((_, i) => kernel_of(what.counts[work.kernels[2 * i]], what.kernel_precisions[work.kernels[2 * i + 1]]));
// Busy seconds of tensor units, of lanes, and of lanes with special units; null if a rate is unknown.
function units_of(kernel, which, value, device) {
  const busy = [0, 0, 0];
  for (let k = kHead; k < kernel.length; k += kPart) {
    const [macs, arith, comparisons, special] = [0, 1, 2, 3].map((i) => value(kernel[k + i]));
    if (macs + arith + special <= 0) continue;
    const rate = device.rates[kernel[k + which]];
    if (!rate) return null;
    const [contraction, is_tensor, , lanes] = rate;
    if (macs > 0 ? contraction <= 0 : lanes <= 0) return null;
    let issues = Math.max(0, arith - comparisons) / 2 + comparisons;
    if (macs > 0 && is_tensor) busy[0] += (2 * macs) / contraction;
    else if (macs > 0) issues += ((2 * macs) / contraction) * lanes;
    if (lanes <= 0) continue;
    busy[1] += issues / lanes;
    busy[2] += (issues + special) / (lanes + device.special);
  }
  return busy;
}
function bound_of(kernel, value, device) {
  const bytes = value(kernel[0]) + value(kernel[1]);
  let memory = 0, flops = 0, macs = 0, main = -1;
  for (let i = 0; i < device.levels.length; i += 2) memory = Math.max(memory, bytes / device.levels[i]);
  for (let k = kHead; k < kernel.length; k += kPart) {
    const counts = [kernel[k], kernel[k + 1], kernel[k + 3], kernel[k + 2]].map(value);
    macs += counts[0];
    flops += counts.reduce((sum, count, i) => sum + count * what.weights[i], 0);
    const has_macs = counts[0] > 0, works = counts[0] + counts[1] + counts[2] > 0;
    if (has_macs && (main < 0 || !(value(kernel[main]) > 0))) main = k;
    else if (works && main < 0) main = k;
  }
  const units = units_of(kernel, 5, value, device);
  if (!units) return { bytes, flops, macs, memory, compute: null, seconds: memory, runs: true, known: false, roof: null };
  const compute = Math.max(...units), runs = main >= 0 || bytes > 0;
  const rate = main < 0 ? null : device.rates[kernel[main + 5]];
  const seconds = runs ? Math.max(compute, memory) : 0;
  return { bytes, flops, macs, memory, compute: runs ? compute : 0, seconds, runs, known: true, launched: runs && (device.launch ?? 0) * value(kernel[2]) > seconds,
    roof: rate ? (value(kernel[main]) > 0 ? rate[2] : rate[4]) : null };
}
// Sums over kernels, as in roofline().
function sums_of(work, unmodelled, value, device) {
  const sums = { seconds: 0, memory_bound: 0, launches: 0, unknown: unmodelled, bounds: [] }, busy = [0, 0, 0];
  let needed = 0;
  work.kernels.forEach((kernel, id) => {
    const count = work.count[id], bound = bound_of(kernel, value, device);
    sums.bounds.push(bound);
    sums.seconds += count * bound.seconds;
    if (bound.memory > (bound.compute ?? 0)) sums.memory_bound += count * bound.seconds;
    if (bound.runs) sums.launches += count * Math.max(0, value(kernel[2]));
    if (!bound.known) sums.unknown += count;
    units_of(kernel, 6, value, device)?.forEach((seconds, i) => (busy[i] += count * seconds));
    for (let k = kHead; k < kernel.length; k += kPart) needed += count * Math.max(0, value(kernel[k + 4]));
  });
  sums.floor = Math.max(...busy);
  for (let i = 0; i < device.levels.length; i += 2) sums.floor = Math.max(sums.floor, (needed - device.levels[i + 1]) / device.levels[i]);
  return sums;
}

function answer_of(request) {
  const value = formulas_at(request.sizes), of = what.cases[request.case], device = what.devices[request.device];
  const rows = sums_of(of.rows, of.unmodelled, value, device), fused = sums_of(of.fused, of.unmodelled, value, device);
  const [macs, arith, special, comparisons, read, written, fused_read, fused_written] = of.totals.map(value);
  const batch = what.sizes.findIndex((size) => size.batch);
  const items = what.tokens !== null ? value(what.tokens) : batch >= 0 ? request.sizes[batch] : null;
  const chosen = request.fused ? fused : rows;
  const launched = device.launch === null ? null : Math.max(chosen.seconds, chosen.launches * device.launch);
  const is_launched = launched !== null && chosen.seconds > 0 && launched > 1.05 * chosen.seconds, graph = is_launched ? Math.max(chosen.seconds, device.launch) : chosen.seconds;
  return { of, device, rows, fused, chosen, macs, items, launched, is_launched, graph, gains_from_graph: is_launched && launched > 1.05 * graph, flops: what.weights[0] * macs + what.weights[1] * arith + what.weights[2] * special + what.weights[3] * comparisons,
    bytes: request.fused ? fused_read + fused_written : read + written, memory: of.memory === null ? null : value(of.memory) };
}

function scaled(value, unit, least, most) {
  let power = least, shown = value / 1000 ** least;
  for (; Math.abs(shown) >= 999.5 && power < most; ++power) shown /= 1000;
  return ((value === 0 ? "0" : digits3(shown)) + " " + (value === 0 ? "" : kPrefixes[power + 8]) + unit).trim();
}
const exact_seconds = (value) => scaled(value, "s", value > 0 && value < 0.5e-12 ? -8 : -3, 0);
const exact_intensity = (value) => (value >= 999.5 && value < 1e6 ? Math.round(value).toLocaleString("en") : digits3(value));
const exact_rate = (value, unit) => scaled(value, unit, 0, 6);
const exact_count = (value, unit = "") => (value < 1000 ? (Math.round(value) + " " + unit).trim() : scaled(value, unit, 0, 8));
// The sentences of the command line, filled as report::said() does.
const said = (name, values) => what.words[name].replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "").replace(/ \(\)$/, "");
const exact_part = (share) => { const percent = 100 * share; return percent >= 9.95 ? String(Math.round(percent)) : percent.toFixed(percent >= 0.995 ? 1 : 2); };
// Times without their unit, as long as all have that of the first.
function beside(time, ...list) {
  let first = time.split(" ")[1];
  return list.map(exact_seconds).map((text) => { const [number, unit] = text.split(" "); if (unit !== first) first = ""; return unit === first ? number : text; });
}
function exact_speed(value, unit) {
  if (value >= 999.5e6) return exact_rate(value, unit);
  if (value >= 999500) return digits3(value / 1e6) + " M " + unit;
  return (value < 999.5 ? digits3(value) : Number(value.toPrecision(3)).toLocaleString("en")) + " " + unit;
}
const rate_unit = (answer) => (answer.items === null ? "runs/s" : what.tokens !== null ? "tokens/s" : "items/s");
// Sizes that the file leaves open and that nobody has set yet.
const unset_sizes = () => what.unset.filter((name) => what.sizes.some((size, i) => size.name === name && asked.sizes[i] === null));
// The parts of the headline, as report::verdict_of() makes them: name, separator, text.
function headline_of(answer) {
  const { chosen, device } = answer, unset = unset_sizes(), parts = [], add = (name, separator, text) => { if (text) parts.push([name, parts.length ? separator : "", text]); };
  if (unset.length) return [["time", "", said("unset", { dims: unset.join(", ") })]];
  const fit = fits_text(answer), fits = !fit.startsWith("does not"), time = exact_seconds(chosen.seconds);
  if (!fits) add("fit", "", fit);
  if (asked.resident) {
    add("time", "; ", "time by the command below");
    add("bound", ", ", "its bytes need the order of the kernels");
  } else {
    const other = asked.fused ? [answer.rows.seconds, "unfused"] : [answer.fused.seconds, "fused"];
    const [floor, else_takes] = beside(time, chosen.floor, other[0]), others = [said("floor", { time: floor }), said("other", { time: else_takes, what: other[1] })].join("; ");
    const share = chosen.seconds > 0 ? chosen.memory_bound / chosen.seconds : 0, by_memory = share >= 0.5;
    add("time", "; ", answer.is_launched ? said(answer.gains_from_graph ? "launched" : "once", { launched: exact_seconds(answer.launched), time: exact_seconds(answer.graph), graph: device.graph })
      : said(chosen.unknown ? "part" : what.at_least ? "least" : "bound", { time, what: asked.fused ? "fused" : "unfused", others }));
    if (!answer.is_launched) add("bound", ", ", said("limit", { limit: by_memory ? "memory" : "compute", share: exact_part(by_memory ? share : 1 - share) }));
    if (what.tokens !== null && answer.items !== null) {
      const rate = (seconds) => exact_speed(answer.items / seconds, rate_unit(answer));
      add("rate", ", ", said(answer.gains_from_graph ? "rates" : "rate", { rate: rate(answer.is_launched ? answer.launched : chosen.seconds), graph_rate: rate(answer.graph), graph: device.graph }));
    }
  }
  if (fits) add("fit", "; ", fit);
  return parts;
}
// What the page knows to be faster; advice on precision and batch is for the sizes of the command line.
function actions_of(answer) {
  const { chosen, fused, device } = answer, list = [], gain = (from, to) => ` (${digits3(from / to)}× lower bound).`;
  if (unset_sizes().length) return list;
  const most = fits_text(answer).startsWith("does not") && largest_text(answer).split("largest batch ")[1];
  if (most) list.push(`Batch ${most} is the largest that fits.`);
  if (asked.resident) return list;
  if (answer.gains_from_graph) list.push(said("graph", { graph: device.graph, from: exact_seconds(answer.launched), to: exact_seconds(answer.graph) }) + gain(answer.launched, answer.graph));
  const now = Math.max(chosen.seconds, answer.launched ?? 0), then = Math.max(fused.seconds, fused.launches * (device.launch ?? 0));
  if (!asked.fused && now > 1.05 * then) list.push(said("fuse", { from: exact_seconds(now), to: exact_seconds(then) }) + gain(now, then));
  return list;
}
// The answer in the wording of the command line.
function facts_of_answer(answer) {
  const { chosen, device } = answer, at_least = answer.of.unmodelled > 0 || what.at_least ? "≥ " : "", time = chosen.seconds;
  if (unset_sizes().length) return [];
  const facts = [["work", at_least + exact_count(answer.flops, "FLOP"), exact_count(answer.macs) + " multiply-accumulates"]];
  if (!asked.resident) {
    facts.push(["traffic", at_least + exact_count(answer.bytes, "B"), answer.bytes > 0 && !answer.of.unmodelled ? exact_intensity(answer.flops / answer.bytes) + " FLOP/B" : ""]);
    facts.push(["speed", "≤ " + exact_speed((answer.items ?? 1) / (answer.is_launched ? answer.launched : time), rate_unit(answer)), `${chosen.launches.toLocaleString("en")} kernel${chosen.launches === 1 ? "" : "s"}`]);
    if (answer.is_launched) facts.push(["launches", "≥ " + exact_seconds(answer.launched), device.assumed ? "a launch is assumed" : ""]);
  }
  return [...facts, ...fit_facts(answer)];
}

// Whether the model fits, and the largest batch that fits. No answer if the memory is unknown, or if a lower bound of
// it fits.
const fits_text = (answer) => (answer.memory === null || answer.device.memory === null || (what.bytes_at_least && answer.memory <= answer.device.memory) ? ""
  : `${answer.memory <= answer.device.memory ? "fits" : "does not fit"}: ${what.bytes_at_least ? "≥ " : ""}${part_text(answer.memory, answer.device.memory)}`);
// "141 GB of 141 GB" explains nothing: such a part is also stated in per cent, with as many digits as tell it from 100.
function part_text(used, whole) {
  const [part, all, percent] = [exact_count(used, "B"), exact_count(whole, "B"), (100 * Number(used)) / Number(whole)];
  const digits = [3, 4, 5, 6, 7, 8, 9].find((each) => Number(percent.toPrecision(each)) !== 100);
  return `${part} of ${all}` + (part === all && digits !== undefined ? ` (${Number(percent.toPrecision(digits))} %)` : "");
}
function fit_facts(answer) {
  const [verdict, bytes] = fits_text(answer).split(": ");
  return bytes ? [["fits", verdict === "fits" ? "yes" : "no", bytes + largest_text(answer)]] : [];
}
function largest_text(answer) {
  const at = what.sizes.findIndex((size) => size.batch);
  if (at < 0 || what.tokens !== null || what.bytes_at_least) return "";
  const need = (size) => formulas_at(asked.sizes.with(at, size))(answer.of.memory), holds = (size) => need(size) <= answer.device.memory;
  if (!holds(1) || need(2) <= need(1)) return "";
  let below = 1, above = 2;
  for (; holds(above) && above < 2 ** 40; above *= 2) below = above;
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (holds(middle)) below = middle;
    else above = middle;
  }
  return " · largest batch " + below.toLocaleString("en");
}

const is_as_asked = () => JSON.stringify(asked) === JSON.stringify(as_asked);
const quoted = (text) => (/^[\w./:=,+-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");
function command_of(request) {
  const words = ["onnx-estimate", ...what.arguments.map(quoted), "--device", quoted(what.devices[request.device].id)];
  if (what.cases[request.case].option) words.push("--precision", what.cases[request.case].option);
  what.sizes.forEach((size, i) => { if (request.sizes[i] !== null) words.push(...(size.option.endsWith(" ") ? [size.option.trim(), String(request.sizes[i])] : size.option.split(" ").slice(0, 1).concat(quoted(size.option.split(" ").slice(1).join(" ") + request.sizes[i])))); });
  words.push("--traffic", request.resident ? "resident" : request.fused ? "fused" : "unfused");
  return words.join(" ");
}

// The chart's rows for the request: new columns replace the original ones.
const still_items = structuredClone(chart.series[0].items), still_roofs = chart.roofs, still_star = chart.series[0].bound_star;
const still_shapes = chart.series[0].items.shape, still_total = chart.series[0].seconds;
let answered = answer_of(asked);
function put_rows(answer) {
  answered = answer;
  const source = chart.series[0], items = source.items, is_still = is_as_asked();
  if (is_still) {
    for (const key of ["flops", "bytes", "compute_seconds", "memory_seconds", "limit", "roof", "shape", "dtype", "name", "dot", "absence"]) items[key] = still_items[key];
    source.seconds = still_total;
    source.bound_star = still_star;
  } else {
    const same_sizes = JSON.stringify(asked.sizes) === JSON.stringify(as_asked.sizes), is_regrouped = asked.fused && !what.fused;
    if (is_regrouped) add_leads(answer);
    const bounds = bounds_of_items(answer);
    const column = (get, key) => (items[key] = bounds.map((bound, i) => (bound ? get(bound) : still_items[key][i])));
    column((b) => b.flops, "flops");
    column((b) => b.bytes, "bytes");
    column((b) => b.compute, "compute_seconds");
    column((b) => b.memory, "memory_seconds");
    column((b) => (!b.known ? 4 : b.compute === 0 && b.memory === 0 ? 0 : b.launched ? 5 : b.compute >= b.memory ? 1 : 2), "limit");
    column((b) => (b.roof !== null && b.roof >= 0 ? b.roof : null), "roof");
    put_kernels(answer, items);
    // Shapes and types are texts for the original request: blank them if they no longer apply.
    let blank = strings.indexOf("");
    if (blank < 0) blank = strings.push("") - 1;
    items.shape = same_sizes ? still_shapes : still_shapes.map(() => blank);
    items.dtype = asked.case === as_asked.case ? still_items.dtype : still_items.dtype.map(() => blank);
    source.seconds = answer.chosen.seconds;
    source.bound_star = { ...still_star, flops: answer.flops, bytes: answer.bytes, seconds: answer.chosen.seconds };
  }
  put_roofs(answer, is_still);
  all_series[0] = make_series(source, 0);
  take_elements(all_series[0]);
  put_gains(answer);
}
const kPartOfKernel = { bytes: 0, flops: 0, memory: 0, compute: 0, seconds: 0, runs: false, known: true, roof: null };
// The bound of each row of the table: of a node, of a fused kernel, or summed over the nodes of a kernel.
function bounds_of_items(answer) {
  if (asked.fused === what.fused) return what.class_of.map((each) => answer.chosen.bounds[answer.of.classes[each]] ?? null);
  if (!asked.fused) return what.rows_of.map((rows) => sum_of_bounds(rows.map((row) => answer.rows.bounds[answer.of.row_classes[row]]).filter(Boolean)));
  const { nodes, leads } = answer;
  return nodes.map((bound, i) => { const id = what.group_of[i]; return id < 0 ? bound : leads.get(id) === i ? answer.fused.bounds[answer.of.groups[id]] ?? null : kPartOfKernel; });
}
function sum_of_bounds(bounds) {
  if (!bounds.length) return null;
  const sum = (get) => bounds.reduce((all, bound) => all + (get(bound) ?? 0), 0), seconds = sum((b) => b.seconds);
  const by_memory = sum((b) => (b.memory > (b.compute ?? 0) ? b.seconds : 0)) > seconds / 2, main = bounds.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  return { bytes: sum((b) => b.bytes), flops: sum((b) => b.flops), seconds, memory: by_memory ? seconds : sum((b) => b.memory), compute: by_memory ? sum((b) => b.compute) : seconds,
    runs: bounds.some((b) => b.runs), known: bounds.every((b) => b.known), launched: sum((b) => (b.launched ? b.seconds : 0)) > seconds / 2, roof: main.roof };
}
// For a page of nodes: the bounds of the nodes, and the row that represents each fused kernel: the rule of
// report::heaviest_node(), the most multiply-accumulates, else the most bytes.
function add_leads(answer) {
  const nodes = what.class_of.map((each) => answer.rows.bounds[answer.of.classes[each]] ?? null), leads = new Map();
  const weight = (i) => [nodes[i]?.macs ?? 0, nodes[i]?.bytes ?? 0];
  what.group_of.forEach((id, i) => {
    if (id < 0) return;
    const [macs, bytes] = weight(i), [most, largest] = leads.has(id) ? weight(leads.get(id)) : [-1, -1];
    if (macs > most || (macs === most && bytes > largest)) leads.set(id, i);
  });
  Object.assign(answer, { nodes, leads });
}
// For a page of nodes when fused kernels are requested: the lead row gets the kernel's name and dot, the others get no
// dot.
function put_kernels(answer, items) {
  for (const key of ["name", "dot", "absence"]) items[key] = still_items[key];
  if (!asked.fused || what.fused) return;
  const { nodes, leads } = answer, members = new Map();
  what.group_of.forEach((id, i) => { if (id >= 0 && nodes[i]?.runs) members.set(id, (members.get(id) ?? 0) + 1); });
  const first = 1 + Math.max(-1, ...still_items.dot.filter((dot) => dot !== null)), same = new Map();
  items.name = [...items.name], items.dot = [...items.dot], items.absence = [...items.absence];
  what.group_of.forEach((id, i) => {
    if (id < 0) return;
    const bound = answer.fused.bounds[answer.of.groups[id]];
    if (leads.get(id) !== i || !bound?.runs) {
      items.dot[i] = null, items.absence[i] = bound?.runs ? 8 : 1;
      return;
    }
    const kind = answer.of.groups[id] + "/" + items.type[i];
    if (!same.has(kind)) same.set(kind, first + same.size);
    items.absence[i] = bound.flops > 0 ? 0 : 2;
    items.dot[i] = bound.flops > 0 && !(bound.bytes > 0) ? null : same.get(kind);
    if (members.get(id) > 1) items.name[i] += " + " + (members.get(id) - 1);
  });
}
// The time that each row would save if its group were fused. Fusing saves traffic: memory-bound rows share the gain in
// proportion to their time, up to that time, and the other rows share the rest. Fused pages have no groups.
function put_gains(answer) {
  if (!what.group_of.length || asked.fused) return;
  const s = all_series[0], groups = new Map();
  what.group_of.forEach((id, i) => {
    if (id < 0) return;
    const group = groups.get(id) ?? groups.set(id, { all: 0, memory: 0, types: new Set() }).get(id), seconds = s.bound_of(i) ?? 0;
    group.all += seconds;
    if (s.items.limit[i] === 2) group.memory += seconds;
    group.types.add(strings[s.items.type[i]]);
  });
  for (const [id, group] of groups) {
    const bound = answer.fused.bounds[answer.of.groups[id]];
    group.gain = bound ? Math.max(0, group.all - bound.seconds) : 0;
  }
  for (const row of s.rows) {
    const partners = new Set();
    row.recoverable = 0;
    for (const i of row.list) {
      const group = groups.get(what.group_of[i]), seconds = s.bound_of(i) ?? 0;
      if (!group || !(group.gain > 0)) continue;
      const first = Math.min(group.gain, group.memory), rest = group.gain - first, others = group.all - group.memory;
      row.recoverable += s.items.limit[i] === 2 ? (first * seconds) / group.memory : others > 0 ? (rest * seconds) / others : 0;
      for (const type of group.types) if (type !== row.type) partners.add(type);
    }
    row.partners = [...partners].slice(0, 4).join(", ");
  }
}
function put_roofs(answer, is_still) {
  const { device } = answer, main = new Map();
  if (asked.device === 0) {
    chart.roofs = { ...still_roofs };
  } else {
    chart.roofs = { main: 0, bandwidth: [{ id: "dram", name: "DRAM", value: device.dram, unit: "B/s", shown: true }],
      compute: device.roofs.map(([id, name, value]) => ({ id, name, value, unit: /INT\d+ \w+$/.test(name) && !name.includes("FP") && !name.includes("BF") ? "OP/s" : "FLOP/s", shown: false })) };
  }
  if (!is_still) {
    const items = chart.series[0].items;
    const work = new Map(), all = items.flops.reduce((sum, flops) => sum + (flops ?? 0), 0);
    items.roof.forEach((roof, i) => {
      if (roof === null) return;
      main.set(roof, (main.get(roof) ?? 0) + Math.max(items.compute_seconds[i] ?? 0, items.memory_seconds[i] ?? 0));
      work.set(roof, (work.get(roof) ?? 0) + (items.flops[i] ?? 0));
    });
    // As choose_roofs() of plot/chart.cpp.
    const [most, flops] = [...work].sort((a, b) => b[1] - a[1])[0] ?? [0, 0];
    Object.assign(chart.roofs, { main: most, has_main: flops > 0.5 * all });
    chart.roofs.compute = chart.roofs.compute.map((roof, i) => ({ ...roof, shown: (chart.roofs.has_main && i === chart.roofs.main) || (main.get(i) ?? 0) > 0.01 * answer.chosen.seconds }));
  }
  Object.assign(state, { roof: main_roof(series()), roofs: null });
  const low = Math.floor(Math.log10(0.01 * chart.roofs.bandwidth[0].value)) - 1, peak = Math.max(...chart.roofs.compute.map((roof) => roof.value));
  if (asked.device !== 0) chart.axes = { intensity: still_axes.intensity, performance: [10 ** low, 10 ** Math.ceil(Math.log10(1.4 * peak))] };
  else chart.axes = still_axes;
  fill_roofs();
}
const still_axes = chart.axes;

// Updates headline, ladder, actions and answer, and greys out what no longer applies.
const still_verdict = ["model", "device", "text"].map((key) => by_id("verdict-" + key)?.innerHTML), still_actions = by_id("actions")?.innerHTML;
const kept_rungs = [...document.querySelectorAll("#ladder li")].map((item) => item.outerHTML).join("");
function put_verdict(answer) {
  const is_still = is_as_asked(), { device, of, chosen } = answer, unset = unset_sizes();
  const node = (key) => by_id("verdict-" + key), ladder = by_id("ladder");
  if (!node("text")) {
    // A model without work has no verdict.
  } else if (is_still) {
    ["model", "device", "text"].forEach((key, i) => (node(key).innerHTML = still_verdict[i]));
    by_id("actions").innerHTML = still_actions;
    if (ladder) ladder.innerHTML = kept_rungs;
  } else {
    node("model").textContent = what.model + what.sizes.map((size, i) => `, ${size.name}=${asked.sizes[i] ?? "1 (free)"}`).join("");
    node("device").textContent = `${device.name} (${of.precision ?? what.precision})`;
    const is_bad = (name, text, i) => i === 0 && (unset.length > 0 || name === "fit" && text.startsWith("does not"));
    node("text").replaceChildren(...headline_of(answer).flatMap(([name, separator, text], i) => [separator, made("span", { id: "verdict-" + name, class: is_bad(name, text, i) ? "bad" : "" }, text)]));
    by_id("actions").replaceChildren(...actions_of(answer).map((text) => made("li", {}, text)));
    if (ladder) put_ladder(ladder, unset.length ? [] : [["unfused", answer.rows.seconds], ["fused", answer.fused.seconds], ["floor", chosen.floor], ...(answer.is_launched ? [["launched", answer.launched]] : [])]);
  }
  by_id("answer").replaceChildren(...facts_of_answer(answer).map(([key, value, remark]) =>
    made("div", {}, made("dt", {}, key), made("dd", { "data-fact": key }, made("b", {}, value), remark ? " · " + remark : ""))));
  for (const node of document.querySelectorAll(".view, .energy")) node.classList.toggle("stale", !is_still);
  for (const node of document.querySelectorAll(".split, #tabs")) node.classList.toggle("stale", asked.resident || unset.length > 0);
  // Energy constants are valid for one device and one precision.
  by_id("energy").classList.toggle("stale", asked.device !== 0 || asked.case !== as_asked.case);
  by_id("what-if-note").hidden = is_still;
  by_id("what-if-command").textContent = command_of(asked);
  by_id("what-if-reset").disabled = is_still;
}
// Bounds of the request. A prediction and a measured run exist for the original request alone.
function put_ladder(ladder, rungs) {
  const longest = Math.max(...rungs.map(([, seconds]) => seconds));
  ladder.replaceChildren(...rungs.map(([name, seconds]) => {
    const bar = element("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    element("rect", { width: (100 * seconds) / longest, height: 10 }, bar);
    return made("li", { "data-rung": name }, made("span", {}, name), bar, made("b", {}, exact_seconds(seconds)));
  }));
}

// Whether every count is valid at this size: convolution kernels larger than the image make counts negative.
function is_possible(i, size) {
  const value = formulas_at(asked.sizes.with(i, size));
  return what.formulas.every((_, id) => value(id) >= 0) && answer_of({ ...asked, sizes: asked.sizes.with(i, size) }).bytes > 0;
}
function ask(change) {
  asked = { ...asked, sizes: [...asked.sizes], ...change };
  by_id("what-if-error").textContent = "";
  for (const number of document.querySelectorAll("#what-if [aria-invalid=true]")) number.setAttribute("aria-invalid", "false");
  const answer = answer_of(asked);
  put_rows(answer);
  put_verdict(answer);
  fitted = null;
  update();
}
function connect_what_if() {
  const form = by_id("what-if"), holder = by_id("what-if-sizes");
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  const set_size = (i, value) => { const sizes = [...asked.sizes]; sizes[i] = value; ask({ sizes }); };
  const controls = what.sizes.map((size, i) => {
    const number = made("input", { type: "number", min: size.name === "past" ? 0 : 1, max: size.most ?? 1e7, step: 1, placeholder: "1 (free)", "data-size": size.name });
    const range = made("input", { type: "range", min: 0, max: Math.floor(Math.log2(size.most ?? (size.batch ? 4096 : 131072))), step: 1, "aria-label": size.name + " in powers of two" });
    holder.append(made("label", {}, size.name + " ", number), range);
    number.addEventListener("input", () => {
      const is_good = number.value === "" ? !number.validity.badInput : number.checkValidity() && is_possible(i, +number.value);
      by_id("what-if-error").textContent = is_good ? "" : number.checkValidity() ? `${size.name} ${number.value} is impossible: a window would be larger than its input` : `${size.name} is a whole number from ${number.min} to ${(+number.max).toLocaleString("en")}; the answer is still of ${asked.sizes[i] ?? "1"}`;
      number.setAttribute("aria-invalid", String(!is_good));
      if (is_good) set_size(i, number.value === "" ? null : +number.value);
    });
    range.addEventListener("input", () => set_size(i, 2 ** +range.value));
    return () => {
      if (document.activeElement !== number) number.value = asked.sizes[i] ?? "";
      range.value = Math.log2(Math.max(1, asked.sizes[i] ?? 1));
    };
  });
  by_id("what-if-precision").append(...what.cases.map((each, i) => new Option(each.precision ?? "the file's", i)));
  by_id("what-if-device").append(...what.devices.map((each, i) => new Option(each.name, i)));
  by_id("what-if-precision").addEventListener("change", (event) => ask({ case: +event.target.value }));
  by_id("what-if-device").addEventListener("change", (event) => ask({ device: +event.target.value }));
  by_id("what-if-traffic").addEventListener("change", (event) => ask({ fused: event.target.value !== "0", resident: event.target.value === "2" }));
  by_id("what-if-reset").addEventListener("click", () => ask(structuredClone(as_asked)));
  show_what_if = () => {
    controls.forEach((show) => show());
    by_id("what-if-precision").value = asked.case;
    by_id("what-if-device").value = asked.device;
    by_id("what-if-traffic").value = asked.resident ? 2 : +asked.fused;
  };
  put_verdict(answered);
  put_gains(answered);
  show_what_if();
  const first = what.sizes.find((size) => what.unset.includes(size.name));
  if (first) holder.querySelector(`[data-size="${CSS.escape(first.name)}"]`).focus({ preventScroll: true });
}
