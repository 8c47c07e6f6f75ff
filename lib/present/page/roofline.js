// The roofline itself: the SVG in the page, updated to the current view. Positions are recomputed for each view instead
// of scaling a group, so that strokes, dots and text keep their size.
const svg = by_id("roofline");
const frame = svg.querySelector(".frame");
// The axes in screen pixels; `axis`: where their labels end and the rail, the column of rows without FLOPs, begins.
const plot = {};
const kRail = 40, kHistogram = 34;
const X = (x) => { const v = view(); return plot.x0 + ((plot.x1 - plot.x0) * (Math.log10(x) - v.x0)) / (v.x1 - v.x0); };
const Y = (y) => { const v = view(); return plot.y1 - ((plot.y1 - plot.y0) * (Math.log10(y) - v.y0)) / (v.y1 - v.y0); };
const fix = (value) => Math.round(value * 100) / 100;

// The space for what the script draws. It is measured only when it may have changed: reading it between writes makes
// browsers lay out the page each time.
const room = {};
function measure() {
  const rows = by_id("rows");
  Object.assign(room, { chart: svg.parentElement.clientWidth, tabs: by_id("tabs").clientWidth, rows: rows.clientWidth, lines: rows.clientHeight || 400, window: innerHeight, window_wide: innerWidth });
}
// Fits the picture to the space in the page, so that text keeps its size.
function lay_out() {
  const width = Math.max(300, Math.round(room.chart)), is_narrow = width < 520;
  const height = Math.round(clamp(is_narrow ? 1.1 * width : Math.min(0.72 * width, room.window - 330), 380, 760));
  const rail = axes !== "bytes" && series().rows.some((row) => row.absence === 2 && row.share > 0);
  plot.is_narrow = width < 760;
  Object.assign(plot, { axis: 62, y0: kHistogram + 12, x1: width - Math.max(14, margin_width()), y1: height - 44, width, height, has_rail: rail });
  plot.x0 = plot.axis + (rail ? kRail : 0);
  give(svg, { viewBox: `0 0 ${width} ${height}`, width, height });
  give(svg.querySelector(".paper"), { width, height });
  give(frame, { x: plot.x0, y: plot.y0, width: plot.x1 - plot.x0, height: plot.y1 - plot.y0 });
  give(svg.querySelector("#plot-area rect"), { x: plot.x0 - 0.5, y: plot.y0 - 0.5, width: plot.x1 - plot.x0 + 1, height: plot.y1 - plot.y0 + 1 });
  give(by_id("title-x"), { x: (plot.x0 + plot.x1) / 2, y: height - 8 });
  const middle = (plot.y0 + plot.y1) / 2;
  give(by_id("title-y"), { x: 11, y: middle, transform: `rotate(-90 11 ${middle})` });
}

// Looks up the SVG elements of each row once.
function take_elements(one) {
  const group = svg.querySelector(`.series[data-s="${one.index}"]`), by_dot = new Map();
  one.group = group;
  for (const row of one.rows) {
    row.nodes = { e: null, m: null, link: null, whisker: null };
    if (row.dot !== null) by_dot.set(row.dot, row);
  }
  const mark = (row, parent) => element(row.color ? "path" : "circle", { "data-d": row.dot, "data-made": "", fill: kPalette[row.color], stroke: kEdges[row.color] }, parent);
  const take = (selector, name, key = "d") => {
    for (const node of [...group.querySelector(selector).children]) {
      const row = by_dot.get(+node.dataset[key]);
      if (node.dataset[key] === undefined) continue;
      if (row) row.nodes[name] = node;
      else node.setAttribute("display", "none");  // its row is now part of a kernel
    }
  };
  // On a page of nodes, fused kernels get their own dots.
  group.querySelectorAll(".estimated > [data-made]").forEach((node) => node.remove());
  take(".estimated", "e");
  for (const row of one.rows)
    if (row.dot !== null && !row.nodes.e && !row.nodes.m && (row.absence === 0 || row.absence === 2))
      row.nodes.e = mark(row, group.querySelector(".estimated"));
  take(".measured", "m");
  take(".links", "link");
  take(".links", "whisker", "w");
}
all_series.forEach(take_elements);

function ticks(low, high, line, middle, text = tick_text) {
  // Labels at 1, and also at 2 and 5 if less than 2.2 decades are visible, as in the still picture.
  // An axis of less than half a decade has finer ones, so that it has two at least.
  const fine = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], all = high - low < Math.log10(4) ? fine : [1, 2, 5];
  const steps = high - low < Math.log10(150) ? all : [1];
  let major = "", minor = "";
  const labels = [];
  for (let exponent = Math.floor(low + 1e-9); exponent <= Math.ceil(high - 1e-9); ++exponent)
    for (const step of all) {
      const at = exponent + Math.log10(step);
      if (at < low - 1e-9 || at > high + 1e-9) continue;
      if (step === 1) major += line(10 ** at);
      else minor += line(10 ** at);
      if (steps.includes(step)) labels.push([middle(10 ** at), text(step, exponent)]);
    }
  return { major, minor, labels };
}

function draw_ticks() {
  const v = view();
  const amount = (step, exponent) => si(step * 10 ** exponent);
  const x = ticks(v.x0, v.x1, (t) => `M${fix(X(t))} ${plot.y0}V${plot.y1}`, X, axes === "bytes" ? amount : tick_text);
  const y = ticks(v.y0, v.y1, (t) => `M${plot.x0} ${fix(Y(t))}H${plot.x1}`, Y, axes === "rate" ? tick_text : amount);
  by_id("grid-major").setAttribute("d", x.major + y.major);
  by_id("grid-minor").setAttribute("d", x.minor + y.minor);
  const write = (id, labels, place) => {
    by_id(id).replaceChildren(...labels.map(([at, text]) => {
      const node = element("text", place(fix(at)));
      node.textContent = text;
      return node;
    }));
  };
  write("ticks-x", x.labels, (at) => ({ x: at, y: plot.y1 + 18 }));
  write("ticks-y", y.labels, (at) => ({ x: plot.axis - 8, y: at + 4 }));
}

