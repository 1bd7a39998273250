// Shows the OpenAPI document. Keys typed in are used for calls to this installation and forgotten with the page.

const place = document.getElementById("reference");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function followColours() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

followColours();
dark.addEventListener("change", followColours);

window.SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  displayRequestDuration: true,
  tryItOutEnabled: false,
  validatorUrl: null,
  persistAuthorization: false,
});
