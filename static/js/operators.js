// The operators' admin: "/" goes to the search field, and parts of a page are looked at again.

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
