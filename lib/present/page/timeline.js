// The run in execution order: widths are time, colours those of the chart; above them the live activations, if the
// memory plan has one step per row. Each rectangle corresponds to a row of the table and a dot of the chart.
const timeline = by_id("timeline");
const kStrip = 30, kCurve = 64;
let spans = [];
// Under the strip: the parts of the provider, in two shades in turn, and what is on the CPU between them.
function draw_parts(picture, widths, top) {
  const { on, part } = series().items;
  if (!on) return;
  let x = 0, from = 0;
  const key = (i) => (strings[on[i]] === "provider" ? part[i] : strings[on[i]]);
  widths.forEach((wide, i) => {
    x += wide;
    if (i + 1 < widths.length && key(i) === key(i + 1)) return;
    const place = strings[on[i]], color = kPlaceColors[kPlaces.indexOf(place)];
    if (x > from && color) element("title", {}, element("rect", { x: fix(from), y: top + 1, width: fix(Math.max(0.6, x - from)), height: 4, fill: color, "fill-opacity": place === "provider" && part[i] % 2 ? 0.5 : 1 }, picture)).textContent = place === "provider" ? `part ${part[i]}` : kPlaceNames[place];
    from = x;
  });
}
function draw_timeline(rows, holder) {
  const s = series(), width = Math.max(280, room.tabs), { row_of } = s, wanted = new Set(rows);
  const seconds = Array.from({ length: s.items.count }, (_, i) => s.seconds_of(i) ?? 0), whole = seconds.reduce((a, b) => a + b, 0);
  const plan = s.memory?.timeline, has_plan = plan?.length === s.items.count && (!what || is_as_asked());
  const top = has_plan ? kCurve : 0, most = has_plan ? plan.reduce((a, b) => Math.max(a, b), 1) : 1;
  const picture = element("svg", { role: "img", width, height: top + kStrip + 18, viewBox: `0 0 ${width} ${top + kStrip + 18}`, "font-size": 11, "aria-label": `${s.items.count} rows in order of execution` });
  let x = 0, curve = `M0 ${top}`, drawn = null, from = 0, highest = 0;
  spans = [];
  const flush = () => { if (drawn) element("rect", { x: fix(drawn.x), y: top, width: fix(Math.max(0.3, drawn.to - drawn.x)), height: kStrip, fill: drawn.color, "fill-opacity": drawn.faded ? 0.12 : 1 }, picture); };
  // Rows thinner than half a pixel share one: it has the look of the longest, and the most of their activations.
  const kThin = 0.5;
  seconds.forEach((time, i) => {
    const wide = (time / whole) * width, row = row_of[i];
    if (has_plan) {
      highest = Math.max(highest, plan[i]);
      if (x + wide - from >= kThin || i === seconds.length - 1) {
        curve += `V${fix(top - (highest / most) * (top - 14))}H${fix(x + wide)}`;
        [from, highest] = [x + wide, 0];
      }
    }
    if (wide > 0 && row) {
      const color = color_of(row, i), faded = !wanted.has(row);
      spans.push({ x, to: x + wide, row, i });
      const is_alike = drawn && drawn.color === color && drawn.faded === faded && (wide < 1 || drawn.to - drawn.x < 1);
      if (is_alike || (drawn && drawn.to - drawn.x < kThin)) {
        drawn.to = x + wide;
        if (wide > drawn.longest) Object.assign(drawn, { longest: wide, color, faded });
      } else {
        flush();
        drawn = { x, to: x + wide, longest: wide, color, faded };
      }
    }
    x += wide;
  });
  flush();
  draw_parts(picture, seconds.map((time) => (time / whole) * width), top + kStrip);
  if (has_plan) {
    element("path", { d: `${curve}V${top}Z`, class: "curve" }, picture);
    element("text", { x: 2, y: 10, class: "muted" }, picture).textContent = `activations, at most ${si(most, "B")}`;
  }
  element("path", { id: "cursor", class: "ink-line", d: "M0 0" }, picture);
  element("text", { x: 0, y: top + kStrip + 14, class: "ink" }, picture).textContent = "0";
  element("text", { x: width, y: top + kStrip + 14, class: "ink", "text-anchor": "end" }, picture).textContent = si(whole, "s");
  element("text", { id: "cursor-text", x: width / 2, y: top + kStrip + 14, class: "ink", "text-anchor": "middle" }, picture);
  holder.replaceChildren(picture);
  timeline.querySelector(".says").textContent = `Rows in order of execution${has_plan ? ", under the activations alive" : ""}.`;
  timeline.dataset.top = top;
}
function span_at(event) {
  const box = timeline.querySelector("svg").getBoundingClientRect(), x = event.clientX - box.left;
  let low = 0, high = spans.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].to < x) low = middle + 1;
    else high = middle;
  }
  return spans[low];
}
timeline.addEventListener("pointermove", (event) => {
  const span = event.target.closest?.("svg") && span_at(event);
  if (!span) return;
  point_at(span.row);
  const middle = fix((span.x + span.to) / 2), s = series();
  timeline.querySelector("#cursor").setAttribute("d", `M${middle} 0V${+timeline.dataset.top + kStrip}`);
  timeline.querySelector("#cursor-text").textContent = `${short_name(s.items.name[span.i], 60)}, ${si(s.seconds_of(span.i), "s")}` + (+timeline.dataset.top ? `, ${si(s.memory.timeline[span.i], "B")} alive` : "");
});
timeline.addEventListener("click", (event) => { const span = event.target.closest?.("svg") && span_at(event); if (span) select(span.row); });
