// Preselects the coin and the network that this device chose last. Only the device knows: nothing is sent for it.

const KEY = "ballast-choice";
const choices = document.querySelector("[data-choices]");
const form = choices?.closest("form");

function last() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser that keeps nothing
  }
}

function keep(value) {
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // it will not be preselected
  }
}

const known = [...(choices?.querySelectorAll('[name^="choice_"]') ?? [])].find(({ value }) => value === last());
if (known && !choices.hasAttribute("data-chosen")) {
  known.checked = true;
  known.closest(".coin").querySelector('[name="coin"]').checked = true;
}
form?.addEventListener("submit", () => {
  const coin = choices.querySelector('[name="coin"]:checked')?.value;
  const network = coin && choices.querySelector(`[name="choice_${coin}"]:checked`);
  if (network) keep(network.value);
});