// The visible part of a roof as [x0, y0, x1, y1] in pixels; null: none.
function roof_segment(roof, is_compute, value) {
  const v = view(), low = 10 ** v.x0, high = 10 ** v.x1, bottom = 10 ** v.y0, top = 10 ** v.y1;
  if (is_compute) {
    const fastest = Math.max(...chart.roofs.bandwidth.map((r) => r.value));
    const from = Math.max(low, value / fastest);
    if (value < bottom || value > top || from >= high) return null;
    return [X(from), Y(value), plot.x1, Y(value)];
  }
  const peak = Math.max(...chart.roofs.compute.filter((r, i) => shown_roofs().has(r.id) || i === state.roof).map((r) => r.value));
  const from = Math.max(low, bottom / value), to = Math.min(high, Math.min(peak, top) / value);
  return from >= to ? null : [X(from), Y(from * value), X(to), Y(to * value)];
}

const overlaps = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const inside = (a) => a[0] >= plot.x0 && a[2] <= plot.x1 && a[1] >= plot.y0 && a[3] <= plot.y1;
const is_free = (boxes, taken) => boxes.every((box) => inside(box) && !taken.some((other) => overlaps(box, other)));
const ruler_font = document.createElement("canvas").getContext("2d");
ruler_font.font = '12px "DejaVu Sans", Verdana, sans-serif';
const text_width = (text) => ruler_font.measureText(text).width;
function slanted(x, y, width, angle) {
  const parts = Math.abs(angle) < 0.02 ? 1 : Math.max(2, Math.floor(width / 12)), boxes = [], dx = 8 * Math.abs(Math.sin(angle)), dy = 8 * Math.abs(Math.cos(angle));
  for (let i = 0; i < parts; ++i) {
    const a = width * (i / parts - 0.5), b = width * ((i + 1) / parts - 0.5);
    const ya = y + a * Math.sin(angle), yb = y + b * Math.sin(angle);
    boxes.push([x + a * Math.cos(angle) - dx, Math.min(ya, yb) - dy, x + b * Math.cos(angle) + dx, Math.max(ya, yb) + dy]);
  }
  return boxes;
}

