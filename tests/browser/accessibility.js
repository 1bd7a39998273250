// Measures a page for tests/browser/accessibility.py. What it finds wrong is a list of lines.
window.accessibility = {
  async axe(options) {
    const found = await axe.run(document, { resultTypes: ["violations"], preload: false, ...options });
    return found.violations.flatMap((rule) =>
      rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.html.replace(/\s+/g, " ").slice(0, 120)}`),
    );
  },

  // Notes from now on what Tab reaches, and whether it shows that it is reached. Of a group of radio buttons Tab
  // reaches one, and behind an open dialog nothing. Returns how many elements should be reached.
  watchFocus() {
    const root = document.querySelector("dialog:modal") ?? document;
    const focusable = [...root.querySelectorAll("a[href], button, input, select, textarea, summary, iframe, [tabindex]")];
    this.faults = focusable.filter((each) => each.tabIndex > 0).map((each) => `out of order: ${nameOf(each)}`);
    this.expected = focusable.filter(
      (each) => each.tabIndex >= 0 && !each.disabled && !["radio", "hidden"].includes(each.type) && isShown(each),
    );
    this.reached = new Set();
    document.activeElement.blur();
    document.addEventListener("focusin", ({ target }) => {
      if (this.reached.has(target)) return;
      this.reached.add(target);
      if (!isShown(target)) this.faults.push(`reached and not shown: ${nameOf(target)}`);
      else if (!hasRing(target)) this.faults.push(`reached and not seen: ${nameOf(target)}`);
    });
    return this.expected.length;
  },

  missed() {
    // Focus that goes into a frame is no event of the page around it.
    if (document.activeElement.localName === "iframe") this.reached.add(document.activeElement);
    const missed = this.expected.filter((each) => !this.reached.has(each) && each.isConnected && isShown(each));
    return missed.map((each) => `not reached: ${nameOf(each)}`);
  },

  // Text that stands on other text or on a drawing.
  coveredWords() {
    const shown = boxesOf(document.body);
    const found = new Set();
    shown.sort((one, other) => one.box.top - other.box.top);
    shown.forEach((one, at) => {
      for (let next = at + 1; next < shown.length && shown[next].box.top < one.box.bottom - SLACK; next++) {
        const other = shown[next];
        const width = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        if (width > SLACK && one.element !== other.element && one.layer === other.layer) {
          found.add(`${nameOf(one.element)} and ${nameOf(other.element)} are on each other`);
        }
      }
    });
    return [...found];
  },

  // A word or number is split when its characters are in two lines. What is longer than `longest` may be.
  splitWords(longest) {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const parent = node.parentElement;
      if (!isShown(parent) || parent.closest(NOT_READ)) continue;
      for (const { 0: word, index } of wordsOf(node.data, longest)) {
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const boxes = [...range.getClientRects()].filter((each) => each.width > 0);
        const lines = boxes.filter((each, at) => at === 0 || each.top >= boxes[at - 1].bottom - 1);
        if (lines.length > 1) found.push(`split: ${word} in ${nameOf(parent)}`);
      }
    }
    return found;
  },
};

// Code and what is there to be copied: hashes and addresses have no better place to break than where the line ends.
const NOT_READ = "script, noscript, .visually-hidden, svg, pre, code, .copy-field__value";

// Lines may touch: a line of text is higher than its letters.
const SLACK = 6;

// The box of each line of text, and of each drawing beside text, that is shown.
function boxesOf(root) {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isShown(element) || element.closest(NOT_READ)) continue;
    range.selectNodeContents(walker.currentNode);
    for (const box of range.getClientRects()) {
      found.push({ element, box: clipped(box, element), layer: layerOf(element) });
    }
  }
  for (const element of root.querySelectorAll("svg.icon")) {
    if (isShown(element)) found.push({ element, box: element.getBoundingClientRect(), layer: layerOf(element) });
  }
  return found;
}

// What an element cuts off is not on top of what stands beside it.
function clipped(box, element) {
  if (getComputedStyle(element).overflowX !== "hidden") return box;
  const around = element.getBoundingClientRect();
  const left = Math.max(box.left, around.left);
  const width = Math.max(0, Math.min(box.right, around.right) - left);
  return DOMRect.fromRect({ x: left, y: box.top, width, height: box.height });
}

// What is positioned is on top of the rest by intent, as an open menu is.
function layerOf(element) {
  while (element && !["absolute", "fixed"].includes(getComputedStyle(element).position)) element = element.parentElement;
  return element;
}

// A hyphen is a place to break, and so are dots that stand for the middle of an id: what is before and after are words.
// Scripts without spaces break between most letters.
function wordsOf(text, longest) {
  const short = text.replace(/\S+/gu, (each) => (each.length > longest ? " ".repeat(each.length) : each));
  return short.replace(WITHOUT_SPACES, " ").matchAll(/[^\s–—/…()（）-]+/gu);
}

const WITHOUT_SPACES = /[\p{Script_Extensions=Han}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\p{Script=Thai}]/gu;

function isShown(element) {
  const isPainted = element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  return isPainted && element.getClientRects().length > 0 && !element.closest("[inert]");
}

function hasRing(element) {
  return [element, element.closest("label")].some((each) => {
    const { outlineStyle, outlineWidth } = each ? getComputedStyle(each) : {};
    return outlineStyle && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  });
}

function nameOf(element) {
  const words = (element.textContent || element.name || "").trim().replace(/\s+/g, " ").slice(0, 40);
  return `${element.localName}.${element.getAttribute("class") ?? ""} “${words}”`;
}
