// The command palette: `/` opens it, anywhere but in a field. It jumps to pages and finds payments.
// Its pages are the links of the navigation; payments are asked for while typing, a moment after the last key.

const PAUSE_MILLISECONDS = 180;

export function enablePalette(root = document) {
  const dialog = root.querySelector("[data-palette]");
  if (!dialog || !dialog.showModal) return;
  const palette = new Palette(dialog, pagesOf(root));
  for (const button of root.querySelectorAll("[data-palette-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => palette.open());
  }
  root.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
    event.preventDefault();
    palette.open();
  });
}

export function isField(element) {
  return element.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(element.tagName);
}

function pagesOf(root) {
  return [...root.querySelectorAll(".nav__link")].map((link) => ({
    address: link.href,
    title: (link.querySelector(".nav__label") ?? link).textContent.trim(),
    words: "",
  }));
}

class Palette {
  #dialog;
  #pages;
  #field;
  #list;
  #status;
  #asked = 0;
  #timer = 0;

  constructor(dialog, pages) {
    this.#dialog = dialog;
    this.#pages = pages;
    this.#field = dialog.querySelector("[role=combobox]");
    this.#list = dialog.querySelector("[role=listbox]");
    this.#status = dialog.querySelector("[role=status]");
    this.#field.addEventListener("input", () => this.#typed());
    this.#field.addEventListener("keydown", (event) => this.#pressed(event));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }

  open() {
    if (this.#dialog.open) return;
    this.#field.value = "";
    this.#show(this.#pages);
    this.#dialog.showModal();
    this.#field.focus();
  }

  #typed() {
    clearTimeout(this.#timer);
    const text = this.#field.value.trim();
    const pages = this.#pages.filter((page) => page.title.toLowerCase().includes(text.toLowerCase()));
    const number = ++this.#asked;
    this.#show(pages, text !== "");
    if (text) this.#timer = setTimeout(() => this.#find(text, pages, number), PAUSE_MILLISECONDS);
  }

  async #find(text, pages, number) {
    let found = [];
    try {
      const address = `${this.#dialog.dataset.palette}?q=${encodeURIComponent(text)}`;
      const reply = await fetch(address, { headers: { Accept: "application/json" } });
      if (reply.ok) found = (await reply.json()).payments;
    } catch {
      // No connection: the pages are there still.
    }
    if (number !== this.#asked) return; // something else was typed meanwhile
    const everywhere = { address: `${this.#dialog.dataset.list}?q=${encodeURIComponent(text)}`, words: "" };
    this.#show([...found, ...pages, { ...everywhere, title: this.#dialog.dataset.all }]);
  }

  #show(entries, isLooking = false) {
    const options = entries.map((entry, number) => optionOf(entry, number));
    this.#list.replaceChildren(...options);
    this.#choose(options[0]);
    this.#status.textContent = isLooking ? "" : this.#dialog.dataset.count.replace("0", entries.length);
  }

  #choose(option) {
    for (const each of this.#list.children) each.setAttribute("aria-selected", String(each === option));
    if (option) {
      this.#field.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else this.#field.removeAttribute("aria-activedescendant");
  }

  #pressed(event) {
    const options = [...this.#list.children];
    const at = options.findIndex((each) => each.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown") this.#choose(options[(at + 1) % options.length]);
    else if (event.key === "ArrowUp") this.#choose(options.at(at - 1));
    else if (event.key === "Enter") options[at]?.click();
    else return;
    event.preventDefault();
  }
}

function optionOf({ address, title, words, match }, number) {
  const option = document.createElement("a");
  option.id = `palette-${number}`;
  option.className = "palette__option";
  option.setAttribute("role", "option");
  option.href = address;
  option.tabIndex = -1;
  option.textContent = title;
  if (words) {
    const small = document.createElement("span");
    small.className = "faint small";
    small.textContent = words;
    option.append(small);
  }
  if (match) {
    const part = document.createElement("mark");
    part.textContent = match.part;
    const found = document.createElement("span");
    found.className = "small";
    found.append(`${match.label}: ${match.before}`, part, match.after);
    option.append(found);
  }
  return option;
}
