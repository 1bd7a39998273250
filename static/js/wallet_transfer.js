// One token transfer, asked of a wallet in the browser (EIP-1193). Nothing here draws, and nothing a wallet answers is
// proof: what was paid, only the network says.

import { words } from "./words.js";

const DECLINED = 4001;
const STILL_ASKING = -32002;
const UNKNOWN_NETWORK = 4902;
const TRANSFER = "0xa9059cbb";
const BALANCE_OF = "0x70a08231";
const LONGEST_QUOTE = 160;
const NATIVE_DECIMALS = 18;

/** Why nothing was sent, in words for the payer. */
export class Refusal extends Error {}

/**
 * Has the wallet send what is missing; the hash it names. `askAgain` answers what the payment asks for by then: wallets
 * leave people all the time they want, and meanwhile it may have been paid, or paid in part.
 */
export async function send(wallet, order, askAgain, tell) {
  tell(words("asksToSee"));
  await wallet.request({ method: "eth_requestAccounts" });
  await useNetwork(wallet, order, tell);
  order = await askAgain();
  const [from] = await wallet.request({ method: "eth_accounts" }); // another one may have been chosen by now
  if (!from) throw new Refusal(words("noAccount"));
  await needCoins(wallet, order, from);
  if (!(await isOnNetwork(wallet, order))) throw otherNetwork(order);
  tell(words("confirm", order));
  const transfer = {
    from,
    to: order.token,
    value: "0x0",
    data: TRANSFER + word(order.recipient) + word(order.units),
    chainId: hex(order.chainId), // so that a wallet whose network changes in this very moment refuses
  };
  return wallet.request({ method: "eth_sendTransaction", params: [transfer] });
}

/** Whether the network ran the transaction and undid it. False as well while nobody can say. */
export async function hasFailed(wallet, order, hash) {
  try {
    if (!(await isOnNetwork(wallet, order))) return false;
    const receipt = await wallet.request({ method: "eth_getTransactionReceipt", params: [hash] });
    return Boolean(receipt) && BigInt(receipt.status) === 0n;
  } catch {
    return false;
  }
}

export function inWords(error, order) {
  if (error instanceof Refusal) return error.message;
  const said = String(error?.data?.originalError?.message ?? error?.message ?? words("cannot"));
  if (is(error, DECLINED) || /user (rejected|denied|cancel)/i.test(said)) {
    return words("declined");
  }
  if (is(error, STILL_ASKING)) return words("stillAsking");
  if (/exceeds balance|insufficient (token )?balance/i.test(said)) return tooLittle(order);
  if (/insufficient funds/i.test(said)) {
    return words("noFee", order);
  }
  const quote = said.length > LONGEST_QUOTE ? `${said.slice(0, LONGEST_QUOTE)}…` : said;
  return words("says", { quote });
}

async function useNetwork(wallet, order, tell) {
  if (await isOnNetwork(wallet, order)) return;
  tell(words("asksToSwitch", order));
  try {
    await wallet.request({ method: "wallet_switchEthereumChain", params: [{ chainId: hex(order.chainId) }] });
  } catch (error) {
    if (!is(error, UNKNOWN_NETWORK)) throw otherNetwork(order);
    await addNetwork(wallet, order, tell);
  }
  if (!(await isOnNetwork(wallet, order))) throw otherNetwork(order);
}

async function addNetwork(wallet, order, tell) {
  if (!order.rpcUrl) {
    throw new Refusal(words("unknownNetwork", { network: order.network, chain: order.chainId }));
  }
  tell(words("asksToAdd", order));
  const network = {
    chainId: hex(order.chainId),
    chainName: order.network,
    nativeCurrency: { name: order.native, symbol: order.native, decimals: NATIVE_DECIMALS },
    rpcUrls: [order.rpcUrl],
  };
  await wallet.request({ method: "wallet_addEthereumChain", params: [network] });
}

async function isOnNetwork(wallet, order) {
  return BigInt(await wallet.request({ method: "eth_chainId" })) === BigInt(order.chainId);
}

/** Wallets tell of too few coins in many ways, or only after the fee is lost. Of those that cannot say, none is kept. */
async function needCoins(wallet, order, account) {
  let held;
  try {
    const question = { to: order.token, data: BALANCE_OF + word(account) };
    held = BigInt(await wallet.request({ method: "eth_call", params: [question, "latest"] }));
  } catch {
    return;
  }
  if (held < BigInt(order.units)) throw new Refusal(tooLittle(order));
}

function tooLittle(order) {
  return words("tooLittle", order);
}

function otherNetwork(order) {
  return new Refusal(words("otherNetwork", order));
}

function is(error, code) {
  return error?.code === code || error?.data?.originalError?.code === code;
}

function hex(number) {
  return `0x${BigInt(number).toString(16)}`;
}

/** An address or a number as 32 bytes. */
function word(value) {
  return BigInt(value).toString(16).padStart(64, "0");
}