// Over bytes, the memory is a line: no kernel can be below it.
function bandwidth_line() {
  const v = view(), { value } = level_roof();
  const from = Math.max(10 ** v.x0, value * 10 ** v.y0), to = Math.min(10 ** v.x1, value * 10 ** v.y1);
  return from < to ? [X(from), Y(from / value), X(to), Y(to / value)] : [0, 0, 0, 0];
}
function draw_bandwidth(taken) {
  const group = extra("bandwidth", by_id("plot"));
  group.replaceChildren();
  if (axes !== "bytes") return;
  const [x0, y0, x1, y1] = bandwidth_line(), roof = level_roof();
  if (x0 === x1) return;
  group.parentElement.querySelector(".series").before(group);
  element("path", { d: `M${fix(x0)} ${fix(y0)}L${fix(x1)} ${fix(y1)}`, class: "ink-line" }, group);
  const text = `${roof.name} ${si(roof.value, roof.unit)}`, width = text_width(text), length = Math.hypot(x1 - x0, y1 - y0), angle = Math.atan2(y1 - y0, x1 - x0);
  for (const offset of [12, -12, 28, -28]) for (let back = width / 2 + 12; back <= length - width / 2; back += 8) {
    const t = 1 - back / length, x = x0 + t * (x1 - x0) - offset * Math.sin(angle), y = y0 + t * (y1 - y0) + offset * Math.cos(angle), boxes = slanted(x, y, width, angle);
    if (!is_free(boxes, taken)) continue;
    taken.push(...boxes);
    element("text", { class: "halo ink", x: fix(x), y: fix(y), "text-anchor": "middle", "dominant-baseline": "central", transform: `rotate(${fix((angle * 180) / Math.PI)} ${fix(x)} ${fix(y)})` }, group).textContent = text;
    return;
  }
}
// Roofs are labelled in the right margin, in the order of their lines; a narrow picture breaks them.
// A slope is labelled along its line or, where no place is free, in the margin too.
const kMostMargin = 176, kToLabel = 16;
const brief_of = (roof) => `${roof.name} ${si(roof.value, roof.unit.startsWith("FLOP") ? "" : roof.unit)}`;
const slope_text = (roof) => "╱ " + brief_of(roof);
function margin_rows(text) {
  if (!plot.is_narrow) return [text];
  const rows = [];
  for (const word of text.split(" ")) {
    const longer = rows.length ? rows[rows.length - 1] + " " + word : word;
    if (rows.length && text_width(longer) <= kMostMargin / 2) rows[rows.length - 1] = longer;
    else rows.push(word);
  }
  return rows;
}
function cut(text, width) {
  let shown = text;
  for (let kept = text.length - 2; kept > 3 && text_width(shown) > width; --kept) shown = text.slice(0, kept >> 1) + "…" + text.slice((kept >> 1) - kept);
  return shown;
}
const is_drawn = (roof, i = -1) => shown_roofs().has(roof.id) || (i < 0 ? roof.id === state.level : i === state.roof);
function margin_width() {
  if (axes !== "rate") return 0;
  const texts = [...chart.roofs.compute.filter(is_drawn).map(brief_of), ...chart.roofs.bandwidth.filter((roof) => is_drawn(roof)).map(slope_text), ...(chart.machines ?? []).map((machine) => machine.label)];
  return kToLabel + 4 + Math.max(0, ...texts.flatMap(margin_rows).map(text_width));
}
// Places for labels of that height, in the order of `wanted`: as plot::spread().
function spread(wanted, height, low, high) {
  const blocks = [];
  wanted.forEach((at, i) => {
    blocks.push([at - height * i, 1]);
    for (let k = blocks.length - 1; k > 0 && blocks[k - 1][0] / blocks[k - 1][1] > blocks[k][0] / blocks[k][1]; --k) {
      const [sum, count] = blocks.pop();
      blocks[k - 1] = [blocks[k - 1][0] + sum, blocks[k - 1][1] + count];
    }
  });
  const first = low + height / 2, last = Math.max(first, high - height * (wanted.length - 0.5));
  return blocks.flatMap(([sum, count]) => Array(count).fill(clamp(sum / count, first, last))).map((at, i) => at + height * i);
}
function draw_margin(labels) {
  const group = extra("margin"), x = plot.x1 + kToLabel;
  let rows_of = margin_rows, most = Math.max(1, ...labels.map((label) => margin_rows(label.text).length));
  // Without room for all rows, each label has one, cut in its middle: its end is the number.
  if (13 * most * labels.length > plot.y1 - plot.y0) [rows_of, most] = [(text) => [cut(text, plot.width - x - 2)], 1];
  const height = 13 * most + 3;
  group.replaceChildren();
  labels.sort((a, b) => a.y - b.y);
  spread(labels.map((label) => label.y), height, plot.y0, plot.y1).forEach((y, i) => {
    const rows = rows_of(labels[i].text);
    element("path", { class: "lead", fill: "none", stroke: "#8a939d", "stroke-width": 0.8, d: `M${plot.x1} ${fix(labels[i].y)}l3 0L${x - 3} ${fix(y)}` }, group);
    if (labels[i].tip) element("title", {}, element("rect", { x, y: fix(y - height / 2), width: 90, height, fill: "none", "pointer-events": "all" }, group)).textContent = labels[i].tip;
    rows.forEach((row, k) => (element("text", { class: "ink", fill: "#1f2328", x, y: fix(y + 4 + 13 * (k - (rows.length - 1) / 2)) }, group).textContent = row));
  });
}
svg.querySelectorAll(".roof text, .roof .lead, #machines text, #machines .lead").forEach((node) => node.remove());
function label_slope(group, roof, line, blocked) {
  const dx = line[2] - line[0], dy = line[3] - line[1], length = Math.hypot(dx, dy), angle = Math.atan2(dy, dx), short = `${roof.name} ${si(roof.value, roof.unit)}`;
  for (const text of [roof.measured ? `${short} (measured${roof.spec ? "; spec " + si(roof.spec, roof.unit) : ""})` : short, short]) {
    const width = text_width(text);
    for (const offset of [10, -11, 26, -27]) for (let back = width / 2 + 18; back <= length - width / 2 - 4; back += 8) {
      const t = back / length, x = line[0] + t * dx + (offset * dy) / length, y = line[1] + t * dy - (offset * dx) / length, boxes = slanted(x, y, width, angle);
      if (!is_free(boxes, blocked)) continue;
      element("text", { class: "halo ink", fill: "#1f2328", "text-anchor": "middle", "dominant-baseline": "central", x: fix(x), y: fix(y), transform: `rotate(${fix((angle * 180) / Math.PI)} ${fix(x)} ${fix(y)})` }, group).textContent = text;
      return boxes;
    }
  }
  return null;
}
// All roofs, their lines, and boxes that cover the lines.
function roof_lines() {
  const all = chart.roofs.compute.concat(chart.roofs.bandwidth), computes = chart.roofs.compute.length;
  const segments = all.map((roof, k) => (is_drawn(roof, k < computes ? k : -1) ? roof_segment(roof, k < computes, roof.value) : null));
  return [all, segments, segments.map((line) => (line ? along(line) : []))];
}
function draw_roofs(taken) {
  const is_rate = axes === "rate";
  by_id("roofs").setAttribute("display", is_rate ? "inline" : "none");
  draw_bandwidth(taken);
  for (const group of svg.querySelectorAll(".roof")) group.setAttribute("display", "none");
  draw_margin([]);
  if (!is_rate) return axes === "bytes" ? along(bandwidth_line()) : [];
  const computes = chart.roofs.compute.length, margin = [], [all, segments, line_boxes] = roof_lines();
  all.forEach((roof, k) => {
    const is_compute = k < computes, line = segments[k];
    const group = svg.querySelector(`.roof[data-roof="${roof.id}"]`) ?? element("g", { class: "roof", "data-roof": roof.id }, by_id("roofs")), spec = svg.querySelector(`.spec[data-roof="${roof.id}"]`);
    const is_main = is_compute ? k === state.roof : roof.id === state.level;
    group.setAttribute("display", is_drawn(roof, is_compute ? k : -1) ? "inline" : "none");
    group.classList.toggle("main", is_main);
    const path = group.querySelector("path") ?? element("path", { stroke: "#333c46" }, group);
    give(path, { d: line ? `M${fix(line[0])} ${fix(line[1])}L${fix(line[2])} ${fix(line[3])}` : "M0 0", "stroke-width": is_main ? 2.2 : 1.2, "stroke-dasharray": is_main ? "none" : "7 4" });
    if (spec) {
      const stated = roof.spec && state.spec ? roof_segment(roof, is_compute, roof.spec) : null;
      spec.setAttribute("display", stated ? "inline" : "none");
      if (stated) spec.setAttribute("d", `M${fix(stated[0])} ${fix(stated[1])}L${fix(stated[2])} ${fix(stated[3])}`);
    }
    group.querySelector("text")?.remove();
    if (!line) return;
    const boxes = is_compute ? null : label_slope(group, roof, line, [...taken, ...line_boxes.filter((_, other) => other !== k).flat()]);
    if (!boxes) return void margin.push({ y: line[is_compute ? 3 : 1], text: is_compute ? brief_of(roof) : slope_text(roof), tip: roof.measured ? "measured" + (roof.spec ? `; the vendor states ${si(roof.spec, roof.unit)}` : "") : "" });
    taken.push(...boxes);
    drawn_texts.push({ boxes, node: group.querySelector("text") });
  });
  for (const { label, peak } of chart.machines ?? []) if (Y(peak) >= plot.y0 && Y(peak) <= plot.y1) margin.push({ y: Y(peak), text: label });
  draw_margin(margin);
  return line_boxes.flat();
}
// Texts in the plot, which a ruler may hide while it covers them.
const drawn_texts = [];

