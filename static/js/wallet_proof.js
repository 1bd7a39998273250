// Has a wallet of this browser sign the message of the page, and sends the form with the signature. Whether it is right,
// only the server says; without a wallet the signature is pasted by hand.

import { button, findWallets, LEGACY, write } from "./browser_wallets.js";
import * as stellar from "./stellar_wallets.js";
import { words } from "./words.js";

const DECLINED = 4001;
const LONGEST_NAME = 40;

const section = document.querySelector("[data-proof]");
if (section) offerWallets(section);

function offerWallets(section) {
  const { family, address } = section.dataset;
  const { text } = document.querySelector("[data-message]").dataset;
  const field = document.querySelector("#id_signature");
  const place = section.querySelector("[data-proof-buttons]");
  const said = section.querySelector("[data-proof-words]");
  const known = new Set();
  let busy = false;

  function offer({ uuid, name }, wallet) {
    if (!uuid || known.has(uuid) || (uuid === LEGACY && known.size)) return;
    if (typeof (wallet?.request ?? wallet?.signMessage) !== "function") return;
    known.add(uuid);
    const label = String(name ?? "").trim().slice(0, LONGEST_NAME) || words("yourWallet");
    const made = button(`sign-${known.size}`, words("signWith", { name: label }), "");
    made.removeAttribute("aria-disabled");
    made.addEventListener("click", () => sign(wallet));
    place.append(made);
    section.hidden = false;
  }

  async function sign(wallet) {
    if (busy) return;
    busy = true;
    write(said, words("lookInWallet"));
    try {
      field.value = await (family === "evm" ? signOnEvm(wallet) : signOnStellar(wallet));
      field.form.requestSubmit();
      write(said, words("signed"));
    } catch (error) {
      const declined = error?.code === DECLINED || stellar.isDeclined(error);
      write(said, declined ? words("declined") : String(error?.message ?? error));
    } finally {
      busy = false;
    }
  }

  async function signOnEvm(wallet) {
    const accounts = await wallet.request({ method: "eth_requestAccounts" });
    if (!accounts.some((account) => account.toLowerCase() === address.toLowerCase())) throw otherAccount();
    const bytes = Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0"));
    return wallet.request({ method: "personal_sign", params: [`0x${bytes.join("")}`, address] });
  }

  async function signOnStellar(wallet) {
    const account = await wallet.account();
    if (account !== address && !address.startsWith("M")) throw otherAccount();
    const signature = await wallet.signMessage(text, account);
    return typeof signature === "string" ? signature : btoa(String.fromCharCode(...(signature?.data ?? signature)));
  }

  function otherAccount() {
    return new Error(words("otherAccount", { address }));
  }

  (family === "evm" ? findWallets : stellar.findWallets)(offer);
}
