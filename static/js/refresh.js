// Parts of a page that are looked at again every few seconds, as long as they say so. Without scripts a link does it.

import { enableCopying } from "./copy.js";

const LONGEST_ANSWER = 10_000;
let isLeaving = false; // by a form, whose next page has a message that is shown once
document.addEventListener("submit", ({ target }) => (isLeaving ||= target.method !== "dialog"));
window.addEventListener("pageshow", () => (isLeaving = false)); // back by the browser's own button

export function enableRefreshing(root = document) {
  const parts = [...root.querySelectorAll("[data-refresh-seconds]")];
  if (parts.length) later(new Map(parts.map((part) => [part, undefined])));
}

/** Looks again after the shortest time that a part asks for; `shown` has the text that each was last sent. */
function later(shown) {
  const seconds = Math.min(...[...shown.keys()].map((part) => Number(part.dataset.refreshSeconds)));
  setTimeout(() => (document.hidden || isLeaving ? later(shown) : refresh(shown)), seconds * 1000);
}

async function refresh(shown) {
  try {
    const headers = { Accept: "text/html", "X-Refresh": "1" }; // nobody has done anything: the session grows idle
    const reply = await fetch(window.location.href, { headers, signal: AbortSignal.timeout?.(LONGEST_ANSWER) });
    if (reply.ok) {
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      for (const part of shown.keys()) {
        const fresh = page.getElementById(part.id);
        if (!fresh) return window.location.reload(); // logged out meanwhile
        if (!show(part, fresh.innerHTML, shown)) continue;
        if (fresh.dataset.refreshSeconds) part.dataset.refreshSeconds = fresh.dataset.refreshSeconds;
        else shown.delete(part);
      }
    }
  } catch {
    // No connection just now: ask again later.
  }
  if (shown.size) later(shown);
}

/** False while somebody is at something in the part, which is not taken away from under their hands. */
function show(part, text, shown) {
  const selection = document.getSelection();
  const isSelected = !selection.isCollapsed && part.contains(selection.anchorNode);
  if (isSelected || part.contains(document.activeElement)) return false;
  if (text !== (shown.get(part) ?? part.innerHTML)) {
    part.innerHTML = text;
    enableCopying(part);
  }
  shown.set(part, text);
  return true;
}
