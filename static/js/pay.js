// Opens Ballast's page of a payment or a payment link as a dialog of a shop: of <a data-ballast> with its address, or by
// Ballast.open(url). The shop has to be among the websites that the merchant named under "What payers see"; otherwise, and
// without this script, the address opens as a page. What it reports is for the shop's pages alone: goods go out on a webhook.
(() => {
  const home = new URL(document.currentScript.src).origin;
  // A page that may be framed says so before it has loaded, one that may not never does. In milliseconds:
  const SAYS_SO_WITHIN = 1000;
  const LOADS_WITHIN = 30_000;
  let shown;

  /** Shows the payment in a dialog. Returns it; `ballast:status`, `ballast:paid` and `ballast:close` are fired at `from`. */
  function open(url, from = document) {
    const address = new URL(url, home);
    if (address.origin !== home) throw new TypeError(`${address.origin} is not ${home}, where pay.js comes from`);
    shown?.close();
    const dialog = document.createElement("dialog");
    const frame = document.createElement("iframe");
    const close = document.createElement("button");
    frame.title = "Payment";
    frame.allow = "clipboard-write";
    frame.referrerPolicy = "origin";
    frame.src = address;
    close.type = "button";
    close.textContent = "\u00d7";
    close.ariaLabel = "Close";
    // Set one by one, as a policy for styles forbids an attribute.
    Object.assign(dialog.style, { position: "fixed", inset: 0, width: "100vw", height: "100dvh", maxWidth: "none" });
    Object.assign(dialog.style, { maxHeight: "none", margin: 0, border: 0, padding: 0, background: "rgb(0 0 0 / 60%)" });
    Object.assign(frame.style, { display: "block", width: "min(100%, 34rem)", height: "100%", margin: "0 auto", border: 0 });
    Object.assign(frame.style, { background: "#fff", colorScheme: "normal" });
    Object.assign(close.style, { position: "absolute", top: 0, right: 0, width: "44px", height: "44px", border: 0 });
    Object.assign(close.style, { background: "#fff", color: "#000", font: "24px/1 sans-serif", cursor: "pointer" });
    dialog.append(frame, close);
    document.body.append(dialog);

    const leave = () => window.location.assign(address);
    let waiting = setTimeout(leave, LOADS_WITHIN);
    const loaded = () => {
      clearTimeout(waiting);
      waiting = setTimeout(leave, SAYS_SO_WITHIN);
    };
    frame.addEventListener("load", loaded, { once: true });
    let payment, status;
    const fire = (event) =>
      from.dispatchEvent(new CustomEvent(`ballast:${event}`, { bubbles: true, detail: { payment, status } }));
    const hear = (message) => {
      const { data, origin, source } = message;
      if (origin !== home || source !== frame.contentWindow || data?.source !== "ballast") return;
      clearTimeout(waiting);
      frame.removeEventListener("load", loaded);
      if (data.event === "ready") [frame.title, close.ariaLabel] = [data.title, data.close];
      if (data.event === "close") dialog.close();
      if (data.event !== "status" || (data.payment === payment && data.status === status)) return;
      ({ payment, status } = data);
      fire("status");
      if (status === "completed") fire("paid");
    };
    window.addEventListener("message", hear);
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      clearTimeout(waiting);
      window.removeEventListener("message", hear);
      dialog.remove();
      shown = undefined;
      fire("close");
    });
    dialog.showModal();
    shown = dialog;
    return dialog;
  }

  document.addEventListener("click", (click) => {
    const link = click.target.closest?.("a[data-ballast]");
    if (!link || click.button || click.metaKey || click.ctrlKey || click.shiftKey || click.defaultPrevented) return;
    click.preventDefault();
    open(link.href, link);
  });
  window.Ballast = { open };
})();
