// Bundles third-party code for the explorer and locks the result: `make vendor`.
//
// Each bundle names its packages, versions and licences; vendor.lock holds the SHA-256 of every file. Nothing else of the
// project needs Node: what is written here is committed and served as it is.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../src/tailpipe/serve/static/vendor");

/** The packages whose files went into a bundle, by name. */
function packagesOf(metafile) {
  const folders = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) folders.add(join(here, match[1]));
  }
  return [...folders].map(describe).sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Name, version and licence text of an installed package. */
function describe(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.\w+)?$/i.test(entry));
  if (!license || !file) throw new Error(`no licence found in ${relative(here, folder)}`);
  return { name, version, license, text: readFileSync(join(folder, file), "utf8").trim() };
}

/** Bundle one entry; the first line of the result says what is inside. */
async function bundle(name) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: here,
    entryPoints: [`entry/${name}.js`],
    bundle: true,
    format: "esm",
    legalComments: "none",
    metafile: true,
    minify: true,
    target: "es2022",
    write: false,
  });
  const packages = packagesOf(metafile);
  const banner = `/* ${packages.map(({ name, version }) => `${name} ${version}`).join(", ")}; licences: LICENSES.txt */\n`;
  return { file: `${name}.js`, text: banner + outputFiles[0].text, packages };
}

/** The types of a bundle are those of its entry: editors and `tsc` find them beside it. */
function typesOf(file) {
  return `export * from "${relative(target, join(here, "entry", file)).replaceAll("\\", "/")}";\n`;
}

const bundles = [await bundle("core"), await bundle("editor")];
const uplotStyles = readFileSync(join(here, "node_modules/uplot/dist/uPlot.min.css"), "utf8").trim() + "\n";
const packages = [...new Map(bundles.flatMap((one) => one.packages).map((one) => [one.name, one])).values()];
packages.sort((one, other) => (one.name < other.name ? -1 : 1));
const licences = packages.map((one) => `${one.name} ${one.version} (${one.license})\n\n${one.text}\n`);
const files = new Map([
  ...bundles.map(({ file, text }) => [file, text]),
  ...bundles.map(({ file }) => [file.replace(".js", ".d.ts"), typesOf(file)]),
  ["uplot.css", uplotStyles],
  ["LICENSES.txt", licences.join(`\n${"-".repeat(80)}\n\n`)],
]);

mkdirSync(target, { recursive: true });
const lock = { packages: packages.map(({ name, version, license }) => ({ name, version, license })), files: {} };
for (const [file, text] of files) {
  writeFileSync(join(target, file), text);
  lock.files[file] = createHash("sha256").update(text).digest("hex");
}
writeFileSync(join(target, "vendor.lock"), JSON.stringify(lock, null, 2) + "\n");
console.log([...files].map(([file, text]) => `${file} ${(text.length / 1024).toFixed(0)} kB`).join("\n"));
