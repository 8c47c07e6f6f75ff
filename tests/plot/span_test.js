// Runs inside a chart page. Tells the embedding page which axes the chart has, and how much of the plot the dots with
// 99 % of the time span. Uses the page's data and drawing, not its code.
(() => {
  const data = JSON.parse(document.getElementById("chart-data").textContent), { items } = data.series[0], dots = new Map();
  const axes = document.getElementById("y").value;
  for (let i = 0; i < items.count; ++i) {
    const compute = items.compute_seconds[i], memory = items.memory_seconds[i];
    // Over bytes, rows without FLOPs (absence 2) are dots too; else they are a column beside the plot.
    if (items.dot[i] === null || (axes !== "bytes" && items.absence[i] === 2) || compute === null || memory === null) continue;
    const dot = dots.get(items.dot[i]) ?? dots.set(items.dot[i], { seconds: 0, id: items.dot[i] }).get(items.dot[i]);
    dot.seconds += Math.max(compute, memory);
  }
  const sorted = [...dots.values()].sort((a, b) => b.seconds - a.seconds), all = sorted.reduce((sum, dot) => sum + dot.seconds, 0);
  let sum = 0;
  const heavy = sorted.filter((dot) => { const before = sum; sum += dot.seconds; return before < 0.99 * all; });
  const span = (values) => (values.length ? Math.max(...values) - Math.min(...values) : 0);
  const boxes = heavy.map((dot) => document.querySelector(`.estimated > [data-d="${dot.id}"]`)).filter((node) => node && node.getAttribute("display") !== "none").map((node) => node.getBBox());
  const frame = document.querySelector(".frame").getBBox(), middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
  parent.postMessage({ ready: document.documentElement.dataset.ready === "1", axes, note: document.getElementById("axes-note").textContent, heavy: heavy.length, drawn: boxes.length,
    part: (span(boxes.map((box) => middle(box)[0])) / frame.width) * (span(boxes.map((box) => middle(box)[1])) / frame.height) }, "*");
})();
