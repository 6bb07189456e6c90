// Makes the page: src/ becomes ../sophon_hosting/web/, each file beside its compressed form.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../sophon_hosting/web");
const fresh = `${target}.new`;

const bundle = await build({
  entryPoints: { page: join(here, "src/main.tsx"), style: join(here, "src/style/index.css") },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  outdir: fresh,
  write: false,
  define: { "process.env.NODE_ENV": '"production"' },
});

async function keep(path, content) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await writeFile(`${path}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}

await rm(fresh, { recursive: true, force: true });
const named = {};
for (const { path, contents } of bundle.outputFiles) {
  const [stem, ending] = path.slice(fresh.length + 1).split(".");
  const digest = createHash("sha256").update(contents).digest("hex").slice(0, 12);
  named[`${stem}.${ending}`] = `/assets/${stem}-${digest}.${ending}`;
  await keep(join(fresh, named[`${stem}.${ending}`]), contents);
}
const icon = await readFile(join(here, "src/icon.svg"));
await keep(join(fresh, "assets/icon.svg"), icon);
const html = (await readFile(join(here, "src/index.html"), "utf8"))
  .replace("{{script}}", named["page.js"])
  .replace("{{style}}", named["style.css"]);
await keep(join(fresh, "index.html"), html);
await rm(target, { recursive: true, force: true });
await rename(fresh, target);
