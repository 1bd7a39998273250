// A payer's page in a dialog of a shop (pay.js): tells the shop how far the payment is, and leaves the frame by links that
// lead away. Only the websites that the merchant named are told; in a window of its own this does nothing.

const inFrame = window.parent !== window;
const { frameOrigins, close } = document.getElementById("main").dataset;

function tell(message) {
  if (!inFrame || !frameOrigins) return;
  for (const origin of frameOrigins.split(" ")) window.parent.postMessage({ source: "ballast", ...message }, origin);
}

/** Tells the status of the payment that the page shows now. */
export function tellFrame(page) {
  tell({ event: "status", payment: page.dataset.payment, status: page.dataset.status });
}

document.addEventListener("click", ({ target }) => {
  const link = target.closest("a[href]");
  if (inFrame && link && link.origin !== window.location.origin) link.target = link.host ? "_top" : "_blank";
});
document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") tell({ event: "close" });
});
tell({ event: "ready", title: document.title, close });
