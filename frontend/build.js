// Bundle the page into src/credalog/play/page, with the licences of what is in the bundle.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "credalog", "play", "page");

// A test compares this with the sources, so that nobody ships a bundle of others.
const sources = createHash("sha256");
for (const name of (await readdir(join(here, "src"))).sort()) sources.update(await readFile(join(here, "src", name)));

const result = await build({
  entryPoints: [join(here, "src", "main.js")],
  outfile: join(target, "play.js"),
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  banner: { js: `/* Licences: licences.txt. Sources: ${sources.digest("hex")} */` },
  metafile: true,
});

const bundled = Object.keys(result.metafile.inputs)
  .map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1])
  .filter(Boolean);

const licences = [];
for (const name of [...new Set(bundled)].sort()) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} has no licence`);
  const text = (await readFile(join(folder, file), "utf8")).trim();
  licences.push(`${name} ${version} (${license})\n\n${text}\n`);
}
const heading = "play.js contains the following packages, each under its licence.\n";
await mkdir(target, { recursive: true });
await writeFile(join(target, "licences.txt"), [heading, ...licences].join(`\n${"-".repeat(80)}\n\n`));

for (const name of await readdir(join(here, "static"))) {
  await copyFile(join(here, "static", name), join(target, name));
}
