// Keeps the payer's page current. The server renders every state; this asks whether something changed
// and, if so, takes over the changed parts of the page as the server renders them now.

import { enableCopying } from "./copy.js";
import { enableCountdown } from "./countdown.js";
import { tellFrame } from "./frame.js";
import { enablePrinting } from "./print.js";
import { offerWallets } from "./wallets.js";

const LONGEST_DELAY = 30000;
const LONGEST_ANSWER = 15000;
const SLOW_ANSWER = 6000;

const page = document.querySelector("[data-checkout]");
const offline = document.querySelector("[data-offline]");
const announcer = document.querySelector("[data-announcer]");
const shown = new Map();
for (const part of page.querySelectorAll("[data-part]")) shown.set(part.dataset.part, part.innerHTML);

let revision = page.dataset.revision;
let interval = Number(page.dataset.pollSeconds) * 1000;
let delay = interval;
let asking; // the question that is on its way
let timer;
let stopCountdown = () => {};
const drawWallets = offerWallets(page, ask);
const chosen = new Map(); // the ids of what was chosen in a part, also while a state shows nothing to choose there
let missed; // the id of what had the focus when a state took it off the page

function ask() {
  clearTimeout(timer);
  if (interval) asking ??= askNow();
  return asking;
}

async function askNow() {
  const slow = setTimeout(sayOffline, SLOW_ANSWER);
  try {
    const status = await (await get(page.dataset.statusUrl)).json();
    if (status.revision !== revision) show(await (await get(page.dataset.pageUrl)).text());
    delay = interval;
    offline.hidden = true;
  } catch {
    sayOffline();
    delay = Math.min(delay * 2, LONGEST_DELAY);
  } finally {
    clearTimeout(slow);
    asking = undefined;
    plan();
  }
}

function sayOffline() {
  offline.hidden = false;
}

async function get(url) {
  const reply = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout?.(LONGEST_ANSWER) });
  if (!reply.ok) throw new Error(`status ${reply.status}`);
  return reply;
}

function plan() {
  clearTimeout(timer);
  if (interval && !document.hidden) timer = setTimeout(ask, delay);
}

function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const next = fresh.querySelector("[data-checkout]");
  const focused = document.activeElement === document.body ? missed : document.activeElement.id;
  for (const part of page.querySelectorAll("[data-part]")) {
    const name = part.dataset.part;
    const replacement = next.querySelector(`[data-part="${name}"]`);
    if (replacement.innerHTML === shown.get(name)) continue;
    shown.set(name, replacement.innerHTML);
    const now = [...part.querySelectorAll("input:checked")].map((input) => input.id);
    if (now.length) chosen.set(name, now);
    part.replaceChildren(...document.importNode(replacement, true).childNodes);
    for (const id of chosen.get(name) ?? []) part.querySelector(`#${id}`)?.click();
  }
  announcer.textContent = fresh.querySelector("[data-announcer]").textContent;
  document.title = fresh.title;
  revision = next.dataset.revision;
  page.dataset.status = next.dataset.status;
  interval = Number(next.dataset.pollSeconds) * 1000;
  enhance();
  const again = focused && document.getElementById(focused);
  again?.focus();
  missed = again ? undefined : focused;
}

function enhance() {
  stopCountdown();
  stopCountdown = enableCountdown(page);
  enableCopying(page);
  enablePrinting(page);
  drawWallets();
  tellFrame(page);
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
window.addEventListener("focus", ask);
window.addEventListener("online", ask);
window.addEventListener("offline", () => interval && sayOffline());
enhance();
plan();
