// Describes a dot: a card beside the pointer, and a ruler from the axis to every roof at the dot's intensity.
const card = by_id("card");
const ruler = by_id("ruler");

function facts_of(row) {
  const s = series(), measured = s.time === "measured";
  const out = [["type", row.type + (row.list.length > 1 ? ` ×${row.list.length}` : "")]];
  const add = (key, text) => text && text !== "–" && out.push([key, text]);
  add("shape", row.shape);
  add("precision", row.dtype);
  const at_least = row.at_least ? "≥ " : "";  // a size that the data decide is 1
  add(measured ? "measured" : "lower bound", row.has_time ? `${measured ? "" : at_least}${si(row.seconds, "s")}, ${percent(row.share)} of the time` : "");
  if (measured && row.low !== null) add("runs", `${si(row.high, "s")} … ${si(row.low, "s")}`);
  if (measured) add("lower bound", si(row.bound, "s"));
  add("FLOP", row.flops === null ? "" : at_least + si(row.flops));
  add("DRAM", (row.bytes === null ? "" : at_least) + si(row.bytes, "B") + (s.items.dram_bytes && total(row.list, (i) => s.items.dram_bytes[i]) !== null ? " measured" : ` by ${s.traffic === "unfused" ? "the estimate" : s.traffic + " traffic"}`));
  if (row.l2 !== null) add("L2", si(row.l2, "B"));
  if (row.l1 !== null) add("L1", si(row.l1, "B"));
  add("intensity", row.flops > 0 && row.bytes > 0 ? plain(row.flops / row.bytes) + " FLOP/B" : "");
  add("speed", row.flops > 0 ? si(ratio(row.flops, rate(row)), "FLOP/s") : "");
  add("traffic", si(ratio(row.bytes, rate(row)), "B/s"));
  if (row.roof_share !== null) add("of its roof", percent(row.roof_share) + (row.roof_share > 1.05 ? ": check units, precision, counts, cache hits" : ""));
  const roof = chart.roofs.compute[row.roof ?? -1];
  if (roof) add("roof", `${roof.name} ${si(roof.value, roof.unit)}`);
  if (row.on) add("runs", kPlaceNames[row.on] + (row.why ? `: ${row.why}` : ""));
  add("limit", kLimit[row.limit] === "neither" ? "neither roof is near (below 80%)" : kLimit[row.limit]);
  const gain = row.roof_share !== null && row.roof_share > 0 && row.roof_share < 1 ? 1 / row.roof_share : null;
  if (gain) add("room", `up to ${plain(gain)}× at the roof`);
  else if (!measured && row.compute > 0 && row.memory > 0)
    add("room", `would be ${row.compute < row.memory ? "compute-bound with" : "memory-bound with"} ${plain(Math.max(row.compute, row.memory) / Math.min(row.compute, row.memory))}× the ${row.compute < row.memory ? "work" : "bytes"}`);
  if (row.partners && row.recoverable > 0) add("recoverable", `${si(row.recoverable, "s")} if fused with ${row.partners}`);
  if (s.items.flags) add("counters", strings[s.items.flags[row.first]]);
  add("energy", row.joules !== null ? si(row.joules, "J") : "");
  return out;
}

function show_card(row, x, y) {
  const facts = facts_of(row).flatMap(([key, text]) => [made("dt", {}, key), made("dd", {}, text)]);
  card.replaceChildren(made("strong", {}, row.name), made("dl", {}, ...facts));
  card.hidden = false;
  const around = card.parentElement.getBoundingClientRect();
  const left = x - around.left + 18, width = card.offsetWidth;
  card.style.left = (left + width > around.width ? Math.max(4, x - around.left - width - 18) : left) + "px";
  card.style.top = Math.max(4, Math.min(y - around.top + 10, around.height - card.offsetHeight - 4)) + "px";
}

// The card beside the dot of a row that was chosen with keys; screen readers read it.
function show_card_of(row) {
  const at = row.at ?? row.edge;
  if (!at) return void (card.hidden = true);
  const { x, y } = new DOMPoint(...at).matrixTransform(svg.getScreenCTM());
  show_card(row, x, y);
}

