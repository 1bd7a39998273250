// The operators' admin: "/" goes to the search field, parts of a page are looked at again, and what Django's own script
// makes can be reached and is named.

import { isField } from "./palette.js";
import { enableRefreshing } from "./refresh.js";

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
  const field = document.querySelector("#op-search");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

enableRefreshing();

// Tables of rows scroll sideways on a phone: by keyboard only when they can have the focus.
for (const group of document.querySelectorAll(".inline-group")) {
  const table = group.querySelector("fieldset[aria-labelledby]");
  group.tabIndex = 0;
  group.setAttribute("role", "group");
  if (table) group.setAttribute("aria-labelledby", table.getAttribute("aria-labelledby"));
}

// Fields that complete what is typed are made by Django's script when it comes to them, without the name of their label.
function nameField(select) {
  const made = select.nextElementSibling;
  const name = select.labels?.[0]?.textContent.trim().replace(/:$/, "");
  if (!name || !made?.classList.contains("select2-container")) return;
  for (const part of made.querySelectorAll(".select2-selection, .select2-selection__rendered")) {
    part.removeAttribute("aria-labelledby");
    part.setAttribute("aria-label", name);
  }
}

for (const select of document.querySelectorAll("select.admin-autocomplete")) {
  nameField(select);
  new MutationObserver(() => nameField(select)).observe(select.parentElement, { childList: true });
}
