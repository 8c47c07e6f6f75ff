// Controls, zoom, export: all code that changes the state, and one function that displays it.
let rows_in_view = [], show_what_if = () => {};

function update(part = "all") {
  write_state_soon();
  if (part === "all") {
    fitted = null;
    axes = state.y ?? "rate";
    lay_out();
    show_controls();
    show_what_if();
    show_legend();
    rows_in_view = visible_rows();
    draw(rows_in_view);
    show_status();
    show_marks();
    show_ruler(series().rows[state.row]);
    choose_unit(rows_in_view);
    draw_tab(rows_in_view);
  }
  if (part === "zoom") {
    draw(rows_in_view);
    show_status();
    show_frame();
    show_ruler(pointed ?? series().rows[state.row]);
    return;
  }
  fill_table(rows_in_view);
}

function show_status() {
  if (!all_series.length) return void (by_id("status").textContent = "roofs alone");
  const count = rows_in_view.reduce((sum, row) => sum + row.list.length, 0);
  const share = rows_in_view.reduce((sum, row) => sum + row.share, 0);
  by_id("status").textContent = `${count.toLocaleString("en")} of ${series().items.count.toLocaleString("en")} ops, ${percent(Math.min(1, share))} of the ${series().time === "measured" ? "time" : "lower bound"}`
    + (out_of_view.count ? ` · ${out_of_view.count.toLocaleString("en")} out of view, ${percent(out_of_view.share)}` : "");
}