function show_ruler(row) {
  ruler.replaceChildren();
  drawn_texts.forEach(({ node }) => node.removeAttribute("opacity"));
  if (!row || !row.at) return;
  const [x, y] = row.at;
  if (row.box) {
    const [x0, y0, x1, y1] = row.box;
    element("rect", { class: "ring", x: x0 - 2, y: fix(y0 - 2), width: x1 - x0 + 4, height: fix(y1 - y0 + 4), fill: "none", stroke: "#1f2328", "stroke-width": 1.6 }, ruler);
    return;
  }
  element("circle", { class: "ring", cx: fix(x), cy: fix(y), r: fix(row.r + 4), fill: "none", stroke: "#1f2328", "stroke-width": 1.6 }, ruler);
  const place = place_of(row, state.level, axes), point = place.m ?? place.e;
  if (!point || place.rail || axes !== "rate") return;
  element("path", { class: "ruler-line", stroke: "#59636e", "stroke-width": 1, "stroke-dasharray": "3 3", d: `M${fix(x)} ${plot.y1}V${plot.y0}` }, ruler);
  // The intensity is of one memory level: it has no place under the roof of another.
  const level = level_roof(), own = chart.roofs.compute[row.roof ?? -1], top = own ? own.value : Infinity;
  const limits = [[point.x * level.value, level.name, true], ...(own ? [[own.value, own.name, false]] : [])];
  limits.sort((a, b) => a[0] - b[0]);
  const said = [], dots = series().rows.filter((other) => other.at && !other.box && other !== row).slice(0, 300).flatMap(boxes_of);
  for (const [value, name, is_slope] of limits) {
    const at = Y(value);
    if ((is_slope && value > top) || !(at > plot.y0 && at < plot.y1)) continue;
    element("circle", { class: "ink-fill", cx: fix(x), cy: fix(at), r: 2.5, fill: "#1f2328" }, ruler);
    // The first place beside the line that is inside the plot and covers no other text; else it hides what it covers.
    const gain = place.m && value > point.y * 1.02 ? `, ${plain(value / point.y)}×` : "";
    const places = [`${si(value, "FLOP/s")} ${name}${gain}`, si(value, "FLOP/s") + gain].flatMap((text) => [[8, -5], [-8, -5], [8, 15], [-8, 15]].map(([dx, dy]) => {
      const width = text_width(text), left = dx < 0 ? x + dx - width : x + dx;
      return { text, dx, dy, box: [left, at + dy - 11, left + width, at + dy + 4] };
    })).filter(({ box }) => inside(box) && !said.some((other) => overlaps(box, other)));
    const covered = ({ box }) => drawn_texts.filter((text) => text.boxes.some((other) => overlaps(box, other)));
    const best = places.find((one) => !covered(one).length && !dots.some((other) => overlaps(one.box, other))) ?? places.find((one) => !covered(one).length) ?? places[0];
    if (!best) continue;
    said.push(best.box);
    covered(best).forEach(({ node }) => node.setAttribute("opacity", 0));
    element("text", { class: "halo", x: fix(x + best.dx), y: fix(at + best.dy), "text-anchor": best.dx < 0 ? "end" : "start" }, ruler).textContent = best.text;
  }
}

let pointed = null;
function point_at(row, event) {
  pointed = row;
  mark_pointed();
  show_ruler(row ?? series().rows[state.row]);
  if (row && event) show_card(row, event.clientX, event.clientY);
  else card.hidden = true;
}

// The picture may not fill its element: only its own matrix converts pointer positions correctly.
function in_picture(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [point.x, point.y];
}

// The nearest dot within reach of the pointer, so that small dots can be hit.
function row_near(event) {
  const [x, y] = in_picture(event), reach = 6 / svg.getScreenCTM().a;
  let best = null, least = Infinity;
  for (const row of series().rows) {
    for (const at of [row.at ?? row.edge, row.bound_at]) {
      if (!at) continue;
      const [x0, y0, x1, y1] = row.at && row.box ? row.box : [...at, ...at], r = row.edge ? 4 : row.box ? 0 : row.r;
      // In radii: a small dot within a large one can be hit.
      const far = Math.hypot(clamp(x, x0, x1) - x, clamp(y, y0, y1) - y) / (r + reach);
      if (far < 1 && far < least) [best, least] = [row, far];
    }
  }
  return best;
}

function select(row) {
  const at = series().rows.indexOf(row);
  state.row = state.row === at ? null : at;
  write_state_soon();
  show_ruler(series().rows[state.row]);
  card.hidden = true;
  if (state.row !== null) show_row(row);
  else draw_rows();
}
