// The newest rows of a list, looked at again every few seconds while somebody follows it. Without scripts it is a list.

const EVERY = 3000;
const LONGEST_ANSWER = 10_000;

export function enableFollowing(root = document) {
  const list = root.querySelector("[data-live-url]");
  if (list) new Follower(list);
}

class Follower {
  constructor(list) {
    this.list = list;
    this.button = document.querySelector("[data-live-button]");
    this.status = document.querySelector("[data-live-status]");
    this.shown = "";
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.follow(!this.isFollowing));
    document.addEventListener("visibilitychange", () => this.wait());
  }

  get isFollowing() {
    return this.button.getAttribute("aria-pressed") === "true";
  }

  follow(isOn) {
    this.button.setAttribute("aria-pressed", String(isOn));
    this.status.textContent = isOn ? this.status.dataset.on : this.status.dataset.off;
    this.wait(0);
  }

  wait(delay = 0) {
    clearTimeout(this.timer);
    if (this.isFollowing && !document.hidden) this.timer = setTimeout(() => this.ask(), delay);
  }

  async ask() {
    try {
      const signal = AbortSignal.timeout?.(LONGEST_ANSWER);
      const reply = await fetch(this.list.dataset.liveUrl, { cache: "no-store", signal });
      if (reply.redirected || reply.status === 403) return window.location.reload(); // logged out meanwhile
      if (reply.ok) this.show(await reply.text());
    } catch {
      // No connection just now: ask again later.
    }
    this.wait(EVERY);
  }

  show(rows) {
    if (rows === this.shown || !rows.trim()) return;
    const body = this.list.querySelector("tbody");
    if (!body) return window.location.reload(); // the first row: the page has no table yet
    const isFirst = this.shown === "";
    this.shown = rows;
    const known = new Set([...body.querySelectorAll("a")].map((link) => link.href));
    const focused = body.contains(document.activeElement) ? document.activeElement.href : "";
    body.innerHTML = rows;
    const links = [...body.querySelectorAll("td:first-child a")];
    const added = links.filter((link) => !known.has(link.href));
    for (const link of added) link.closest("tr").classList.add("is-new");
    if (focused) links.find((link) => link.href === focused)?.focus();
    if (added.length && !isFirst) this.status.textContent = this.status.dataset.added.replace("0", added.length);
  }
}