function show_controls() {
  const values = { search: state.q, series: state.s, limit: state.limit, place: state.place, level: state.level, precision: state.roof, share: state.share, color: state.color, y: axes };
  for (const id in values) by_id(id).value = values[id];
  by_id("share-text").textContent = state.share + "%";
  for (const option of by_id("level").options) option.disabled = !has_level(option.value);
  for (const box of by_id("roof-boxes").querySelectorAll("input")) box.checked = box.value === "spec" ? state.spec : shown_roofs().has(box.value);
  by_id("axes-note").textContent = axes_note();
  show_frame();
  document.documentElement.classList.toggle("by-type", state.color === "type");
  show_theme(state.dark);
  const level = state.level.toUpperCase(), is_bytes = axes === "bytes";
  by_id("title-y").textContent = axes === "rate" ? "Performance [FLOP/s]" : (series().time === "measured" ? "Time" : "Lower bound of the time") + (is_bytes ? " of one kernel [s]" : " [s]");
  by_id("title-x").textContent = is_bytes ? `${level} bytes of one kernel [B]` : `Arithmetic intensity [FLOP / ${level} byte]`;
  const keys = { limit: kLimit.map((n, i) => [n, kLimitColors[i]]), precision: precisions().slice(0, 7).map((n, i) => [n || "not known", kPalette[i]]),
    share: [["≤ 20%", 0.2], ["40%", 0.4], ["60%", 0.6], ["80%", 0.8], ["> 80% of its roof", 1]].map(([n, v]) => [n, kShareSteps.find(([e]) => v <= e)[1]]), type: [], place: kPlaces.filter((place) => series().rows.some((row) => row.on === place)).map((place) => [kPlaceNames[place], kPlaceColors[kPlaces.indexOf(place)]]) };
  // Paths of several models: a crowded plot has no room for all their names.
  const models = axes === "rate" ? new Map([...svg.querySelectorAll("#plot > g.path[data-s]")].map((path) => [all_series[path.dataset.s].label, path.getAttribute("fill")])) : [];
  by_id("color-key").replaceChildren(...[...models, ...keys[state.color]].map(([name, color]) => {
    const patch = made("i", { class: "swatch" });
    patch.style.background = color;
    return made("span", {}, patch, name);
  }));
}
// If nearly all time is at one intensity, as of a decoder at one token: where it is, and how far from the ridge.
function axes_note() {
  if (axes !== "rate" || state.roof < 0) return "";
  const rows = series().rows.filter((row) => row.dot !== null && row.absence === 0 && row.flops > 0 && row.bytes > 0 && row.seconds > 0).map((row) => [Math.log10(row.flops / row.bytes), row.seconds]);
  const all = rows.reduce((sum, [, seconds]) => sum + seconds, 0), middle = rows.reduce((sum, [x, seconds]) => sum + x * seconds, 0) / all;
  const near = rows.reduce((sum, [x, seconds]) => sum + (Math.abs(x - middle) < 0.15 ? seconds : 0), 0);  // within a factor of 2
  if (!(all > 0 && near >= 0.9 * all)) return "";
  const intensity = 10 ** middle, ridge = chart.roofs.compute[state.roof].value / chart.roofs.bandwidth[0].value;
  return `${percent(near / series().seconds)} of the time is at about ${plain(intensity)} FLOP/B, ${intensity < ridge ? `${plain(ridge / intensity)}× below` : `${plain(intensity / ridge)}× above`} the ridge.`;
}
function show_frame() {
  by_id("zoom-reset").setAttribute("aria-pressed", state.view === null);
  by_id("machine").setAttribute("aria-pressed", state.view === "machine");
}
// Types with their share of the time, each with a switch; also lists what has no dot.
function show_legend() {
  // Counts and shares of rows with the same key.
  const sums_by = (key_of, rows) => {
    const sums = new Map();
    for (const row of rows) {
      const key = key_of(row), sum = sums.get(key) ?? sums.set(key, { color: row.color, count: 0, share: 0 }).get(key);
      sum.count += row.list.length;
      sum.share += row.share;
    }
    return sums;
  };
  const sums = sums_by(type_key, series().rows.filter((row) => row.has_time || !row.absence));
  const focused = document.activeElement?.dataset?.type;
  by_id("legend").replaceChildren(...[...sums].filter(([, sum]) => sum.share > 0 || !(series().seconds > 0)).sort((a, b) => (a[1].color === 6) - (b[1].color === 6) || b[1].share - a[1].share).map(([type, sum]) => {
    const is_off = state.hidden.has(type), attributes = { type: "button", class: "type" + (is_off ? " off" : ""), "data-type": type, "aria-pressed": !is_off, title: "show or hide; with Shift only this" };
    return made("button", attributes, swatch(sum.color), `${type} ×${sum.count} `, made("b", {}, percent(sum.share)));
  }));
  if (focused) by_id("legend").querySelector(`[data-type="${CSS.escape(focused)}"]`)?.focus();
  const absent = sums_by((row) => row.absence, series().rows.filter((row) => row.absence && row.absence !== 2));
  by_id("absent").textContent = absent.size ? "No dot: " + [...absent].map(([why, sum]) => `${sum.count.toLocaleString("en")} ${kAbsence[why]}${sum.share > 0 ? ", " + percent(sum.share) + " of the time" : ""}`).join("; ") + "." : "";
}
// What the marks of the picture mean: those that this series has.
function show_marks() {
  const s = series(), is_measured = s.time === "measured", rows = s.rows, entries = [];
  const add = (is_there, text, width, ...marks) => {
    if (!is_there) return;
    const picture = element("svg", { width, height: 18, viewBox: `0 0 ${width} 18`, "aria-hidden": "true" });
    for (const [tag, attributes] of marks) element(tag, attributes, picture);
    entries.push(made("li", {}, picture, text));
  };
  const hollow = { fill: kPalette[0], "fill-opacity": 0.18, stroke: kPalette[0], "stroke-width": 1.6 }, filled = { fill: kPalette[0], stroke: "#333", "stroke-width": 0.6 }, gray = { fill: "none", class: "ghost", "stroke-width": 1 };
  add(rows.some((row) => row.nodes?.e && !row.nodes.m) || !is_measured, "least time (bound)", 14, ["circle", { cx: 7, cy: 9, r: 5, ...hollow }]);
  add(is_measured, "measured; its wedge points to the bound", 14, ["circle", { cx: 7, cy: 9, r: 5, ...filled }]);
  add(s.bound_star || s.trajectory, "whole model at its least time", 18, ["path", { d: star_path(9, 9, 8), class: "star", "stroke-width": 1.2 }]);
  add(s.measured_star || s.runs, "whole model, measured", 18, ["path", { d: star_path(9, 9, 8), class: "star measured", fill: "#F0E442", "stroke-width": 1.2 }]);
  const sizes = [0.01, 0.05, 0.1];
  add(true, "area: 1, 5 and 10 % of the time", 42, ...sizes.map((share, i) => ["circle", { cx: [4, 15, 32][i], cy: 9, r: radius(share), ...gray }]));
  add(is_measured && rows.some((row) => row.l2 > 0), "the same at its L2 bytes", 12, ["path", { d: "M1 9l5 -5l5 5l-5 5Z", ...filled }]);
  add(is_measured && rows.some((row) => row.l1 > 0), "at its L1 bytes", 12, ["path", { d: "M1 13h10l-5 -9Z", ...filled }]);
  add(out_of_view.count, "outside the plot, in that direction", 12, ["path", { d: "M9 3l-6 6l6 6", fill: "none", stroke: kPalette[0], "stroke-width": 2 }]);
  add(plot.has_rail, "column at the left: no FLOPs; its height is the whole time", 12, ["rect", { x: 1, y: 3, width: 10, height: 12, ...filled }]);
  add(rows.some((row) => row.is_aggregate), "dashed: the lightest rows of one type and place", 14, ["circle", { cx: 7, cy: 9, r: 5, ...hollow, "stroke-dasharray": "2 2" }]);
  const limits = kLimit.map((name, limit) => [name, limit]).filter(([, limit]) => limit && rows.some((row) => row.limit === limit && row.seconds > 0));
  if (limits.length) entries.push(made("li", {}, "bars above the plot: time bound by ", ...limits.flatMap(([name, limit]) => [made("i", { class: "chip l" + limit }, kLetters[limit]), ` ${name} `])));
  by_id("marks").hidden = !rows.length;
  by_id("marks").querySelector("ul").replaceChildren(...entries);
}
function toggle_type(type, only) {
  const types = [...new Set(series().rows.map(type_key))];
  const is_only = state.hidden.size === types.length - 1 && !state.hidden.has(type);
  if (only) state.hidden = is_only ? new Set() : new Set(types.filter((t) => t !== type));
  else state.hidden.has(type) ? state.hidden.delete(type) : state.hidden.add(type);
  update();
}

