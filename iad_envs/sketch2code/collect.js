// One pass over a loaded page: the boxes of its components, as the published scorer sees them.
// Runs in an isolated world, so that nothing a page defines can change what is measured.
async (maxBoxes, mentioned) => {
  const SELECTORS = {
    video: "video",
    image: "img",
    text_block: "p, span, a, strong, h1, h2, h3, h4, h5, h6, li, th, td, label, code, pre, div",
    form_table: "form, table, div.form",
    button: "button, input[type='button'], input[type='submit'], [role='button']",
    nav_bar:
      "nav, [role='navigation'], .navbar, .nav, .navigation, .menu, #menu, #nav, #navigation, #navbar",
    divider:
      "hr, [class*='separator'], [class*='divider'], #separator, #divider, [role='separator']",
  };
  // What a document keeps when its content is replaced: colour scheme, policy, language, preferred style, its one chance
  // of focus, the part that a refresh names. Of meta elements the harmless ones are listed, as browsers learn new ones.
  const without = (attribute, match, words) =>
    words.split(" ").map((word) => `:not([${attribute}${match}"${word}" i])`).join("");
  const NAMES =
    "author copyright description format-detection generator keywords referrer robots theme-color title viewport";
  const FAMILIES = "apple- google msapplication- og: shopify- twitter:";
  const LINGERING = [
    `meta[name]${without("name", "=", NAMES)}${without("name", "^=", FAMILIES)}`,
    `meta[http-equiv]${without("http-equiv", "=", "content-type origin-trial x-ua-compatible")}`,
    "style[title], link[title], base, iframe, frameset, [autofocus]",
  ].join();
  // What Python's str.strip() takes for white space.
  const BLANK = /^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;

  // Names of elements hide what documents and forms have of their own (<img name="querySelectorAll">): so everything is
  // taken from the prototypes, which in this world no page has touched.
  const method = (type, name) => (target, ...given) => type.prototype[name].apply(target, given);
  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get.call(document);
  const select = method(Document, "querySelectorAll");
  const rectOf = method(Element, "getBoundingClientRect");
  const rectsOf = method(Element, "getClientRects");
  const isShown = method(Element, "checkVisibility");

  if (getter(Document, "readyState") !== "complete") {
    await new Promise((done) => addEventListener("load", done, { once: true }));
  }
  // A document that is put into another may call itself complete while its images are on their way.
  const listen = method(EventTarget, "addEventListener");
  const has = (type, name) => (element) => Object.getOwnPropertyDescriptor(type.prototype, name).get.call(element);
  const isComplete = has(HTMLImageElement, "complete");
  const completed = async (image) => {
    if (isComplete(image)) return;
    await new Promise((done) => ["load", "error"].forEach((event) => listen(image, event, done, { once: true })));
  };
  // A lazy image would or would not be there, as time has it.
  for (const image of select(document, "img[loading]")) method(Element, "removeAttribute")(image, "loading");
  for (const image of select(document, "img")) await completed(image);
  // Posters, image buttons and images of the style have sizes, too, but don't say when they are there. The browser
  // fetches an address once, and tells the last one that asked last. So they are there when these images are.
  const addresses = [
    ...mentioned,
    ...[...select(document, "video[poster]")].map(has(HTMLVideoElement, "poster")),
    ...[...select(document, "input[type='image' i][src]")].map(has(HTMLInputElement, "src")),
  ];
  const others = addresses.map((address) => Object.assign(new Image(), { src: address }));
  for (const image of others) await completed(image);
  // Layout asks for the fonts that it needs. `fonts.ready` would wait for the browser's own layout, which a page that is
  // not drawn may never get.
  const root = getter(Document, "documentElement");
  for (let loading = null; loading === null || loading.length > 0; ) {
    rectOf(root);
    loading = [...getter(Document, "fonts")].filter((font) => font.status === "loading");
    await Promise.allSettled(loading.map((font) => font.loaded));
  }
  for (const animation of method(Document, "getAnimations")(document)) {
    try {
      animation.finish();
    } catch {
      animation.cancel(); // it has no end
    }
  }

  const hasText = (element) => {
    if (BLANK.test(element.textContent)) return false;
    if (element.localName !== "div") return true;
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE && !BLANK.test(child.data)) return true;
    }
    return false;
  };

  const boxes = new Map();
  globalThis.fragmented = [];
  const boxOf = (element) => {
    if (boxes.has(element)) return boxes.get(element);
    let box = null;
    const rect = rectOf(element);
    if (
      rect.width > 0 &&
      rect.height > 0 &&
      isShown(element) &&
      getComputedStyle(element).visibility === "visible"
    ) {
      box = [rect.x, rect.y, rect.width, rect.height];
      // Of an inline element in several pieces, the box model may count pieces without area, which this rectangle
      // leaves out. Where that makes a difference the box model itself is asked, later.
      const pieces = rectsOf(element);
      if (pieces.length > 1) {
        let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
        for (const piece of pieces) {
          left = Math.min(left, piece.left);
          top = Math.min(top, piece.top);
          right = Math.max(right, piece.right);
          bottom = Math.max(bottom, piece.bottom);
        }
        if (left !== rect.left || top !== rect.top || right !== rect.right || bottom !== rect.bottom) {
          box.push(globalThis.fragmented.push(element) - 1);
        }
      }
    }
    boxes.set(element, box);
    return box;
  };

  const kinds = {};
  let count = 0;
  for (const [kind, selector] of Object.entries(SELECTORS)) {
    kinds[kind] = [];
    for (const element of select(document, selector)) {
      if (kind === "text_block" && !hasText(element)) continue;
      const box = boxOf(element);
      if (box === null) continue;
      if (++count > maxBoxes) return JSON.stringify({ too_many: true });
      kinds[kind].push(box);
    }
  }
  return JSON.stringify({
    kinds,
    width: root.scrollWidth,
    height: root.scrollHeight,
    title: getter(Document, "title"),
    fragmented: globalThis.fragmented.length,
    lingers: select(document, LINGERING).length > 0,
  });
}
