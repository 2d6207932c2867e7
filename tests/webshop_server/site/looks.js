// What sticks out of a page, is broken, too small, or too faint.
const clipped = () => [...document.querySelectorAll("main *, header *, aside *")].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && !e.closest(".hidden, .skip") && (box.right > innerWidth + 1 || box.left < -1);
}).map(e => e.outerHTML.slice(0, 80));

const broken = () => [...document.images].filter(i => !i.naturalWidth).map(i => i.src);

const sizes = targets => [...document.querySelectorAll(targets)].map(e => {
  const box = e.getBoundingClientRect(), after = getComputedStyle(e, "::after");
  return after.position === "absolute" ? 99 : Math.min(box.width, box.height);
});

const luminance = c => {
  const linear = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(linear);
  return .2126 * r + .7152 * g + .0722 * b;
};
const ground = e => {
  for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\)$|transparent/.test(c)) return c;
  }
  return "rgb(255, 255, 255)";
};
const faint = texts => [...document.querySelectorAll(texts)].filter(e => e.getClientRects().length).map(e => {
  const [a, b] = [luminance(getComputedStyle(e).color), luminance(ground(e))].sort((x, y) => y - x);
  return [(a + .05) / (b + .05), e.textContent.trim().slice(0, 40)];
}).filter(([ratio]) => ratio < 4.5);
