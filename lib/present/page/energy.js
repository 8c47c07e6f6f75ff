// Joules by row: measured for a measured series, else by the device's constants: work, traffic, and constant power over
// the lower bound of the time.
function joules_of(row) {
  const { joules_per_flop: work, joules_per_byte: traffic, constant_watts: watts } = chart.energy;
  if (series().time === "measured" || work === null) return row.joules === null ? null : { all: row.joules };
  if (row.flops === null || row.bytes === null || !row.has_time) return null;
  const parts = { work: work * row.flops, traffic: traffic * row.bytes, constant: watts * row.seconds };
  return { ...parts, all: parts.work + parts.traffic + parts.constant };
}
function draw_energy(rows, holder) {
  const list = rows.map((row) => ({ row, joules: joules_of(row) })).filter((each) => each.joules && each.joules.all > 0), sum = (get) => list.reduce((total, each) => total + get(each.joules), 0);
  const all = sum((j) => j.all), has_parts = list.some((each) => each.joules.work !== undefined), most = list.reduce((largest, each) => Math.max(largest, each.joules.all), 0) || 1;
  const share = (get) => percent(all > 0 ? sum(get) / all : null);
  const says = made("p", { class: "lead" }, made("b", {}, list.length ? `${has_parts ? "About " : ""}${si(all, "J")}` : "No row here has joules"), has_parts && list.length
    ? `: work ${share((j) => j.work)}, traffic ${share((j) => j.traffic)}, constant power ${share((j) => j.constant)} at the lower bound of the time; constants ${chart.energy.source}.` : list.length ? " measured." : ".");
  const columns = [
    { key: "name", title: "Operator", get: (e) => e.row.name.toLowerCase(), format: (e) => short_name(e.row.name, 48) + (e.row.list.length > 1 ? ` ×${e.row.list.length}` : "") },
    { key: "type", title: "Type", get: (e) => e.row.type, format: (e) => [swatch(e.row.color), e.row.type] },
    { key: "joules", title: "Energy", tip: has_parts ? "Dark to light: work, traffic, constant power" : "", is_number: true, get: (e) => e.joules.all, format: (e) => barred(
      has_parts ? bar_of([[e.joules.work / most, "strong"], [e.joules.traffic / most, "middle"], [e.joules.constant / most, "weak"]]) : bar_of([[e.joules.all / most, "strong"]]), si(e.joules.all, "J")) },
    { key: "share", title: "% energy", is_number: true, get: (e) => e.joules.all, format: (e) => column_percent(e.joules.all / all) },
    { key: "time", title: "% time", is_number: true, get: (e) => e.row.share, format: (e) => column_percent(e.row.share) },
    { key: "rate", title: "FLOP/J", is_number: true, get: (e) => ratio(e.row.flops, e.joules.all), format: (e) => si(ratio(e.row.flops, e.joules.all)) },
  ];
  holder.replaceChildren(says, ...(list.length ? [plain_table(columns, list, { label: "Energy by operator", by: "joules", each: (tr, e) => link_row(tr, e.row) })] : []));
}
