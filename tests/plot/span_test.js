// Runs inside a chart page. Tells the embedding page which axes the chart has, how much of the time the dots in the frame
// carry, whether the ridge is in it, and which texts of the picture cover each other or leave it. Uses the page's data and
// drawing, not its code.
(() => {
  const data = JSON.parse(document.getElementById("chart-data").textContent), { items } = data.series[0], dots = new Map();
  for (let i = 0; i < items.count; ++i) {
    const compute = items.compute_seconds[i], memory = items.memory_seconds[i];
    // Rows without FLOPs (absence 2) are a column beside the plot.
    if (items.dot[i] === null || items.absence[i] === 2 || compute === null || memory === null) continue;
    dots.set(items.dot[i], (dots.get(items.dot[i]) ?? 0) + Math.max(compute, memory));
  }
  const svg = document.getElementById("roofline"), is_shown = (node) => { for (let at = node; at !== svg; at = at.parentNode) if (at.getAttribute("display") === "none") return false; return true; };
  const all = [...dots.values()].reduce((sum, seconds) => sum + seconds, 0);
  let sum = 0;
  for (const [dot, seconds] of dots) {
    const node = document.querySelector(`.estimated > [data-d="${dot}"]`);
    if (node && is_shown(node)) sum += seconds;
  }
  const frame = svg.querySelector(".frame").getBBox(), ridge = svg.querySelector("#ridge circle"), x = ridge && is_shown(ridge) ? +ridge.getAttribute("cx") : NaN;
  // Upright boxes of texts; slanted ones only cover their corners' space.
  const texts = [...svg.querySelectorAll("text")].filter((node) => node.textContent && is_shown(node) && !node.getAttribute("transform") && node.getAttribute("opacity") !== "0")
    .map((node) => ({ text: node.textContent, box: node.getBBox() })), covered = [], outside = [];
  texts.forEach(({ text, box }, i) => {
    if (box.x < -0.5 || box.x + box.width > svg.viewBox.baseVal.width + 0.5) outside.push(text);
    // The letters of a line of 14 pixels fill the middle 9.
    for (const other of texts.slice(i + 1))
      if (box.x < other.box.x + other.box.width && other.box.x < box.x + box.width && Math.abs(box.y + box.height / 2 - other.box.y - other.box.height / 2) < 9) covered.push(`${text} | ${other.text}`);
  });
  parent.postMessage({ ready: document.documentElement.dataset.ready === "1", axes: document.getElementById("y").value, drawn: all > 0 ? sum / all : 1,
    ridge: x >= frame.x - 0.5 && x <= frame.x + frame.width + 0.5, texts: texts.length, covered, outside }, "*");
})();
