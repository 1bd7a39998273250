// The button that prints a receipt; without scripts the browser's own menu does.

export function enablePrinting(root = document) {
  for (const button of root.querySelectorAll("[data-print][hidden]")) {
    button.hidden = false;
    button.addEventListener("click", () => window.print());
  }
}
