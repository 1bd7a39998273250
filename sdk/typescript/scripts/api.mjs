// Lists what the package exports: classes and interfaces written by hand with their members, generated ones by name.
// Prints the list, or writes it into the file that is named.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const INDEX = fileURLToPath(new URL("../dist/esm/index.d.ts", import.meta.url));

export function listed() {
  const program = ts.createProgram([INDEX], {
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    types: ["node"],
  });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(INDEX);
  const lines = [];
  for (const found of checker.getExportsOfModule(checker.getSymbolAtLocation(file))) {
    const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
    const [place] = symbol.declarations;
    const isRecord = /generated\/(models|events)\.d\.ts$/.test(place.getSourceFile().fileName);
    const members =
      isRecord || !(symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface))
        ? []
        : [...symbol.members.values()];
    lines.push(`${kindOf(symbol)} ${found.name}${valueOf(symbol, place)}`);
    for (const member of members) lines.push(...membersOf(member));
  }
  return sections(lines);

  function valueOf(symbol, place) {
    if (symbol.flags & ts.SymbolFlags.Class) {
      const base = place.heritageClauses?.find((clause) => clause.token === ts.SyntaxKind.ExtendsKeyword);
      return base ? ` extends ${base.types[0].expression.getText()}` : "";
    }
    if (ts.isTypeAliasDeclaration(place) && !/generated/.test(place.getSourceFile().fileName))
      return ` = ${oneLine(place.type.getText())}`;
    return "";
  }

  function membersOf(member) {
    if (member.name.startsWith("__#") || member.flags & ts.SymbolFlags.TypeParameter) return [];
    return member.declarations
      .filter((one) => !ts.isPrivateIdentifier(one.name ?? one))
      .map((one) => `    ${oneLine(one.getText())}`);
  }

  function kindOf(symbol) {
    if (symbol.flags & ts.SymbolFlags.Class) return "class";
    if (symbol.flags & ts.SymbolFlags.Interface) return "interface";
    if (symbol.flags & ts.SymbolFlags.TypeAlias) return "type";
    if (symbol.flags & ts.SymbolFlags.Function) return "function";
    return symbol.flags & ts.SymbolFlags.Variable ? "const" : "namespace";
  }
}

function oneLine(text) {
  return text.replace(/\s+/g, " ");
}

/** The lines in order of their names, each with its members in theirs. */
function sections(lines) {
  const found = [];
  for (const line of lines) {
    if (line.startsWith(" ")) found.at(-1).push(line);
    else found.push([line]);
  }
  const sorted = found.map(([head, ...members]) => [head, ...members.sort()].join("\n")).sort();
  return sorted.join("\n") + "\n";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2]) writeFileSync(process.argv[2], listed());
  else process.stdout.write(listed());
}
