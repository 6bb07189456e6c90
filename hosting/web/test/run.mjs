// Bundles the TypeScript tests with esbuild, then runs them with node --test.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = await mkdtemp(join(tmpdir(), "sophon-web-"));
const names = (await readdir(here)).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: names.map((name) => join(here, name)),
  bundle: true,
  format: "esm",
  platform: "node",
  outdir: target,
  outExtension: { ".js": ".mjs" },
});
const { status } = spawnSync(process.execPath, ["--test", target], { stdio: "inherit" });
await rm(target, { recursive: true, force: true });
process.exit(status ?? 1);
