import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);

test("what the package exports is what api.txt lists; `npm run api` writes it anew", () => {
  const script = fileURLToPath(new URL("scripts/api.mjs", ROOT));
  const found = execFileSync(process.execPath, [script], { encoding: "utf8" });
  assert.deepEqual(found.split("\n"), readFileSync(new URL("api.txt", ROOT), "utf8").split("\n"));
});
