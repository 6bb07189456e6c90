// Bundles the TypeScript tests with esbuild, then runs them, and those that need no bundle, with node --test.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = await mkdtemp(join(tmpdir(), "sophon-web-"));
const all = await readdir(here);
const bundle = (names, inject) =>
  build({
    entryPoints: names.map((name) => join(here, name)),
    inject,
    bundle: true,
    format: "esm",
    platform: "node",
    outdir: target,
    outExtension: { ".js": ".mjs" },
  });
const names = all.filter((name) => name.endsWith(".test.ts"));
await bundle(names.filter((name) => name !== "languages.test.ts"), [join(here, "english.ts")]);
await bundle(["languages.test.ts"], []); // loads languages itself
const scans = all.filter((name) => name.endsWith(".test.mjs")).map((name) => join(here, name));
const { status } = spawnSync(process.execPath, ["--test", target, ...scans], { stdio: "inherit" });
await rm(target, { recursive: true, force: true });
process.exit(status ?? 1);
