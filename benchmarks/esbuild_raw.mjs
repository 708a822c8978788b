// The plain way to compile: esbuild.transform alone, 64 files in flight.  `node esbuild_raw.mjs WORKER_DIR`; each line of
// stdin is {"codes": TSX files}, and is answered by a line when all are compiled.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const esbuild = createRequire(`${process.argv[2]}/`)("esbuild");

for await (const line of createInterface({ input: process.stdin })) {
  const { codes } = JSON.parse(line);
  const one = async () => {
    while (codes.length) await esbuild.transform(codes.pop(), { loader: "tsx", jsx: "automatic" });
  };
  await Promise.all(Array.from({ length: 64 }, one));
  console.log("{}");
}
