// What scripts say, in the language of whoever reads: the page has every text in an attribute of one element.

const texts = document.querySelector("[data-words]")?.dataset ?? {};

/** The text of this name, with the values put where it names them in braces. */
export function words(name, values = {}) {
  const text = texts[name] ?? "";
  return text.replace(/\{(\w+)\}/g, (all, value) => values[value] ?? all);
}