// Controls -----------------------------------------------------------------------------------------------------------
function fill_choices() {
  const options = (id, list) => by_id(id).append(...list.map(([value, text]) => new Option(text, value)));
  options("series", all_series.map((s, i) => [i, s.label + (s.source ? ` (${s.source})` : "")]));
  by_id("series").parentElement.hidden = all_series.length < 2;
  // Only roofs: hide the filters and the table of operators.
  if (!all_series.length)
    for (const id of ["search", "color", "limit", "place", "level", "share", "save-csv", "operators", "rows", "y", "legend"]) (by_id(id).closest("label") ?? by_id(id)).hidden = true;
  // A provider of ONNX Runtime was asked.
  const is_placed = all_series.some((s) => s.items.on);
  options("place", is_placed ? kPlaces.map((place) => [place, kPlaceNames[place]]) : []);
  by_id("place").parentElement.hidden = by_id("color").querySelector("[value=place]").hidden = !is_placed;
  fill_roofs();
}
// The choices of roofs for the current device.
function fill_roofs() {
  const options = (id, list) => by_id(id).replaceChildren(...list.map(([value, text]) => new Option(text, value)));
  options("precision", [...chart.roofs.compute.map((roof, i) => [i, roof.name]), [-1, "none"]]);
  const boxes = [...chart.roofs.bandwidth, ...chart.roofs.compute].map((roof) => [roof.id, roof.name]);
  if ([...chart.roofs.bandwidth, ...chart.roofs.compute].some((roof) => roof.spec)) boxes.push(["spec", "as the vendor states"]);
  by_id("roof-boxes").querySelectorAll("label").forEach((label) => label.remove());
  by_id("roof-boxes").append(...boxes.map(([value, text]) => made("label", {}, made("input", { type: "checkbox", value }), " " + text)));
}
const listen = (id, event, change) => by_id(id).addEventListener(event, (e) => { change(e.target); update(); });
function connect() {
  listen("search", "input", (t) => (state.q = t.value));
  listen("series", "change", (t) => Object.assign(state, { s: +t.value, row: null, hidden: new Set(), level: "dram", roof: main_roof(all_series[+t.value]) }));
  for (const key of ["limit", "place", "level", "color"]) listen(key, "change", (t) => (state[key] = t.value));
  listen("precision", "change", (t) => (state.roof = +t.value));
  listen("share", "input", (t) => (state.share = +t.value));
  listen("y", "change", (t) => Object.assign(state, { y: t.value, view: null }));
  listen("roof-boxes", "change", (t) => {
    if (t.value === "spec") return void (state.spec = t.checked);
    state.roofs = new Set(shown_roofs());
    t.checked ? state.roofs.add(t.value) : state.roofs.delete(t.value);
  });
  by_id("dark").addEventListener("click", () => { state.dark = !is_dark(state.dark); update(); });
  by_id("zoom-reset").addEventListener("click", () => show_view(null));
  by_id("machine").addEventListener("click", () => show_view("machine"));
  by_id("clear").addEventListener("click", () => { const { s, dark, tab } = state; Object.assign(state, kDefault, { s, dark, tab, hidden: new Set(), roof: main_roof(series()) }); update(); });
  by_id("save-svg").addEventListener("click", () => save("svg"));
  by_id("save-png").addEventListener("click", () => save("png"));
  by_id("save-csv").addEventListener("click", () => download(new Blob([csv()], { type: "text/csv" }), file_name(chart.title, "csv")));
  by_id("legend").addEventListener("click", (event) => {
    const entry = event.target.closest(".type");
    if (entry) toggle_type(entry.dataset.type, event.shiftKey);
  });
  by_id("legend").addEventListener("keydown", (event) => {
    const entry = event.target.closest(".type");
    if (!entry || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    toggle_type(entry.dataset.type, event.shiftKey);
  });
  const fit_room = () => {
    const { chart, tabs, rows, lines, window } = room;
    measure();
    if (room.chart !== chart || room.window !== window) lay_out(), update("zoom");
    if (room.rows !== rows || room.lines !== lines) draw_header(), draw_rows();
    if (room.tabs !== tabs) draw_tab(rows_in_view);
  };
  const observer = new ResizeObserver(() => requestAnimationFrame(fit_room));
  for (const node of [svg.parentElement, scroller, by_id("tabs")]) observer.observe(node);
  addEventListener("resize", fit_room);
  window.addEventListener("hashchange", () => { read_state(); update(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show_controls());
}

// Zoom ---------------------------------------------------------------------------------------------------------------
function show_view(chosen) {
  state.view = chosen;
  update("zoom");
}
// Zooms both axes by the same factor about a point, so that slopes do not change.
function zoom(factor, px, py) {
  const v = view(), full = full_view();
  const width = (v.x1 - v.x0) * factor;
  if (width < 0.2 || width > 4 * Math.max(6, full.x1 - full.x0)) return;
  const x = v.x0 + ((px - plot.x0) / (plot.x1 - plot.x0)) * (v.x1 - v.x0), y = v.y0 + ((plot.y1 - py) / (plot.y1 - plot.y0)) * (v.y1 - v.y0);
  show_view({ x0: x + (v.x0 - x) * factor, x1: x + (v.x1 - x) * factor, y0: y + (v.y0 - y) * factor, y1: y + (v.y1 - y) * factor });
}
function pan(dx, dy) {
  const v = view(), x = (-dx / (plot.x1 - plot.x0)) * (v.x1 - v.x0), y = (dy / (plot.y1 - plot.y0)) * (v.y1 - v.y0);
  show_view({ x0: v.x0 + x, x1: v.x1 + x, y0: v.y0 + y, y1: v.y1 + y });
}
function connect_plot() {
  const at = in_picture;
  const in_plot = ([x, y]) => x >= plot.axis && x <= plot.x1 + 16 && y >= plot.y0 && y <= plot.y1;
  const pointers = new Map();
  let moved = 0;
  svg.addEventListener("wheel", (event) => {
    if (!in_plot(at(event))) return;
    event.preventDefault();
    zoom(Math.exp(clamp(event.deltaY, -200, 200) / 400), ...at(event));
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => { if (in_plot(at(event))) { pointers.set(event.pointerId, at(event)); moved = 0; } });
  svg.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId), now = at(event);
    if (!before) {
      point_at(in_plot(now) ? row_near(event) : null, event);
      return;
    }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1], far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      zoom(far(before) / Math.max(1, far(now)), ...other);
    } else if (moved > 4) {
      if (!svg.hasPointerCapture?.(event.pointerId)) try { svg.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone */ }
      pan(now[0] - before[0], now[1] - before[1]);
    }
    pointers.set(event.pointerId, now);
  });
  const end = (event) => {
    if (pointers.delete(event.pointerId) && moved <= 4) {
      const row = row_near(event);
      if (row) select(row);
    }
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("pointerleave", () => point_at(null));
  svg.addEventListener("dblclick", (event) => { if (in_plot(at(event))) show_view(null); });
  svg.setAttribute("tabindex", 0);
  const middle = () => [(plot.x0 + plot.x1) / 2, (plot.y0 + plot.y1) / 2];
  const keys = { n: () => step_row(1), p: () => step_row(-1), "+": () => zoom(0.8, ...middle()), "=": () => zoom(0.8, ...middle()), "-": () => zoom(1.25, ...middle()), 0: () => show_view(null),
    ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60), Escape: () => state.row !== null && select(series().rows[state.row]) };
  svg.addEventListener("keydown", (event) => {
    if (event.target !== svg || !keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
}

// Export -------------------------------------------------------------------------------------------------------------
// The current picture, in light colours and with the one style rule that the page otherwise provides.
function still_svg() {
  const copy = svg.cloneNode(true);
  copy.querySelector("#ruler").replaceChildren();
  copy.querySelectorAll('[display="none"]').forEach((node) => node.remove());
  // The page's headline and legend are outside the picture: add them.
  const { width, height } = plot, title = (by_id("verdict")?.textContent ?? chart.title).replace(/\s+/g, " ");
  give(copy, { viewBox: `0 -30 ${width} ${height + 54}`, height: height + 54 });
  give(copy.querySelector(".paper"), { y: -30, height: height + 54 });
  element("text", { x: 8, y: -12, "font-weight": "bold", fill: "#1f2328" }, copy).textContent = title;
  let x = 8;
  for (const entry of document.querySelectorAll("#legend .type")) {
    const color = +entry.firstChild.dataset.c;
    element("path", { d: mark_path(color, x + 5, height + 10, 5), fill: kPalette[color], stroke: "#333" }, copy);
    element("text", { x: x + 14, y: height + 14, fill: "#1f2328" }, copy).textContent = entry.textContent;
    x += text_width(entry.textContent) + 26;
  }
  const style = element("style", {});
  style.textContent = ".halo{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}";
  copy.prepend(style);
  return new XMLSerializer().serializeToString(copy);
}
function save(kind) {
  const blob = new Blob([still_svg()], { type: "image/svg+xml" });
  if (kind === "svg") return download(blob, file_name(chart.title, "svg"));
  const image = new Image(), canvas = document.createElement("canvas");
  image.onload = () => {
    const scale = 2400 / plot.width;
    Object.assign(canvas, { width: 2400, height: Math.round(scale * (plot.height + 54)) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((png) => download(png, file_name(chart.title, "png")));
    URL.revokeObjectURL(image.src);
  };
  image.src = URL.createObjectURL(blob);
}
function csv() {
  const items = series().items, wanted = new Set(rows_in_view.flatMap((row) => row.list));
  const out = [["name", "op_type", "shape", "precision", "flops", "bytes", "seconds", "bound_seconds", "limit"].join(",")];
  for (let i = 0; i < items.count; ++i)
    if (wanted.has(i))
      out.push([csv_cell(items.name[i]), csv_cell(strings[items.type[i]]), csv_cell(strings[items.shape[i]]), strings[items.dtype[i]], series().work_of(i) ?? "", series().traffic_of(i) ?? "",
        column(items, "seconds", i) ?? "", series().bound_of(i) ?? "", kLimit[items.limit[i]]].join(","));
  return out.join("\r\n") + "\r\n";
}

fill_choices();
read_state();
connect();
connect_plot();
if (what) connect_what_if();
measure();
// Folded where it would push the table or the tabs off the first screen.
by_id("marks").open = room.window >= 1000 && room.window_wide > 980;
update();
document.documentElement.dataset.ready = "1";
