// The wallets of this browser (EIP-6963), as buttons. The page is drawn anew whenever the payment changes: what a
// wallet is being asked, and what it has sent, is kept here and put back each time.

import { Refusal, hasFailed, inWords, send } from "./wallet_transfer.js";

const LEGACY_AFTER = 300;
const LOOK_EVERY = 4000;
const AGAIN_AFTER = 180000;
const LONGEST_NAME = 40;
const LEGACY = "window.ethereum";

const SENT = "Sent: waiting for the network";
const WAIT = "It shows up here once it is in a block. Do not pay again.";
const UNDONE = "The network undid the payment that your wallet sent: nothing was paid. You can try again.";

/** Offers them in the page; the answer draws them into it as it is now. `refresh` has the page ask what has changed. */
export function offerWallets(page, refresh) {
  const wallets = new Map();
  const memory = `ballast sent ${page.dataset.statusUrl}`;
  let sent = recall();
  let busy = false;
  let words = "";
  let looking;

  function offer({ uuid, rdns, name, icon }, wallet) {
    if (!uuid || wallets.has(uuid) || typeof wallet?.request !== "function") return;
    wallets.delete(LEGACY);
    wallets.set(uuid, { rdns, name: String(name ?? "").trim().slice(0, LONGEST_NAME) || "your wallet", icon, wallet });
    draw();
  }

  function offerLegacy() {
    if (!wallets.size) offer({ uuid: LEGACY, rdns: LEGACY, name: "your browser wallet" }, window.ethereum);
  }

  async function pay(key) {
    if (busy || sent) return;
    const { wallet, rdns } = wallets.get(key);
    let order = currentOrder();
    const askAgain = async () => {
      await refresh();
      order = currentOrder();
      return order;
    };
    busy = true;
    try {
      const hash = await send(wallet, order, askAgain, say);
      remember({ hash: String(hash ?? "").toLowerCase(), at: Date.now(), rdns });
      words = "";
    } catch (error) {
      words = inWords(error, order);
    } finally {
      busy = false;
      draw();
    }
    refresh();
  }

  function currentOrder() {
    const section = page.querySelector("[data-wallet]");
    if (!section) throw new Refusal("Nothing needs to be sent any more.");
    return section.dataset;
  }

  function say(text) {
    words = text;
    draw();
  }

  // What was sent

  function remember(transaction) {
    sent = transaction;
    try {
      if (sent) sessionStorage.setItem(memory, JSON.stringify(sent));
      else sessionStorage.removeItem(memory);
    } catch {
      // A browser that keeps nothing for this page: a reload then forgets, and the network does not.
    }
  }

  function recall() {
    try {
      return JSON.parse(sessionStorage.getItem(memory));
    } catch {
      return null;
    }
  }

  function forget(because) {
    remember(null);
    words = because;
  }

  async function look() {
    looking = undefined;
    const section = page.querySelector("[data-wallet]");
    const looked = sent;
    const { wallet } = [...wallets.values()].find(({ rdns }) => rdns === looked?.rdns) ?? {};
    if (section && wallet && (await hasFailed(wallet, section.dataset, looked.hash)) && sent === looked) forget(UNDONE);
    draw();
  }

  // Drawing

  function draw() {
    const section = page.querySelector("[data-wallet]");
    if (!section) return;
    if (sent?.hash && section.dataset.seen.toLowerCase().split(" ").includes(sent.hash)) forget("");
    const part = (name) => section.querySelector(`[data-wallet-${name}]`);
    const focused = section.contains(document.activeElement) && document.activeElement.id;

    section.hidden = !wallets.size && !sent;
    page.querySelector("[data-elsewhere]").hidden = !section.hidden;
    drawButtons(part("buttons"));
    write(part("words"), sent ? WAIT : words);
    write(part("transaction"), sent?.hash ? `Transaction ${sent.hash}` : "");
    part("again").hidden = !sent || Date.now() - sent.at < AGAIN_AFTER;
    part("again").onclick = () => {
      forget("");
      draw();
    };
    const place = focused && document.getElementById(focused);
    if (focused) (place && !place.hidden ? place : part("buttons").firstChild)?.focus();
    if (sent) looking ??= setTimeout(look, LOOK_EVERY);
  }

  /** Only when they are others now: whoever is at one of them is not disturbed. */
  function drawButtons(place) {
    const drawn = JSON.stringify([...wallets.keys(), busy, sent]);
    if (place.dataset.drawn === drawn) return;
    place.dataset.drawn = drawn;
    place.replaceChildren(...(sent ? [button("wallet-sent", SENT, "")] : [...wallets].map(walletButton)));
  }

  function walletButton([key, { name, icon }], number) {
    const made = button(`wallet-${number}`, `Pay with ${name}`, icon);
    if (wallets.size === 1) made.classList.add("button--primary");
    if (!busy) made.removeAttribute("aria-disabled");
    made.addEventListener("click", () => pay(key));
    return made;
  }

  window.addEventListener("eip6963:announceProvider", ({ detail }) => offer(detail?.info ?? {}, detail?.provider));
  window.addEventListener("ethereum#initialized", offerLegacy);
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  setTimeout(offerLegacy, LEGACY_AFTER);
  return draw;
}

/** A button that cannot be pressed yet. It stays reachable, so that the keyboard does not lose its place. */
function button(id, label, icon) {
  const made = document.createElement("button");
  made.type = "button";
  made.id = id;
  made.className = "button button--tall button--wide";
  made.setAttribute("aria-disabled", "true");
  if (/^data:image\//.test(icon)) {
    const image = new Image(24, 24);
    image.src = icon;
    image.alt = "";
    image.className = "wallet__icon";
    made.append(image);
  }
  made.append(label); // as text: the name comes from an extension
  return made;
}

function write(element, text) {
  element.hidden = !text;
  if (element.textContent !== text) element.textContent = text;
}
