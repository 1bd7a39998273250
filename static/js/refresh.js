// A part of a page that is looked at again every few seconds for as long as it says so. Without scripts a link does it.

export function enableRefreshing(root = document) {
  const part = root.querySelector("[data-refresh-seconds]");
  if (part) setTimeout(() => refresh(part), Number(part.dataset.refreshSeconds) * 1000);
}

async function refresh(part) {
  try {
    const reply = await fetch(window.location.href, { headers: { Accept: "text/html" } });
    if (reply.ok) {
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const fresh = page.getElementById(part.id);
      if (!fresh) return window.location.reload(); // logged out meanwhile
      part.innerHTML = fresh.innerHTML;
      if (!("refreshSeconds" in fresh.dataset)) return;
    }
  } catch {
    // No connection just now: ask again later.
  }
  setTimeout(() => refresh(part), Number(part.dataset.refreshSeconds) * 1000);
}
