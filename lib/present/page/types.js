// Time by operator type, of the rows that pass the filters.
const chip_of = (limit) => (limit ? made("i", { class: "chip l" + limit, title: kLimit[limit], role: "img", "aria-label": kLimit[limit] }, kLetters[limit]) : "");
function draw_types(rows, holder) {
  const s = series(), is_measured = s.time === "measured", types = new Map();
  for (const row of rows) {
    if (!row.has_time) continue;
    const sum = types.get(row.type) ?? types.set(row.type, { type: row.type, color: row.color, count: 0, seconds: 0, bound: 0, flops: 0, bytes: 0, limits: kNoLimits() }).get(row.type);
    sum.count += row.list.length;
    sum.seconds += row.seconds;
    sum.bound += row.bound ?? 0;
    sum.flops += row.flops ?? 0;
    sum.bytes += row.bytes ?? 0;
    sum.limits[row.limit] += row.seconds;
  }
  const list = [...types.values()], most = list.reduce((longest, type) => Math.max(longest, type.seconds), 0) || 1;
  const columns = [
    { key: "type", title: "Type", get: (t) => t.type.toLowerCase(), format: (t) => [swatch(t.color), t.type] },
    { key: "count", title: "Rows", is_number: true, get: (t) => t.count, format: (t) => t.count.toLocaleString("en") },
    { key: "seconds", title: is_measured ? "Measured" : "Lower bound", is_number: true, get: (t) => t.seconds, format: (t) => in_unit(t.seconds) },
    { key: "share", title: "% time", tip: is_measured ? "Dark: its lower bound" : "", is_number: true, get: (t) => t.seconds, format: (t) => barred(
      is_measured ? bar_of([[Math.min(t.bound, t.seconds) / most, "strong"], [Math.max(0, t.seconds - t.bound) / most, "weak"]]) : bar_of([[t.seconds / most, "strong"]]), column_percent(s.seconds > 0 ? t.seconds / s.seconds : 0)) },
    ...(is_measured ? [{ key: "roof", title: "% roof", is_number: true, get: (t) => ratio(t.bound, t.seconds), format: (t) => column_percent(ratio(t.bound, t.seconds)) }] : []),
    { key: "limit", title: "Mostly", tip: "What bounds most of its time", get: (t) => -Math.max(...t.limits), format: (t) => chip_of(t.limits.indexOf(Math.max(...t.limits))) },
    { key: "flops", title: "FLOP", is_number: true, get: (t) => t.flops, format: (t) => si(t.flops) },
    { key: "bytes", title: "Bytes", is_number: true, get: (t) => t.bytes, format: (t) => si(t.bytes, "B") },
    { key: "intensity", title: "FLOP/B", is_number: true, get: (t) => ratio(t.flops, t.bytes), format: (t) => plain(ratio(t.flops, t.bytes)) },
  ];
  holder.replaceChildren(plain_table(columns, list, { label: "Time by type", by: "seconds", each: (tr, type) => {
    tr.dataset.filter = type.type;
    tr.classList.toggle("selected", state.q.toLowerCase() === type.type.toLowerCase());
  } }));
}
// Searches for the words of a clicked element; a second click clears the search.
function filter_by(words) {
  state.q = state.q.toLowerCase() === words.toLowerCase() ? "" : words;
  update();
}
