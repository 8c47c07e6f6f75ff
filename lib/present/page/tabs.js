// The views below the chart; one is shown at a time. All use the rows that pass the filters; an element that the user
// points at or selects in a view corresponds to a row of the table and a dot of the chart.
const tab_bar = by_id("tab-bar");
const figures = (kind) => [...document.querySelectorAll(`.view[data-view="${kind}"]`)];
const of_figures = (kind) => ({ is_there: () => figures(kind).some((figure) => +figure.dataset.s === state.s), draw: () => figures(kind).forEach((figure) => (figure.hidden = +figure.dataset.s !== state.s)) });
const kTabs = {
  compare: { is_there: () => !!pairing, draw: (rows, holder) => draw_compare(rows, holder) },
  structure: { is_there: has_structure, draw: draw_structure },
  timeline: { is_there: () => series().seconds > 0, draw: draw_timeline },
  types: { is_there: () => series().rows.some((row) => row.has_time), draw: draw_types },
  fusion: { is_there: has_fusion, draw: draw_fusion },
  energy: { is_there: () => !!chart.energy, draw: draw_energy },
  memory: of_figures("memory"),
  gap: of_figures("gap"),
  sweep: of_figures("sweep"),
};
const tab = () => [state.tab, tab_bar.dataset.first, ...Object.keys(kTabs)].find((name) => kTabs[name]?.is_there()) ?? null;
function draw_tab(rows) {
  const chosen = all_series.length ? tab() : null;
  by_id("tabs").hidden = chosen === null;
  if (chosen === null) return;
  for (const button of tab_bar.children) button.hidden = !kTabs[button.dataset.tab].is_there();
  show_tab(tab_bar, chosen);
  kTabs[chosen].draw(rows, by_id(chosen).querySelector(".body"));
}
connect_tabs(tab_bar, (name) => {
  state.tab = name;
  write_state_soon();
  draw_tab(rows_in_view);
});
const linked_at = (event) => { for (let node = event.target; node && node !== event.currentTarget; node = node.parentElement) if (linked.has(node)) return linked.get(node); return null; };
for (const panel of document.querySelectorAll("#tabs [role=tabpanel]")) {
  panel.addEventListener("mouseover", (event) => { const row = linked_at(event); if (row) point_at(row); });
  panel.addEventListener("mouseleave", () => point_at(null));
  panel.addEventListener("click", (event) => {
    if (event.target.closest("summary, button")) return;
    const row = linked_at(event), filter = event.target.closest("[data-filter]");
    if (row) select(row);
    else if (filter) filter_by(filter.dataset.filter);
  });
}
