// The wallets of this browser (EIP-6963, or those of stellar), as buttons. The page is drawn anew whenever the payment
// changes: what a wallet is being asked, and what it has sent, is kept here and put back each time.

import { button, findWallets, LEGACY, write } from "./browser_wallets.js";
import * as stellar from "./stellar_wallets.js";
import * as evm from "./wallet_transfer.js";
import { Refusal, inWords } from "./wallet_transfer.js";
import { words } from "./words.js";

const LOOK_EVERY = 4000;
const AGAIN_AFTER = 180000;
const LONGEST_NAME = 40;

/** Offers them in the page; the answer draws them into it as it is now. `refresh` has the page ask what has changed. */
export function offerWallets(page, refresh) {
  const wallets = new Map();
  const memory = `ballast sent ${page.dataset.statusUrl}`;
  const isStellar = page.querySelector("[data-wallet]")?.dataset.family === "stellar";
  const { send, hasFailed } = isStellar ? stellar : evm;
  let sent = recall();
  let busy = false;
  let told = "";
  let looking;

  function offer({ uuid, rdns, name, icon }, wallet) {
    if (!uuid || wallets.has(uuid) || (uuid === LEGACY && wallets.size)) return;
    if (typeof (wallet?.request ?? wallet?.sign) !== "function") return;
    wallets.delete(LEGACY);
    const shown = String(name ?? "").trim().slice(0, LONGEST_NAME) || words("yourWallet");
    wallets.set(uuid, { rdns, name: shown, icon, wallet });
    draw();
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
      told = "";
    } catch (error) {
      told = stellar.isDeclined(error) ? words("declined") : inWords(error, order);
    } finally {
      busy = false;
      draw();
    }
    refresh();
  }

  function currentOrder() {
    const section = page.querySelector("[data-wallet]");
    if (!section) throw new Refusal(words("nothingDue"));
    return section.dataset;
  }

  function say(text) {
    told = text;
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
    told = because;
  }

  async function look() {
    looking = undefined;
    const section = page.querySelector("[data-wallet]");
    const looked = sent;
    const { wallet } = [...wallets.values()].find(({ rdns }) => rdns === looked?.rdns) ?? {};
    const failed = section && wallet && (await hasFailed(wallet, section.dataset, looked.hash));
    if (failed && sent === looked) forget(words("undone"));
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
    write(part("words"), sent ? words("wait") : told);
    write(part("transaction"), sent?.hash ? words("transaction", sent) : "");
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
    place.replaceChildren(...(sent ? [button("wallet-sent", words("sent"), "")] : [...wallets].map(walletButton)));
  }

  function walletButton([key, { name, icon }], number) {
    const made = button(`wallet-${number}`, words("payWith", { name }), icon);
    if (wallets.size === 1) made.classList.add("button--primary");
    if (!busy) made.removeAttribute("aria-disabled");
    made.addEventListener("click", () => pay(key));
    return made;
  }

  (isStellar ? stellar.findWallets : findWallets)(offer);
  return draw;
}
