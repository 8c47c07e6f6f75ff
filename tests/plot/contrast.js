// Lists the texts that a page shows with a contrast below 4.5, the least for text by WCAG 2.1 (1.4.3, level AA).
(() => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number), alpha = (colour) => channels(colour)[3] ?? 1;
  const luminance = (colour) => channels(colour).slice(0, 3).map((c) => c / 255).reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4), 0);
  const contrast = (a, b) => { const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
  const ground = (node) => { for (; node; node = node.parentElement) { const colour = getComputedStyle(node).backgroundColor; if (colour.startsWith("rgb") && alpha(colour) > 0.9) return colour; } return "rgb(255, 255, 255)"; };
  window.pale_texts = () => {
    const found = [];
    for (const node of document.querySelectorAll("main *")) {
      if (![...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()) || node.closest(".stale, .off, [hidden], [display=none], :disabled, option, title, desc") || !node.getClientRects().length) continue;
      const style = getComputedStyle(node), is_drawn = node instanceof SVGElement, box = node.getBoundingClientRect(), [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const rect = is_drawn && [...node.parentElement.querySelectorAll(":scope > rect")].find((each) => { const r = each.getBoundingClientRect(); return r.left <= x && x <= r.right && r.top <= y && y <= r.bottom; });
      const under = rect && getComputedStyle(rect).fill.startsWith("rgb") ? getComputedStyle(rect).fill : ground(is_drawn ? node.closest("svg") : node);
      if (is_drawn && style.fill === "none") continue;
      const ratio = contrast(is_drawn ? style.fill : style.color, under);
      if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${node.tagName} ${node.className.baseVal ?? node.className} ${node.textContent.slice(0, 30)}`);
    }
    return found;
  };
})();
