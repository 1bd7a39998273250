// Shows in the preview what is typed, before it is saved. Without scripts it shows what is saved.

const PAUSE = 400;

export function enablePreview(root = document) {
  const form = root.querySelector("[data-preview]");
  const frame = root.querySelector(".preview__page");
  if (!form || !frame) return;
  let timer;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => show(form, frame), PAUSE);
  });
}

function show(form, frame) {
  const typed = new URLSearchParams();
  for (const name of ["name", "accent", "support"]) typed.set(name, form.elements[name].value);
  const address = `${form.dataset.preview}?${typed}`;
  if (frame.getAttribute("src") !== address) frame.setAttribute("src", address);
}
