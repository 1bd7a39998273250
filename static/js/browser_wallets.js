// The wallets of this browser on evm networks (EIP-6963, or `window.ethereum` where one is older), and how pages offer them.

import { words } from "./words.js";

export const LEGACY = "window.ethereum";
const LEGACY_AFTER = 300;

/** Calls `offer(info, wallet)` for each that is announced, now or later; an older one is offered last, as LEGACY. */
export function findWallets(offer) {
  const offerLegacy = () => offer({ uuid: LEGACY, rdns: LEGACY, name: words("yourWallet") }, window.ethereum);
  window.addEventListener("eip6963:announceProvider", ({ detail }) => offer(detail?.info ?? {}, detail?.provider));
  window.addEventListener("ethereum#initialized", offerLegacy);
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  setTimeout(offerLegacy, LEGACY_AFTER);
}

/** A button that cannot be pressed yet. It stays reachable, so that the keyboard does not lose its place. */
export function button(id, label, icon) {
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

export function write(element, text) {
  element.hidden = !text;
  if (element.textContent !== text) element.textContent = text;
}