function draw_ridge() {
  const group = by_id("ridge"), zones = ["memory", "compute"].map((n) => by_id("zone-" + n));
  if (!group) return;
  const roofs = new Map();
  for (const row of series().rows) if (row.roof !== null && row.roof >= 0) roofs.set(row.roof, (roofs.get(row.roof) ?? 0) + row.share);
  // The zones left and right of the ridge are only meaningful if one roof applies to all rows and none are measured.
  const is_single = [...roofs.values()].filter((share) => share > 0.01).length <= 1 && (!roofs.size || roofs.has(state.roof)) && axes === "rate" && state.level === "dram" && series().time !== "measured";
  for (const zone of zones) zone?.setAttribute("display", is_single ? "inline" : "none");
  const peak = chart.roofs.compute[state.roof]?.value;
  group.setAttribute("display", "none");
  if (!peak) return void zones.forEach((zone) => zone?.setAttribute("display", "none"));
  const bandwidth = level_roof().value;
  const x = X(peak / bandwidth), y = Y(peak);
  const slope = roof_segment(null, false, bandwidth);
  const low = 10 ** view().x0;
  // Polygons may extend beyond the frame; the clip path cuts them.
  const left = X(low), left_y = Y(low * bandwidth);
  zones[0]?.setAttribute("d", slope ? `M${fix(left)} ${fix(left_y)}L${fix(x)} ${fix(y)}V${Math.max(plot.y1, fix(left_y))}H${fix(left)}Z` : "M0 0");
  zones[1]?.setAttribute("d", `M${fix(x)} ${fix(y)}H${Math.max(plot.x1, fix(x))}V${plot.y1}H${fix(x)}Z`);
  const [drop, dot, title, memory, compute] = group.children;
  const is_inside = x >= plot.x0 && x <= plot.x1;
  const top = axes === "rate" ? y : plot.y0;
  for (const [node, fits] of [[memory, x - 8 - text_width("memory-bound") > plot.x0], [compute, x + 8 + text_width("compute-bound") < plot.x1]]) node.setAttribute("display", is_single && fits ? "inline" : "none");
  group.setAttribute("display", is_inside && axes !== "bytes" ? "inline" : "none");
  give(drop, { d: `M${fix(x)} ${fix(top)}V${plot.y1}` });
  give(dot, { cx: fix(x), cy: fix(y), display: axes === "rate" ? "inline" : "none" });
  title.textContent = `ridge ${plain(peak / bandwidth)} FLOP/B`;
  const half = text_width(title.textContent) / 2 + 3;
  give(title, { x: fix(clamp(x, plot.x0 + half, Math.max(plot.x0 + half, plot.x1 - half))), y: plot.y1 - 26 });
  give(memory, { x: fix(x - 8), y: plot.y1 - 9 });
  give(compute, { x: fix(x + 8), y: plot.y1 - 9 });
}

// The area grows linearly with the share of the time: as plot::dot_radius().
const radius = (share) => Math.sqrt(2.2 ** 2 + (24 ** 2 - 2.2 ** 2) * clamp(share, 0, 1));
// Colours other than by type; by limit: in the order of kLimit, from the style.
const kLimitColors = kLimit.map((limit) => getComputedStyle(document.documentElement).getPropertyValue("--" + limit).trim());
const kShareSteps = [[0.2, "#D55E00"], [0.4, "#E69F00"], [0.6, "#CC79A7"], [0.8, "#56B4E9"], [Infinity, "#0072B2"]];
function color_of(row, item) {
  if (state.color === "place") return kPlaceColors[kPlaces.indexOf(item === undefined ? row.on : strings[series().items.on?.[item]])] ?? "#999999";
  if (state.color === "limit") return kLimitColors[row.limit];
  if (state.color === "share") return row.roof_share === null ? "#999999" : kShareSteps.find(([end]) => row.roof_share <= end)[1];
  if (state.color === "precision") return kPalette[Math.min(6, precisions().indexOf(row.dtype))];
  return kPalette[row.color];
}
const precisions = () => (series().precisions ??= [...new Set(series().rows.filter((r) => r.dot !== null).sort((a, b) => b.seconds - a.seconds).map((r) => r.dtype))]);

