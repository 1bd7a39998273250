// Compiles the package: dist/esm strictly, and of the same sources dist/cjs for programs without modules.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
rmSync("dist", { recursive: true, force: true });

const { options, fileNames } = ts.getParsedCommandLineOfConfigFile(
  "tsconfig.json",
  {},
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
);
const program = ts.createProgram(fileNames, options);
const faults = ts.getPreEmitDiagnostics(program);
faults.forEach(report);
if (faults.length > 0) process.exit(1);
program.emit();

const compilerOptions = { ...options, verbatimModuleSyntax: false, module: ts.ModuleKind.CommonJS, declaration: false };
for (const file of readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".ts"))) {
  const out = join("dist/cjs", file.replace(/\.ts$/, ".js"));
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(
    out,
    ts.transpileModule(readFileSync(join("src", file), "utf8"), { compilerOptions, fileName: file }).outputText,
  );
}
cpSync("dist/esm", "dist/cjs", { recursive: true, filter: (name) => !name.endsWith(".js") });
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');

function report(fault) {
  const host = {
    getCurrentDirectory: () => process.cwd(),
    getCanonicalFileName: (name) => name,
    getNewLine: () => "\n",
  };
  process.stderr.write(ts.formatDiagnostic(fault, host));
}

function fail(fault) {
  report(fault);
  process.exit(1);
}
