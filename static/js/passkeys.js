// Passkeys: a form with data-passkey makes or asks for one, puts it into its field `credential`, and is sent.
// The form stays hidden where the browser has no passkeys.

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));

const textOf = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");

const withIdsAsBytes = (credentials) => (credentials ?? []).map((each) => ({ ...each, id: bytesOf(each.id) }));

async function makeCredential({ publicKey }) {
  const credential = await navigator.credentials.create({
    publicKey: {
      ...publicKey,
      challenge: bytesOf(publicKey.challenge),
      user: { ...publicKey.user, id: bytesOf(publicKey.user.id) },
      excludeCredentials: withIdsAsBytes(publicKey.excludeCredentials),
    },
  });
  return asJson(credential, ["clientDataJSON", "attestationObject"]);
}

async function askForCredential({ publicKey }) {
  const credential = await navigator.credentials.get({
    publicKey: {
      ...publicKey,
      challenge: bytesOf(publicKey.challenge),
      allowCredentials: withIdsAsBytes(publicKey.allowCredentials),
    },
  });
  return asJson(credential, ["clientDataJSON", "authenticatorData", "signature", "userHandle"]);
}

function asJson(credential, parts) {
  const response = {};
  for (const part of parts) {
    if (credential.response[part]) response[part] = textOf(credential.response[part]);
  }
  return {
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    response,
    clientExtensionResults: credential.getClientExtensionResults(),
  };
}

async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options);
  const reply = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!reply.ok) throw new Error(reply.statusText);
  return (await reply.json()).request_options;
}

async function send(form) {
  const problem = form.querySelector("[data-problem]");
  problem.hidden = true;
  try {
    const options = await optionsOf(form);
    const act = form.dataset.passkey === "make" ? makeCredential : askForCredential;
    form.elements.credential.value = JSON.stringify(await act(options));
  } catch {
    problem.hidden = false;
    return;
  }
  form.submit();
}

const isNamed = !/^[\d.]+$|^\[/.test(location.hostname);
for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (window.PublicKeyCredential && isNamed) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
  }
}
for (const words of document.querySelectorAll("[data-no-passkeys]")) {
  words.hidden = Boolean(window.PublicKeyCredential) && isNamed;
}
