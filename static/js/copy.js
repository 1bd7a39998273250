// Copy buttons. They stand hidden in the page and appear only where the clipboard can be written.

const ANNOUNCE_MILLISECONDS = 2000;

export function enableCopying(root = document) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("[data-copy][hidden]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

async function copy(button) {
  const label = button.querySelector("[data-copy-label]");
  const before = label.dataset.copyLabel;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.dataset.copied = "";
    label.textContent = label.dataset.done;
  } catch {
    label.textContent = label.dataset.failed;
  }
  setTimeout(() => {
    delete button.dataset.copied;
    label.textContent = before;
  }, ANNOUNCE_MILLISECONDS);
}
