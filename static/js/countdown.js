// The time that is left until a payment expires, counted from what the server said: the payer's clock may be wrong.

export function enableCountdown(root = document) {
  const target = root.querySelector("[data-seconds-left]");
  if (!target) return () => {};
  const endsAt = performance.now() + Number(target.dataset.secondsLeft) * 1000;
  const show = () => {
    target.textContent = inWords(Math.max(0, Math.round((endsAt - performance.now()) / 1000)));
  };
  show();
  const timer = setInterval(show, 1000);
  return () => clearInterval(timer);
}

export function inWords(seconds) {
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
