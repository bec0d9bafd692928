// The contrast of every piece of text with what lies behind it, by WCAG 2.2 (relative luminance, 1.4.3).
() => {
  const parse = text => { const n = (text.match(/[\d.]+/g) || []).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = c => { const f = c.slice(0, 3).map(v => { v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(
      e.tagName === 'g' && e.querySelector('rect') ? parse(getComputedStyle(e.querySelector('rect')).fill)
      : parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const found = [], seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    if (!text || seen.has(element) || ['TITLE', 'SCRIPT', 'OPTION'].includes(element.tagName)) continue;
    seen.add(element);
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (box.width < 2 || box.height < 2 || style.visibility === 'hidden') continue;
    const svg = element.ownerSVGElement !== null && element.ownerSVGElement !== undefined;
    const ground = behind(element), ink = over(parse(svg ? style.fill : style.color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className} ${text.slice(0, 40)}`);
  }
  return {checked: seen.size, found};
}
