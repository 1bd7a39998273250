// What the payer sees after the dialog comes from the API again, and not from the dialog.
for (const name of ["ballast:paid", "ballast:close"]) document.addEventListener(name, () => location.reload());