// Types differ in shape as well as colour; all shapes of one radius have the area of its circle.
const kShapes = [
  (r) => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  (r) => `m${fix(-0.89 * r)} ${fix(-0.89 * r)}h${fix(1.77 * r)}v${fix(1.77 * r)}h${fix(-1.77 * r)}Z`,
  (r) => `m0 ${fix(-1.25 * r)}l${fix(1.25 * r)} ${fix(1.25 * r)}l${fix(-1.25 * r)} ${fix(1.25 * r)}l${fix(-1.25 * r)} ${fix(-1.25 * r)}Z`,
  (r) => `m0 ${fix(-1.56 * r)}l${fix(1.35 * r)} ${fix(2.33 * r)}h${fix(-2.69 * r)}Z`,
  (r) => `m0 ${fix(1.56 * r)}l${fix(1.35 * r)} ${fix(-2.33 * r)}h${fix(-2.69 * r)}Z`,
  (r) => { const w = fix(0.79 * r); return `m${fix(-0.4 * r)} ${fix(-1.19 * r)}h${w}v${w}h${w}v${w}h${-w}v${w}h${-w}v${-w}h${-w}v${-w}h${w}Z`; },
  (r) => `m${fix(-1.1 * r)} 0l${fix(0.55 * r)} ${fix(-0.95 * r)}h${fix(1.1 * r)}l${fix(0.55 * r)} ${fix(0.95 * r)}l${fix(-0.55 * r)} ${fix(0.95 * r)}h${fix(-1.1 * r)}Z`,
];
const mark_path = (color, x, y, r) => `M${fix(x)} ${fix(y)}${kShapes[color](r)}`;
function swatch(color) {
  const picture = element("svg", { class: "swatch", width: 12, height: 12, viewBox: "-8 -8 16 16", "aria-hidden": "true", "data-c": color });
  element("path", { d: mark_path(color, 0, 0, 5), fill: kPalette[color] }, picture);
  return picture;
}
function move(node, x, y, r, row, is_hollow) {
  const color = color_of(row);
  give(node, node.tagName === "path" ? { d: mark_path(row.color, x, y, r) } : { cx: fix(x), cy: fix(y), r: fix(r) });
  if (node.getAttribute("fill") === color) return;
  node.setAttribute("fill", color);
  if (is_hollow) node.setAttribute("stroke", edge_of(color));
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const show = (node, visible) => node && node.getAttribute("display") !== (visible ? "inline" : "none") && node.setAttribute("display", visible ? "inline" : "none");
// Dots outside the view are chevrons at the edge that point to them; open, since types have closed marks.
function draw_dots(rows) {
  const wanted = new Set(rows);
  for (const one of all_series) show(one.group, one === series());
  const is_seen = (p) => p[0] >= plot.x0 - 0.5 && p[0] <= plot.x1 + 0.5 && p[1] >= plot.y0 - 0.5 && p[1] <= plot.y1 + 0.5;
  const outside = [], rail = [];
  for (const row of series().rows) {
    const { e, m, link, whisker } = row.nodes;
    row.at = row.bound_at = row.edge = row.box = null;
    if (!e && !m) continue;
    const place = wanted.has(row) ? place_of(row, state.level, axes) : null;
    const pixel = (p) => p && [X(p.x), Y(p.y)];
    const a = place && !place.rail ? pixel(place.e) : null, b = place && !place.rail ? pixel(place.m) : null, at = b ?? a;
    if (place?.rail) rail.push(row);
    if (at && !is_seen(at)) {
      row.edge = [clamp(at[0], plot.x0, plot.x1), clamp(at[1], plot.y0, plot.y1)];
      outside.push(row);
    }
    if (!at || row.edge) {
      for (const node of [e, m, link, whisker]) show(node, false);
      continue;
    }
    const r = radius(row.share), color = color_of(row);
    row.r = r;
    show(e, a);
    show(m, b);
    show(link, a && b);
    show(whisker, b && axes === "rate");
    if (e && a) move(e, ...a, r, row, true);
    if (m && b) move(m, ...b, r, row, false);
    // The link is thin at the measured dot and wide at its bound.
    if (a && b) give(link, { d: `M${fix(b[0])} ${fix(b[1])}L${fix(a[0] - 2.5)} ${fix(a[1])}h5Z`, fill: color, stroke: "none", "fill-opacity": 0.45 });
    if (whisker && b) {
      const low = fix(Y(row.flops / row.low)), high = fix(Y(row.flops / row.high)), x = fix(b[0]);
      whisker.setAttribute("d", `M${x - 3} ${low}h6m-3 0V${high}m-3 0h6`);
    }
    row.at = at;
    row.bound_at = b && a;
  }
  draw_outside(outside);
  draw_rail(rail);
  draw_levels();
}
const extra = (id, parent = svg) => svg.querySelector("#" + id) ?? element("g", { id }, parent);
function draw_outside(rows) {
  const group = extra("outside", by_id("plot"));
  group.replaceChildren();
  rows.sort((a, b) => b.seconds - a.seconds);
  for (const row of rows.slice(0, 60)) {
    const left = row.edge[0] <= plot.x0, right = row.edge[0] >= plot.x1;
    // In a corner, all of the mark stays inside.
    const [x, y] = left || right ? [row.edge[0], clamp(row.edge[1], plot.y0 + 7, plot.y1 - 7)] : [clamp(row.edge[0], plot.x0 + 7, plot.x1 - 7), row.edge[1]];
    const shape = left ? "m7 -6l-6 6l6 6" : right ? "m-7 -6l6 6l-6 6" : y <= plot.y0 ? "m-6 7l6 -6l6 6" : "m-6 -7l6 6l6 -6";
    element("path", { d: `M${fix(x)} ${fix(y)}${shape}`, fill: "none", stroke: edge_of(color_of(row)), "stroke-width": 2 }, group);
  }
  out_of_view = { count: rows.reduce((sum, row) => sum + row.list.length, 0), share: rows.reduce((sum, row) => sum + row.share, 0) };
}
let out_of_view = { count: 0, share: 0 };
// Rows that only move bytes, in the rail column, whose height is the whole time: a small share is a small mark.
function draw_rail(rows) {
  const group = extra("rail");
  group.replaceChildren();
  if (!plot.has_rail) return;
  const left = plot.axis + 3, wide = kRail - 7, high = plot.y1 - plot.y0 - 32;
  const all = series().rows.filter((row) => row.absence === 2).reduce((sum, row) => sum + row.seconds, 0);
  const share = series().seconds > 0 ? all / series().seconds : 0, used = Math.max(3, Math.min(1, share) * high);
  let y = plot.y1;
  for (const row of rows.sort((a, b) => b.seconds - a.seconds)) {
    const tall = (row.seconds / all) * used;
    y -= tall;
    if (tall < 0.4) continue;
    row.at = [left + wide / 2, y + tall / 2];
    row.r = Math.max(3, Math.min(wide, tall) / 2);
    row.box = [left, y, left + wide, y + tall];
    element("rect", { x: left, y: fix(y), width: wide, height: fix(Math.max(0.6, tall - 0.6)), fill: color_of(row), "fill-opacity": 0.75, stroke: edge_of(color_of(row)), "stroke-width": 0.6 }, group);
  }
  const say = (above, text) => { element("text", { x: left + wide / 2, y: fix(plot.y1 - used - above), "text-anchor": "middle", "font-size": 10, class: share < 0.05 ? "muted" : "ink" }, group).textContent = text; };
  say(17, "0 FLOP");
  say(4, percent(share));
}
// Histogram of time over intensity, by limit.
function draw_histogram(rows) {
  const group = extra("histogram");
  group.replaceChildren();
  const bins = Math.max(1, Math.floor((plot.x1 - plot.x0) / 8)), sums = new Map();
  for (const row of rows) {
    if (!row.at || row.box) continue;
    const bin = Math.min(bins - 1, Math.max(0, Math.floor((row.at[0] - plot.x0) / 8)));
    const parts = sums.get(bin) ?? sums.set(bin, kNoLimits()).get(bin);
    parts[row.limit] += row.share;
  }
  const most = Math.max(...[...sums.values()].map((parts) => parts.reduce((a, b) => a + b)), 1e-12);
  for (const [bin, parts] of sums) {
    let y = plot.y0 - 3;
    parts.forEach((part, limit) => {
      const tall = (part / most) * (kHistogram - 6);
      if (!tall) return;
      y -= tall;
      // Time near neither roof is hollow: grey alone would not distinguish it.
      const is_hollow = limit === 3 && tall > 3;
      element("rect", { x: fix(plot.x0 + bin * 8 + 0.5 + is_hollow / 2), y: fix(y + is_hollow / 2), width: 7 - is_hollow, height: fix(tall - is_hollow), fill: is_hollow ? "none" : kLimitColors[limit], stroke: is_hollow ? kLimitColors[limit] : "none" }, group);
    });
  }
  if (sums.size) element("text", { x: plot.x1, y: 10, "text-anchor": "end", "font-size": 11, class: "muted" }, group).textContent = `time over ${axes === "bytes" ? "bytes" : "intensity"}, by limit`;
}

// The measured speed at the intensity of each level (circle DRAM, diamond L2, triangle L1), for the ten rows with most
// time.
let level_boxes = [];
function draw_levels() {
  level_boxes = [];
  const group = series().group?.querySelector(".levels");
  if (!group) return;
  group.replaceChildren();
  if (state.level !== "dram" || axes !== "rate") return;
  for (const row of series().rows.filter((r) => r.at && r.measured > 0 && (r.l2 > 0 || r.l1 > 0)).sort((a, b) => b.seconds - a.seconds).slice(0, 10)) {
    const [x, y] = row.at.map(fix);
    for (const [bytes, mark] of [[row.l2, "l5 -5l5 5l-5 5Z"], [row.l1, "m0 4h10l-5 -9Z"]]) {
      if (!(bytes > 0 && row.flops > 0)) continue;
      const at = fix(X(row.flops / bytes));
      element("path", { stroke: color_of(row), d: `M${x} ${y}H${at}` }, group);
      level_boxes.push(...along([x, y, at, y]), [at - 6, y - 6, at + 6, y + 6]);
      element("path", { fill: color_of(row), stroke: "#333", d: `M${fix(at - 5)} ${y}${mark}` }, group);
    }
  }
}

// Labels of visible dots, with the same rings of candidate places as in the still picture; without a free place, only
// the table shows the name.
const kGaps = [4, 14, 26, 42, 62, 86, 112];
function draw_labels(taken, lines) {
  const group = series().group?.querySelector(".labels");
  if (!group) return;
  group.replaceChildren();
  const rows = series().rows.filter((row) => row.at && !row.box && inside([...row.at, ...row.at])).sort((a, b) => b.seconds - a.seconds);
  const blocked = [...taken, ...rows.slice(0, 400).flatMap(boxes_of), ...level_boxes], texts = [];
  const place = (row, text, width) => {
    const [x, y] = row.at;
    for (const gap of kGaps)
      for (let step = 0; step < 16; ++step) {
        const angle = (2 * Math.PI * (step % 2 === 0 ? step / 2 : -(step + 1) / 2)) / 16, reach = row.r + gap;
        const c = Math.cos(angle), s = Math.sin(angle);
        const cx = x + reach * c + Math.sign(c) * (width / 2) * Math.min(1, 2 * Math.abs(c)), cy = y - (reach + 7.5 * Math.abs(s)) * s;
        const box = [cx - width / 2, cy - 7.5, cx + width / 2, cy + 7.5];
        if (!is_free([box], blocked) || lines.some((other) => overlaps(box, other))) continue;
        if (gap > 10) {
          const tx = clamp(x, box[0], box[2]), ty = clamp(y, box[1], box[3]), far = Math.max(1, Math.hypot(tx - x, ty - y));
          const fx = x + ((tx - x) * row.r) / far, fy = y + ((ty - y) * row.r) / far, leader = along([fx, fy, tx, ty]);
          if (leader.some((part) => texts.some((other) => overlaps(part, other)))) continue;
          blocked.push(...leader);
          element("path", { stroke: "#6b7480", "stroke-width": 0.7, d: `M${fix(fx)} ${fix(fy)}L${fix(tx)} ${fix(ty)}` }, group);
        }
        const node = element("text", { class: "halo", x: fix(cx), y: fix(cy) }, group);
        node.textContent = text;
        drawn_texts.push({ boxes: [box], node });
        blocked.push(box);
        texts.push(box);
        return;
      }
  };
  const candidates = rows.slice(0, 40).filter((row) => !row.is_aggregate && row.share >= 0.005), names = short_names(candidates.map((row) => row.name), 26);
  for (const row of candidates) {
    if (texts.length >= 6) break;
    const text = names.get(row.name) + (row.list.length > 1 ? ` ×${row.list.length}` : ""), width = text_width(text) + 4;
    place(row, text, width);
  }
}
// The boxes of a row's dots: where it is, and, for a measured one, its bound.
const boxes_of = (row) => [row.at, row.bound_at].filter(Boolean).map(([x, y]) => [x - row.r, y - row.r, x + row.r, y + row.r]);
// Covers a line with small boxes.
function along([x0, y0, x1, y1]) {
  const parts = Math.max(1, Math.floor((Math.abs(x1 - x0) + Math.abs(y1 - y0)) / 8)), boxes = [];
  for (let i = 0; i <= parts; ++i) {
    const x = x0 + ((x1 - x0) * i) / parts, y = y0 + ((y1 - y0) * i) / parts;
    boxes.push([x - 2, y - 2, x + 2, y + 2]);
  }
  return boxes;
}
function short_name(name, columns) {
  const parts = name.split("/").filter(Boolean);
  let text = parts.pop() ?? name;
  while (parts.length && (parts[parts.length - 1] + "/" + text).length <= columns) text = parts.pop() + "/" + text;
  return text.length > columns ? text.slice(0, columns / 2 - 1) + "…" + text.slice(-columns / 2) : text;
}

// Shortens names to their ends; names that would look alike begin with the part in which they differ.
function short_names(names, columns) {
  const shorter = new Map(names.map((name) => [name, name.length > columns ? short_name(name, columns) : name])), alike = new Map();
  for (const [name, text] of shorter) (alike.get(text) ?? alike.set(text, []).get(text)).push(name.split("/").filter(Boolean));
  for (const [text, list] of alike) {
    if (list.length < 2) continue;
    const at = list[0].findIndex((part, i) => list.some((parts) => parts[i] !== part));
    if (at < 0) continue;
    for (const [name, of] of shorter) {
      const parts = name.split("/").filter(Boolean), head = parts[at];
      if (of !== text || head === undefined || at + 1 >= parts.length) continue;
      let tail = parts.pop();
      while (parts.length > at + 1 && (head + "…" + parts[parts.length - 1] + "/" + tail).length <= columns) tail = parts.pop() + "/" + tail;
      shorter.set(name, head + (parts.length === at + 1 ? "/" : "…") + tail);
    }
  }
  return shorter;
}

// Whole models: stars, the path over a size, arrows from a model to its successor.
function star_path(x, y, r) {
  let path = "";
  for (let i = 0; i < 10; ++i) {
    const angle = Math.PI * (i / 5 - 0.5), far = i % 2 ? r * 0.45 : r;
    path += `${i ? "L" : "M"}${fix(x + far * Math.cos(angle))} ${fix(y + far * Math.sin(angle))}`;
  }
  return path + "Z";
}
// Writes a text at the first of its places, given half of its width, where it covers nothing.
function write_free(text, taken, group, places_of) {
  const half = text_width(text) / 2 + 2, box = ([x, y]) => [x - half, y - 8, x + half, y + 8], at = places_of(half).find((place) => is_free([box(place)], taken));
  if (!at) return;
  taken.push(box(at));
  element("text", { class: "halo", x: fix(at[0]), y: fix(at[1]), "text-anchor": "middle", "dominant-baseline": "central" }, group).textContent = text;
}
const still_stars = [...svg.querySelectorAll("#plot > .star")];
function draw_stars(taken) {
  const is_rate = axes === "rate";
  for (const node of svg.querySelectorAll("#plot > .star, #plot > .star-name, #plot > .spread, #plot > .others, #plot > g.path")) node.setAttribute("display", is_rate ? "inline" : "none");
  if (!is_rate) return;
  const place = (star) => star && [X(star.flops / star.bytes), Y(star.flops / star.seconds)];
  const star_of = (node) => all_series[node.dataset.s][node.matches(".measured") ? "measured_star" : "bound_star"];
  const names = [], stars_at = still_stars.map((node) => place(star_of(node))).map(([x, y]) => [x - 10, y - 10, x + 10, y + 10]), dots = [...taken], lines = roof_lines()[2].flat();
  for (const node of still_stars) {
    const star = star_of(node), at = place(star);
    node.setAttribute("d", star_path(...at, 11));
    const bar = node.previousElementSibling;
    if (bar?.matches(".spread")) bar.setAttribute("d", `M${fix(at[0])} ${fix(Y(star.flops / star.longest))}V${fix(Y(star.flops / star.shortest))}`);
    node.classList.toggle("faded", all_series[node.dataset.s] !== series());
    const name = node.nextElementSibling;
    if (name?.classList.contains("star-name")) {
      const width = 1.15 * text_width(name.textContent), from = (left) => at[0] + (left ? -14 - width : 14);
      const box = ([drop, left]) => [from(left), at[1] + drop - 8, from(left) + width, at[1] + drop + 8];
      const places = [0, 16, -16, 32, -32, 48, -48, 64].flatMap((drop) => [[drop, false], [drop, true]]);
      const others = [...stars_at, ...names];
      const free = places.find((one) => is_free([box(one)], [...dots, ...others, ...lines])) ?? places.find((one) => is_free([box(one)], [...dots, ...others])) ?? (all_series.length > 1 ? places.find((one) => is_free([box(one)], others)) : undefined);
      // The page's headline names a single model: its star needs no name over dots or beyond the plot.
      name.setAttribute("display", free ? "inline" : "none");
      if (!free) continue;
      give(name, { x: fix(at[0] + (free[1] ? -14 : 14)), y: fix(at[1] + 4 + free[0]), "text-anchor": free[1] ? "end" : "start" });
      names.push(box(free));
      drawn_texts.push({ boxes: [box(free)], node: name });
    }
  }
  taken.push(...stars_at, ...names);
  for (const marks of svg.querySelectorAll("#plot > .others"))
    marks.setAttribute("d", (all_series[marks.dataset.s].other_runs ?? []).map(place).map(([x, y]) => `M${fix(x - 4)} ${fix(y)}h8`).join(""));
  for (const group of svg.querySelectorAll("#plot > g.path[data-kind]")) {
    // The path of its own model, or without data-s of the selected series.
    const of = group.dataset.s ? all_series[group.dataset.s] : series(), kind = group.dataset.kind;
    const stars = (kind == "across" ? chart.path : of[kind]) ?? [];
    const points = stars.map(place), color = group.getAttribute("fill"), is_bound = kind == "trajectory" && !!of.runs;
    group.replaceChildren();
    if (points.length) element("path", { d: "M" + points.map((p) => p.map(fix).join(" ")).join("L"), fill: "none", stroke: color, "stroke-width": 1.6, "stroke-dasharray": is_bound ? "4 3" : "none" }, group);
    for (const [x, y] of points) {
      element("path", { d: star_path(x, y, 6), fill: is_bound ? "#fff" : color, stroke: is_bound ? color : "#fff", "stroke-width": 0.8 }, group);
      taken.push([x - 7, y - 7, x + 7, y + 7]);
    }
    const order = is_bound ? [] : [...points.keys()], last = points.length - 1;
    if (order.length > 2) order.splice(1, 0, order.pop());
    for (const i of order) {
      const [x, y] = points[i], label = group.dataset.s ? stars[i].label.split("=").pop() + (i == last ? " " + of.label : "") : stars[i].label;
      write_free(label, taken, group, (half) => [[0, 18], [0, -18], [half + 12, 0], [-half - 12, 0], [half, 18], [-half, -18]].map(([dx, dy]) => [x + dx, y + dy]));
    }
  }
  const arrows = by_id("changes");
  if (!arrows) return;
  arrows.replaceChildren();
  for (const change of chart.changes) {
    const x0 = X(change.before_intensity), y0 = Y(change.before_rate), x1 = X(change.after_intensity), y1 = Y(change.after_rate);
    const factor = change.before_seconds / change.after_seconds;
    const text = factor >= 2 || factor <= 0.5 ? plain(factor) + "×" : (factor >= 1 ? "+" : "−") + percent(Math.abs(factor - 1)), label = text + (change.count > 1 ? `, of ${change.count}` : "");
    element("path", { d: `M${fix(x0)} ${fix(y0)}L${fix(x1)} ${fix(y1)}`, fill: "none", stroke: arrows.getAttribute("fill"), "stroke-dasharray": "5 3", "stroke-width": 1.4, "marker-end": "url(#arrow)" }, arrows);
    element("circle", { cx: fix(x0), cy: fix(y0), r: 2.5 }, arrows);
    write_free(label, taken, arrows, (half) => [0.5, 0.35, 0.65, 0.2, 0.8].flatMap((part) => [1, -1].map((side) => [x0 + part * (x1 - x0) + side * (half + 5), y0 + part * (y1 - y0)])));
  }
}

// Rooflines of other machines: one path and one label each.
function draw_machines() {
  by_id("machines")?.setAttribute("display", axes === "rate" ? "inline" : "none");
  document.querySelectorAll("#machines path").forEach((path, i) => {
    const { peak, bandwidth } = chart.machines[i], at = (k) => fix(X(k * peak / bandwidth)) + " " + fix(Y(peak * Math.min(1, k)));
    path.setAttribute("d", `M${at(1e-6)}L${at(1)}L${at(1e6)}`);
  });
}

function draw(rows) {
  drawn_texts.length = 0;
  draw_machines();
  draw_ticks();
  draw_ridge();
  draw_dots(rows);
  draw_histogram(rows);
  const taken = series().rows.slice(0, 300).filter((row) => row.at).flatMap(boxes_of);
  const ridge = document.querySelector("#ridge text");
  if (ridge && svg.querySelector("#ridge").getAttribute("display") !== "none") {
    const x = +ridge.getAttribute("x");
    taken.push([x - 100, plot.y1 - 36, x + 105, plot.y1]);
  }
  draw_stars(taken);
  const lines = draw_roofs(taken);
  draw_labels(taken, lines);
}
