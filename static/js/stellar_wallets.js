// The wallets of this browser that sign payments of stellar: Freighter, which answers messages to its own page, and those
// that put an object with the methods of SEP-43 into it. The server builds what they sign and hands it to the network:
// a wallet does neither, and the page talks to nobody else.

import { Refusal } from "./wallet_transfer.js";
import { words } from "./words.js";

const ASKED = "FREIGHTER_EXTERNAL_MSG_REQUEST";
const ANSWERED = "FREIGHTER_EXTERNAL_MSG_RESPONSE";
const FREIGHTER_IS_SILENT_AFTER = 2000;
const FREIGHTER_API = "6.0.0"; // from version 5 on it signs texts as SEP-53 says
const DECLINED = -4;
const INJECTED = { kleverWallet: "Klever Wallet", stellarWallet: words("yourWallet") };

/** Calls `offer(info, wallet)` for each that answers. */
export function findWallets(offer) {
  post({ type: "REQUEST_CONNECTION_STATUS" }, FREIGHTER_IS_SILENT_AFTER)
    .then(({ isConnected }) => isConnected && offer({ uuid: "freighter", rdns: "freighter", name: "Freighter" }, freighter))
    .catch(() => {});
  for (const [place, name] of Object.entries(INJECTED)) {
    const found = window[place]?.stellar ?? window[place];
    if (typeof found?.signTransaction === "function" && typeof found.getAddress === "function") {
      offer({ uuid: place, rdns: place, name }, bySep43(found));
    }
  }
}

/** Has the wallet sign what is missing, and the server hand it in; the hash. `askAgain` as for other wallets. */
export async function send(wallet, order, askAgain, tell) {
  tell(words("asksToSee"));
  const account = await wallet.account();
  if (!account) throw new Refusal(words("noAccount"));
  const passphrase = await wallet.passphrase();
  if (passphrase && passphrase !== order.passphrase) {
    throw new Refusal(words("otherNetwork", order));
  }
  order = await askAgain();
  const asked = await ask(order.askUrl, { account, units: order.units });
  tell(words("confirm", order));
  const envelope = await wallet.sign(asked.envelope, order.passphrase, account);
  if (!envelope) throw new Refusal(words("notSigned"));
  const { hash } = await ask(order.handInUrl, { token: asked.token, envelope });
  return hash;
}

/** Nobody in the page can ask the network. */
export async function hasFailed() {
  return false;
}

export function isDeclined(error) {
  return error?.code === DECLINED;
}

const freighter = {
  account: async () => (await post({ type: "REQUEST_ACCESS" })).publicKey,
  passphrase: async () => (await post({ type: "REQUEST_NETWORK_DETAILS" })).networkDetails?.networkPassphrase,
  sign: async (transactionXdr, networkPassphrase, accountToSign) =>
    (await post({ type: "SUBMIT_TRANSACTION", transactionXdr, networkPassphrase, accountToSign })).signedTransaction,
  signMessage: async (blob, accountToSign) =>
    (await post({ type: "SUBMIT_BLOB", blob, accountToSign, apiVersion: FREIGHTER_API })).signedBlob,
};

function bySep43(found) {
  return {
    account: async () => answer(await found.getAddress()).address,
    passphrase: async () => (found.getNetwork ? answer(await found.getNetwork()).networkPassphrase : ""),
    sign: async (xdr, networkPassphrase, address) =>
      answer(await found.signTransaction(xdr, { networkPassphrase, address })).signedTxXdr,
    signMessage: async (text, address) => answer(await found.signMessage(text, { address })).signedMessage,
  };
}

function answer(said) {
  if (said?.error) throw said.error;
  return said ?? {};
}

/** One message to the extension, and its answer. People take the time they want, unless `patience` says otherwise. */
function post(message, patience) {
  const messageId = Date.now() + Math.random();
  return new Promise((resolve, reject) => {
    const listen = ({ source, data }) => {
      // The name of the field is the extension's.
      if (source !== window || data?.source !== ANSWERED || data.messagedId !== messageId) return;
      window.removeEventListener("message", listen);
      if (data.apiError) reject(data.apiError);
      else resolve(data);
    };
    window.addEventListener("message", listen);
    if (patience) setTimeout(() => (window.removeEventListener("message", listen), reject()), patience);
    window.postMessage({ source: ASKED, messageId, ...message }, window.location.origin);
  });
}

async function ask(url, fields) {
  const reply = await fetch(url, { method: "POST", body: new URLSearchParams(fields), cache: "no-store" });
  const said = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Refusal(said.message ?? words("notPrepared"));
  return said;
}
