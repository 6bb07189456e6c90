// Builds the web page: bundles src/ into ../sophon_hosting/web/, with a gzip-compressed copy of each file. What the page
// imports when it is first needed (highlighting, mathematics) is a file of its own.
import { build } from "esbuild";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../sophon_hosting/web");
const staging = `${target}.new`;

const bundle = await build({
  entryPoints: { page: join(here, "src/main.tsx"), style: join(here, "src/style/index.css") },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  splitting: true,
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  outdir: staging,
  write: false,
  metafile: true,
  define: { "process.env.NODE_ENV": '"production"' },
});

async function writeWithGzip(path, content) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await writeFile(`${path}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}

await rm(staging, { recursive: true, force: true });
const names = bundle.outputFiles.map(({ path }) => path.slice(staging.length + 1));
for (const [index, { contents }] of bundle.outputFiles.entries()) await writeWithGzip(join(staging, names[index]), contents);
const urlOf = (stem, extension) => `/${names.find((name) => name.startsWith(`assets/${stem}-`) && name.endsWith(extension))}`;
/** What the page's file imports at once: the browser loads it together with that file, and not after having read it. */
const page = Object.values(bundle.metafile.outputs).find(({ entryPoint }) => entryPoint?.endsWith("src/main.tsx"));
const imported = page.imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => `/assets/${basename(path)}`);
const icon = await readFile(join(here, "src/icon.svg"));
await writeWithGzip(join(staging, "assets/icon.svg"), icon);
const html = (await readFile(join(here, "src/index.html"), "utf8"))
  .replace("{{script}}", urlOf("page", ".js"))
  .replace("{{style}}", urlOf("style", ".css"))
  .replace("{{preloads}}", imported.map((url) => `<link rel="modulepreload" href="${url}">`).join("\n"));
await writeWithGzip(join(staging, "index.html"), html);
await rm(target, { recursive: true, force: true });
await rename(staging, target);
