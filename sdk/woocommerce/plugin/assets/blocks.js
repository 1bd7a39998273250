// The way of paying in the checkout of blocks. Its texts come from the settings of the gateway.
(() => {
  const data = window.wc.wcSettings.getSetting("ballast_data", {});
  const text = (name) => window.wp.htmlEntities.decodeEntities(data[name] || "");
  const { createElement } = window.wp.element;
  const content = createElement("p", null, text("description"));
  window.wc.wcBlocksRegistry.registerPaymentMethod({
    name: "ballast",
    label: createElement("span", null, text("title")),
    ariaLabel: text("title"),
    content,
    edit: content,
    canMakePayment: () => true,
    supports: { features: data.supports || ["products"] },
  });
})();
