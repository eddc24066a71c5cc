// Bundles the extension into dist/extension.js, and the licences of the packages in it into dist/ThirdPartyNotices.txt.
import { build } from "esbuild";
import licences from "esbuild-plugin-license";

/** The text of the notices: each package that is bundled, with its licence. Throws if one has no licence text. */
function notices(packages) {
  return packages
    .map(({ packageJson, licenseText }) => {
      if (!licenseText) throw new Error(`${packageJson.name}: the package has no licence text; add it before you bundle it`);
      return `${packageJson.name} ${packageJson.version} (${packageJson.license})\n\n${licenseText.trim()}\n`;
    })
    .sort()
    .join("\n---\n\n");
}

await build({
  entryPoints: ["src/extension.ts"],
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  outdir: "dist",
  minify: true,
  legalComments: "none", // the notices have them
  plugins: [licences({ thirdParty: { output: { file: "ThirdPartyNotices.txt", template: notices } } })],
});
