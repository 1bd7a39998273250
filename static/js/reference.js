// The API reference: narrows a page down while somebody types, keeps the chosen language of examples, copies code.

import { enableCopying } from "./copy.js";

const LANGUAGE = "ballast.language";

function enableFinding() {
  const place = document.querySelector("[data-find]");
  if (!place) return;
  const field = place.querySelector("input");
  const status = place.querySelector("[role=status]");
  const parts = [...document.querySelectorAll("[data-findable]")].map((part) => [part, part.textContent.toLowerCase()]);
  place.hidden = false;
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    let shown = 0;
    for (const [part, text] of parts) {
      part.hidden = !text.includes(wanted);
      if (part.hidden) continue;
      shown += 1;
      const fold = part.querySelector("[data-fold]");
      if (fold) fold.open = wanted !== "";
    }
    const words = shown ? status.dataset.some : status.dataset.none;
    status.textContent = wanted ? words.replace("{shown}", shown).replace("{all}", parts.length) : "";
  });
}

// Every example follows the language that was chosen last, on this page and the next.
function enableLanguages() {
  const all = [...document.querySelectorAll("[data-language]")];
  const choose = (language) => {
    for (const part of all) part.open = part.dataset.language === language;
  };
  const kept = localStorage.getItem(LANGUAGE);
  if (kept && all.some((part) => part.dataset.language === kept)) choose(kept);
  for (const part of all) {
    part.querySelector("summary").addEventListener("click", (event) => {
      event.preventDefault();
      if (part.open) return;
      const before = part.getBoundingClientRect().top;
      localStorage.setItem(LANGUAGE, part.dataset.language);
      choose(part.dataset.language);
      window.scrollBy(0, part.getBoundingClientRect().top - before);
    });
  }
}

// On a narrow screen the contents are folded away, so that the page begins with what it is about.
function foldContents() {
  if (window.matchMedia("(max-width: 60rem)").matches) document.querySelector("[data-contents]").open = false;
}

foldContents();
enableFinding();
enableLanguages();
enableCopying();
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
